import type { Caller } from '../identity/caller.ts';
import type { JsonObject } from '../lib/json.ts';
import type { LiveServer } from './live-servers.ts';

/** A call of a tool through a server, by a caller that is no client of MCP. */
export interface ToolCall {
  live: LiveServer;
  /** The API key or person, for limits and the record of executions. */
  caller: Caller;
  /** The user of the call. */
  userId: string;
  requestId: string;
  /** Aborts when the caller disconnects. */
  signal: AbortSignal;
  name: string;
  arguments: JsonObject;
  /** The state of an earlier answer, which asked the user; undefined in a first call. */
  requestState: string | undefined;
  /** The answers of the user, by the keys of the questions. */
  inputResponses: JsonObject | undefined;
}

/**
 * Calls a tool as an agent of the user would. Returns the result of tools/call in the form of MCP 2026-07-28: a failure of the
 * tool has `isError`, and a question to the user is a result with `inputRequests`.
 * @throws GatehouseError with the code of a refusal that MCP answers as an error.
 */
export type CallTool = (call: ToolCall) => Promise<JsonObject>;
