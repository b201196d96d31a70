import type { SourceScope } from '../../connectors/event-scopes.ts';
import type { LogLevel } from '../../lib/log-level.ts';
import type { TraceHeaders } from '../../telemetry/tracing.ts';
import type { Changed, LogMessage, Progress } from '../../upstream/upstream-call.ts';
import type { Grant } from './grant.ts';
import type { Inputs } from './input.ts';
import type { TaskCall } from './task-call.ts';

/** State of a client's connection: a session of HTTP, or standard input and output after `initialize`. */
export interface Connection {
  /** The lowest level of log messages that the client wants; undefined when it set none. */
  logLevel: LogLevel | undefined;
  /** Addresses of resources that the client subscribed to. */
  readonly subscriptions: Set<string>;
  /** The newest event of each subscribed scope when it was last reported. */
  readonly newest: Map<SourceScope, string>;
}

/** One request of a client, with its rights and the receivers of its notifications. */
export interface McpCall {
  grant: Grant;
  requestId: string;
  signal: AbortSignal;
  /** Version of MCP as the request gives it: `initialize` and MCP 2026-07-28; undefined for other requests. */
  protocolVersion?: string | undefined;
  connection?: Connection | undefined;
  /** Opens the stream of `subscriptions/listen`. `canRead` returns whether the caller can read an address. */
  listen?: ((canRead: (uri: string) => Promise<boolean>) => Promise<void>) | undefined;
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
  /** The task that the call may become; undefined for clients without the extension Tasks. */
  task?: TaskCall | undefined;
  /** The trace that the request is part of. */
  trace?: TraceHeaders | undefined;
}
