import type { Documents } from './documents.ts';
import type { Reporter } from './reporter.ts';
import type { SchemaBook } from './compact-schemas.ts';

/** The parts that the reading of one operation shares with the others. */
export interface Import {
  documents: Documents;
  book: SchemaBook;
  reporter: Reporter;
  /** Whether the document is of Swagger 2.0. */
  isSwagger2: boolean;
}

/** Members of an action as they stand in a connector file, before its check. */
export type Written = Record<string, unknown>;
