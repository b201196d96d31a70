import type { ResultSource } from './large-results.ts';

/** How much of a result is inlined, and the action that produced it. */
export interface Sizing {
  maxBytes: number;
  /** The offset of the list's page, from which the offset of the next call is computed. */
  offset: number;
  source: ResultSource | undefined;
}
