/** A fault of a file. `path` is dotted (`actions.list_orders.query.status`), empty for the whole file. */
export interface FileFault {
  file: string;
  /** Line in the text, counted from 1. */
  line?: number | undefined;
  path: string;
  rule: string;
}
