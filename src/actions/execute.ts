import type { Environment } from '../store/schema.ts';
import type { Json, JsonObject } from '../lib/json.ts';
import type { Decision } from '../servers/restrictions.ts';
import type { Progress } from '../upstream/call.ts';

/** One wish to run an action, from REST or MCP. */
export interface ExecuteRequest {
  environment: Environment;
  /** Who asks, for the record: `key:<keyId>`, `jwt:<userId>`, `token:<serverId>`, `stdio`. */
  caller: string;
  requestId: string;
  userId: string | undefined;
  /** The MCP server that it came through, with its restrictions; absent for REST. */
  server?: { serverId: string; decision: Decision };
  connectorId: string;
  actionId: string;
  input: JsonObject;
  /** Chosen by the caller: the header x-credential-id (ignored for other connectors) and the argument. */
  credentialHeader?: string;
  credentialId?: string;
  idempotencyKey?: string;
  signal?: AbortSignal;
  onProgress?: (progress: Progress) => void;
}

/** `data` is the value, or the page of a list action, which has `pagination` too (service.md section 2). */
export interface ExecuteResult {
  data: Json;
  pagination?: { hasMore: boolean; nextOffset?: number };
}
