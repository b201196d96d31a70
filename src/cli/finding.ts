/** The result of one check. `fix` is the remedy for a warning or a failure. */
export interface Finding {
  name: string;
  state: 'ok' | 'warn' | 'fail';
  found: string;
  fix?: string;
}
