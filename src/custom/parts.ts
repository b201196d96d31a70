import { asObject, type Json, type JsonObject } from '../lib/json.ts';
import type { CustomKind } from '../store/schema-connectors.ts';

/** A connector file as the caller sent it or an import made it: an object, or YAML text. */
export type Source = string | JsonObject;

/** The parts of a custom connector, from which its definition follows. */
export interface Parts {
  readonly source: Source;
  readonly kind: CustomKind;
  /** The operator's changes, as a merge patch (RFC 7396). */
  readonly overlay: JsonObject | undefined;
  /**
   * Whether a release accepted it before. A map that writes a member which the model has lost since is then no fault,
   * because the connector's actions work.
   */
  readonly isStored?: boolean | undefined;
}

/** Returns the source in a column. */
export function sourceOf(column: string): Source {
  const source: Json = JSON.parse(column);
  return typeof source === 'string' ? source : asObject(source);
}

/** Returns the overlay in a column. */
export function overlayIn(column: string | null): JsonObject | undefined {
  return column === null ? undefined : asObject(JSON.parse(column));
}
