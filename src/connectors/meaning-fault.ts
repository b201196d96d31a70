/** A fault without its file. */
export interface MeaningFault {
  path: string;
  rule: string;
}
