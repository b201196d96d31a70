import type { Action, Connector } from '../connectors/catalog.ts';
import type { OpenCredential } from '../credentials/open.ts';
import type { Json, JsonObject } from '../lib/json.ts';

/** How far a slow call is; `progress` rises, `total` may be unknown. */
export interface Progress {
  progress: number;
  total?: number;
  message?: string;
}

/** One call of an action to its third party. */
export interface UpstreamCall {
  connector: Connector;
  action: Action;
  credential: OpenCredential | undefined;
  /** Checked input, without `limit` and `offset`. */
  input: JsonObject;
  /** What paging adds: parameters by wire name, or a whole address (link style) that must keep the origin. */
  page?: { params: Record<string, string | number> } | { url: string };
  /** Sent in the connector's idempotencyHeader where it has one. */
  idempotencyKey?: string;
  signal?: AbortSignal;
  onProgress?: (progress: Progress) => void;
}

export interface UpstreamAnswer {
  status: number;
  /** Lower-case names. */
  headers: Record<string, string>;
  body: Json;
}
