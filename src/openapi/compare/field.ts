/* Facts about an operation of a vendor's document, as the comparison needs them. */

/** Facts of a parameter or a member. `of` has its members; without it they are unknown. */
export interface Field {
  required?: true | undefined;
  deprecated?: true | undefined;
  enum?: unknown[] | undefined;
  /** Largest number that the vendor accepts. */
  max?: number | undefined;
  /** Whether members may have other names too. */
  open?: true | undefined;
  of?: Fields | undefined;
}
export interface Fields {
  [name: string]: Field;
}

export interface OperationFacts {
  deprecated?: true | undefined;
  query: Fields;
  /** Absent where the document does not describe the body. */
  body?: Field | undefined;
  /** Parameters in headers, by lower-case name. */
  headers?: Fields | undefined;
  /** Parameters of the path, by name. */
  path?: Fields | undefined;
  /** Alternatives: a call needs all scopes of one of them. */
  scopes?: string[][] | undefined;
  /** Absent where the document does not describe the answer. */
  answer?: Field | undefined;
}

/** Returns a path with nameless parameters. */
export function shape(path: string): string {
  return path.replaceAll(/\{[^}]*\}/g, '{}').replace(/\/$/, '');
}
