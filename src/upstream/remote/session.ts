import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import {
  ElicitRequestSchema,
  LoggingMessageNotificationSchema,
  ResourceUpdatedNotificationSchema,
  ElicitResultSchema,
  ResultSchema,
  ToolListChangedNotificationSchema,
  type ClientRequest,
  type ElicitResult,
  type Implementation,
  type Result,
  type ServerCapabilities,
} from '@modelcontextprotocol/sdk/types.js';
import { MINUTE, SECOND } from '../../lib/clock.ts';
import { asJson, asObject, type JsonObject } from '../../lib/json.ts';
import type { Outbound } from '../../lib/outbound.ts';
import { logShape, progressShape, type Following, type Notices } from '../upstream-call.ts';
import { ChangesNotReported, remoteFetch, type Standing, type Under } from './remote-fetch.ts';

const CLIENT: Implementation = { name: 'gatehouse', version: '1' };
/** Progress and log messages of one call; further ones are dropped. */
const MAX_NOTICES = 1000;
/** How long a server may take for each request that ends a session. A stop of Gatehouse waits for it. */
const CLOSE_MS = SECOND;
/** Questions of one call. */
const MAX_QUESTIONS = 10;
/** Longest time of a call with questions, because a person answers them. */
const PATIENCE_MS = 15 * MINUTE;

/** The call that uses a session now. */
export interface Served extends Pick<Under, 'headers' | 'allowSandbox'>, Notices {
  timeoutMs: number;
  /** Called when the server reports that its tools changed. */
  onToolsChanged: () => void;
  signal?: AbortSignal | undefined;
  /** The resource that the session subscribes to; undefined for a session of calls. */
  followed?: (Following & { uri: string }) | undefined;
}

/** The connections to a server: one for calls, one for standing streams. */
export interface Ways {
  calls: Pick<Outbound, 'stream'>;
  standing: Pick<Outbound, 'stream'>;
}

/** The stream of an answer ended before the answer. */
export class StreamBroken extends Error {
  override readonly name = 'StreamBroken';
}

/** The server did not answer in time. Time that a person takes to answer a question does not count. */
export class DeadlinePassed extends Error {
  override readonly name = 'DeadlinePassed';
}

/** A session with a remote MCP server. It serves one call at a time, so each message of the server belongs to a call. */
export class RemoteSession {
  readonly #client: Client;
  readonly #transport: StreamableHTTPClientTransport;
  #served: Served;
  #notices = 0;
  #questions = 0;
  #isClosing = false;
  #deadline: NodeJS.Timeout | undefined;
  #broken: ((error: Error) => void) | undefined;
  readonly #standing: Standing;
  readonly #standingOpen = Promise.withResolvers<void>();
  #isStandingOver = false;
  #isSubscribed = false;

  constructor({ calls, standing }: Ways, url: string, served: Served) {
    this.#served = served;
    this.#standing = {
      outbound: standing,
      onOpen: (failure) =>
        failure === undefined ? this.#standingOpen.resolve() : this.#standingOpen.reject(failure),
      onEnd: () => this.#onStandingEnd(),
    };
    // The stream may fail before the session waits for it.
    this.#standingOpen.promise.catch(() => {});
    const capabilities = served.onQuestion ? { elicitation: { form: {}, url: {} } } : {};
    this.#client = new Client(CLIENT, { capabilities });
    this.#transport = new StreamableHTTPClientTransport(new URL(url), {
      fetch: remoteFetch(calls, () => this.#under()),
      reconnectionOptions: {
        initialReconnectionDelay: 500,
        maxReconnectionDelay: 5000,
        reconnectionDelayGrowFactor: 2,
        maxRetries: 2,
      },
    });
    this.#client.setNotificationHandler(LoggingMessageNotificationSchema, ({ params }) => {
      const { onLog } = this.#served;
      const message = logShape.safeParse(params);
      if (onLog && message.success && this.#notices++ < MAX_NOTICES) onLog(message.data);
    });
    if (served.onQuestion)
      this.#client.setRequestHandler(ElicitRequestSchema, ({ params }) =>
        this.#question(asObject(asJson(params))),
      );
    const { followed, signal } = served;
    if (followed) {
      signal?.addEventListener('abort', () => this.#standingOpen.reject(signal.reason), { once: true });
      this.#client.setNotificationHandler(ResourceUpdatedNotificationSchema, ({ params }) => {
        if (isPartOf(followed.uri, params.uri)) followed.onUpdated();
      });
    }
    this.#client.setNotificationHandler(ToolListChangedNotificationSchema, () => {
      if (this.#notices++ < MAX_NOTICES) this.#served.onToolsChanged();
    });
  }

  /**
   * Initializes the session. After an abort it still waits a second for the answer, because only the answer has the id
   * that ends the session at the server.
   * @throws as ask()
   */
  async open(): Promise<void> {
    const { timeoutMs, signal } = this.#served;
    signal?.throwIfAborted();
    const late = new AbortController();
    let timer: NodeJS.Timeout | undefined;
    const onAbort = () => (timer = setTimeout(() => late.abort(signal?.reason), CLOSE_MS));
    signal?.addEventListener('abort', onAbort, { once: true });
    // The SDK's own types of a transport do not allow undefined members.
    const transport: Parameters<Client['connect']>[0] = Object.assign(this.#transport, {});
    try {
      await this.#client.connect(transport, { timeout: timeoutMs, signal: late.signal });
    } finally {
      clearTimeout(timer);
      signal?.removeEventListener('abort', onAbort);
    }
    signal?.throwIfAborted();
  }

  /** The name and version that the server gave, as its own claim. */
  get server(): Implementation | undefined {
    return this.#client.getServerVersion();
  }

  /** The capabilities that the server declared. */
  get capabilities(): ServerCapabilities | undefined {
    return this.#client.getServerCapabilities();
  }

  /** Serves another call from now on. */
  serve(served: Served): void {
    this.#served = served;
    this.#notices = 0;
    this.#questions = 0;
  }

  /**
   * Sends a request and returns its result.
   * @throws McpError for an error of JSON-RPC, RefusedByServer, SessionGone, StreamBroken, GatehouseError upstream_*
   */
  async ask(request: ClientRequest): Promise<Result> {
    const { signal, onProgress } = this.#served;
    const asked = this.#client.request(request, ResultSchema, {
      timeout: PATIENCE_MS,
      ...(signal ? { signal } : {}),
      ...(onProgress
        ? {
            onprogress: (given) => {
              const progress = progressShape.safeParse(given);
              if (progress.success && this.#notices++ < MAX_NOTICES) onProgress(progress.data);
            },
          }
        : {}),
    });
    return this.#whole(asked);
  }

  /**
   * Subscribes to the followed resource, after the stream is open that reports its changes.
   * @throws ChangesNotReported, and as ask()
   */
  async subscribe({ uri }: { uri: string }): Promise<void> {
    if (!this.capabilities?.resources?.subscribe) throw new ChangesNotReported('There are no subscriptions.');
    await this.#whole(this.#standingOpen.promise);
    await this.ask({ method: 'resources/subscribe', params: { uri } });
    if (this.#isStandingOver) throw new StreamBroken('The standing stream ended.');
    this.#isSubscribed = true;
  }

  #onStandingEnd(): void {
    this.#isStandingOver = true;
    if (this.#isSubscribed) this.#served.followed?.onEnded();
    else this.#broken?.(new StreamBroken('The standing stream ended.'));
  }

  /** Ends the session at the server, and every request. Never rejects, and takes two seconds at most. */
  async close(): Promise<void> {
    this.#isClosing = true;
    try {
      if (this.#isSubscribed) await this.#unsubscribe();
    } catch {
      // The end of the session also ends its subscription.
    }
    try {
      await this.#transport.terminateSession();
    } catch {
      // The server ends idle sessions itself.
    }
    await this.#client.close();
  }

  async #unsubscribe(): Promise<void> {
    const params = { uri: this.#served.followed?.uri ?? '' };
    await this.#client.request({ method: 'resources/unsubscribe', params }, ResultSchema, {
      timeout: CLOSE_MS,
    });
  }

  /** Asks the user of the call. The deadline starts again after the answer. */
  async #question(params: JsonObject): Promise<ElicitResult> {
    const { onQuestion } = this.#served;
    if (!onQuestion || this.#questions++ >= MAX_QUESTIONS) return { action: 'cancel' };
    clearTimeout(this.#deadline);
    try {
      return ElicitResultSchema.parse(await onQuestion({ method: 'elicitation/create', params }));
    } finally {
      if (this.#broken) this.#limit();
    }
  }

  /** Restarts the deadline: from now on the server has the timeout of the call. */
  #limit(): void {
    clearTimeout(this.#deadline);
    const passed = () => this.#broken?.(new DeadlinePassed('The server did not answer in time.'));
    this.#deadline = setTimeout(passed, this.#served.timeoutMs);
  }

  /** Resolves with the work, or rejects at its deadline, or when the stream of its answer ends before the answer. */
  #whole<T>(work: Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      this.#broken = reject;
      this.#limit();
      work.then(resolve, reject).finally(() => {
        this.#broken = undefined;
        clearTimeout(this.#deadline);
      });
    });
  }

  #under(): Under {
    const { headers, allowSandbox, timeoutMs, onQuestion } = this.#served;
    // The stream belongs to the request that runs now.
    const broken = this.#broken;
    return {
      headers,
      timeoutMs: this.#isClosing ? CLOSE_MS : onQuestion ? PATIENCE_MS : timeoutMs,
      ...(allowSandbox === undefined ? {} : { allowSandbox }),
      standing: this.#served.followed && !this.#isClosing ? this.#standing : undefined,
      streamEnded: () => broken?.(new StreamBroken('The stream ended before the answer.')),
    };
  }
}

/** Returns whether an address is the followed one or below it, because servers may report a part of a resource. */
function isPartOf(followed: string, uri: string): boolean {
  return uri === followed || uri.startsWith(followed.endsWith('/') ? followed : `${followed}/`);
}
