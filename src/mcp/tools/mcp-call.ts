import type { JsonObject } from '../../lib/json.ts';
import type { Changed, LogMessage, Progress, TraceHeaders } from '../../upstream/upstream-call.ts';
import type { Grant } from './grant.ts';
import type { Inputs } from './input.ts';

/** One request of a client, with its rights and the receivers of its notifications. */
export interface McpCall {
  grant: Grant;
  requestId: string;
  signal: AbortSignal;
  /** Set by tools/call: its result as JSON text, sent in place of the SDK's copy. */
  rendered?: { result: string; failed: boolean };
  /** Set when the client must answer first: sent in place of a result. */
  interim?: JsonObject;
  /** Sends progress for the client's token; undefined when the client asked for none. */
  onProgress?: ((progress: Progress) => void) | undefined;
  /** Sends log messages of an app; undefined when the client wants none. */
  onLog?: ((message: LogMessage) => void) | undefined;
  /** Called when an app reports changed lists. */
  onChanged?: ((lists: readonly Changed[]) => void) | undefined;
  /** Called when an app reports that it needs more time. */
  onWait?: (() => void) | undefined;
  /** The way to the client's user and model; undefined for a single request without one. */
  inputs?: Inputs | undefined;
  /** The trace that the request is part of. */
  trace?: TraceHeaders | undefined;
}
