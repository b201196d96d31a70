import { z } from 'zod';
import type { Action, Connector } from '../connectors/catalog.ts';
import type { Json, JsonObject } from '../lib/json.ts';
import { LOG_LEVELS } from '../lib/log-level.ts';
import type { Secret } from '../lib/secret.ts';
import type { TraceHeaders } from '../telemetry/tracing.ts';
import type { FileStore, SentFile } from './file-store.ts';
import type { OpenCredential } from './open-credential.ts';

/** Progress of a slow call; `progress` rises, `total` may be unknown. */
export const progressShape = z.object({
  progress: z.number(),
  total: z.number().optional(),
  message: z.string().max(500).optional(),
});
export type Progress = z.infer<typeof progressShape>;

/** A log message of a third party, for the client of a call. `level` is a level of RFC 5424, as in MCP. */
export const logShape = z.object({
  level: z.enum(LOG_LEVELS),
  logger: z.string().max(100).optional(),
  data: z.json(),
});
export type LogMessage = z.infer<typeof logShape>;

/** A list of a third party that has changed. */
export const changedShape = z.object({ lists: z.array(z.enum(['tools', 'resources', 'prompts'])) });
export type Changed = z.infer<typeof changedShape>['lists'][number];

/** Callbacks for messages of a third party before its answer. */
export interface Notices {
  onProgress?: ((progress: Progress) => void) | undefined;
  onLog?: ((message: LogMessage) => void) | undefined;
  onChanged?: ((lists: readonly Changed[]) => void) | undefined;
  /** Called when the call will take longer than usual. */
  onWait?: (() => void) | undefined;
  /** Puts a question to the user of the client, and returns the answer. Absent when the client cannot be asked. */
  onQuestion?: ((question: Question) => Promise<JsonObject>) | undefined;
}

/** A question of a third party while a call runs, as elicitation/create of MCP. */
export interface Question {
  method: 'elicitation/create';
  params: JsonObject;
}

/** Callbacks of a subscription to the resource of a remote MCP server. The signal of its call ends it. */
export interface Following {
  onUpdated(): void;
  /** Called when the server can report no more changes. */
  onEnded(): void;
}

/** One request to the app: the first of a call, a repetition, or a further read or step. */
export interface Attempt {
  actionId: string;
  /** HTTP status of the answer; absent when there was none. */
  status?: number;
  /** Why there was no answer. */
  errorCode?: string;
  /** Time before the request: in the queue of the app's limits, and between repetitions. */
  waitMs: number;
  durationMs: number;
}

/** One call of an action to its third party. */
export interface UpstreamCall extends Notices {
  connector: Connector;
  action: Action;
  credential: OpenCredential | undefined;
  /** Checked input, without `limit` and `offset`. */
  input: JsonObject;
  /**
   * The part that paging adds: parameters by wire name, or a whole address (link style) that must keep the origin.
   * With a path, only these parameters are sent, to that path.
   */
  page?: { params: Record<string, string | number>; path?: string | undefined } | { url: string } | undefined;
  /** Sent in the connector's idempotencyHeader or the action's idempotencyParam where they have one. */
  idempotencyKey?: string | undefined;
  signal?: AbortSignal | undefined;
  /** Called after each request to the app. */
  onAttempt?: ((attempt: Attempt) => void) | undefined;
  /** Headers of the call's trace, which are sent to the app. */
  trace?: TraceHeaders | undefined;
  /** Members of the body besides the input: the client's answers to the questions of an earlier answer. */
  answers?: JsonObject | undefined;
  /** The files of the call's user; absent without a user. */
  files?: FileStore | undefined;
  /** Whether Gatehouse makes the call on its own, every few minutes. */
  isRoutine?: boolean | undefined;
  /** Subscribes to the resource that the action reads, in place of reading it. */
  following?: Following | undefined;
  /** The files of the input while a request is built, by the text that stands for each in `input`. */
  sentFiles?: ReadonlyMap<string, SentFile> | undefined;
}

/** Returns the parameters that paging adds to a place of the request; undefined where it adds none. */
export function pagedIn(
  { action: { paging }, page }: Pick<UpstreamCall, 'action' | 'page'>,
  place: 'query' | 'body' | 'compose' | 'header',
): Record<string, string | number> | undefined {
  if (!page || !('params' in page)) return undefined;
  const used = paging && 'in' in paging ? paging.in : 'query';
  return used === place ? page.params : undefined;
}

export interface UpstreamAnswer {
  status: number;
  /** Lower-case names. */
  headers: Record<string, string>;
  /** The unchanged body, for paging and registrations; interpretAnswer() returns the part that callers may see. */
  body: Json;
  /** Live secrets of the request, which an answer may repeat. */
  secrets: readonly Secret[];
  /** The secrets that may be in the body, in some form: usually none. */
  reflected: readonly string[];
}
