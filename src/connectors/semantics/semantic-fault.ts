/** A fault without its file. */
export interface SemanticFault {
  path: string;
  rule: string;
}
