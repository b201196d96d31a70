import {
  Client,
  isInputRequiredResult,
  LOG_LEVEL_META_KEY,
  ProtocolError,
  ProtocolErrorCode,
  SdkError,
  StreamableHTTPClientTransport,
  withInputRequired,
  type ClientOptions,
  type Implementation,
  type PriorDiscovery,
  type RequestOptions,
  type ServerCapabilities,
} from '@modelcontextprotocol/client';
import { z } from 'zod';
import { MINUTE, SECOND } from '../../lib/clock.ts';
import { GatehouseError } from '../../lib/errors.ts';
import type { JsonObject } from '../../lib/json.ts';
import { logShape, progressShape, type Following, type Notices } from '../upstream-call.ts';
import { asError, DeadlinePassed, StreamBroken } from './broken.ts';
import { tooManyQuestions } from './server-messages.ts';
import { answersTo, MAX_QUESTIONS, readAnswer, type ElicitAnswer } from './questions.ts';
import { ChangesNotReported, remoteFetch, type Standing, type Under, type Ways } from './remote-fetch.ts';

const CLIENT: Implementation = { name: 'gatehouse', version: '1' };
/** Progress and log messages of one call; further ones are dropped. */
const MAX_NOTICES = 1000;
/** How long a server may take for each request that ends a session. A stop of Gatehouse waits for it. */
const CLOSE_MS = SECOND;
/** Longest time of a call with questions, because a person answers them. */
const PATIENCE_MS = 15 * MINUTE;
/** How often a server of MCP 2026-07-28 may have one request repeated. */
const MAX_ROUNDS = 20;
/** The readers of a result check it, because older servers often differ from the standard. */
const anyResult = z.looseObject({});
/** No result is compared with an output schema, so the SDK needs no validator of its own. */
const jsonSchemaValidator: NonNullable<ClientOptions['jsonSchemaValidator']> = {
  getValidator: () => () => ({ valid: false, data: undefined, errorMessage: 'Schemas are not compiled.' }),
};

/** The call that uses a session now. */
export interface Served extends Pick<Under, 'headers' | 'allowSandbox' | 'place'>, Notices {
  timeoutMs: number;
  /** Called when the server reports that its tools changed. */
  onToolsChanged: () => void;
  signal?: AbortSignal | undefined;
  /** The resource that the session subscribes to; undefined for a session of calls. */
  followed?: (Following & { uri: string }) | undefined;
  /** Whether the session keeps a stream on which the server reports changes of its tools. */
  watches?: boolean;
}

/** A request to a server. */
export interface Asked {
  method: string;
  params?: JsonObject | undefined;
  /** The schema of a tool's input, which names the arguments that headers repeat since MCP 2026-07-28. */
  inputSchema?: Readonly<Record<string, unknown>> | undefined;
}

/**
 * A connection to a remote MCP server: a session of the versions before MCP 2026-07-28, or requests that stand alone. It
 * serves one call at a time, so each message of the server belongs to a call.
 */
export class RemoteSession {
  readonly #client: Client;
  readonly #transport: StreamableHTTPClientTransport;
  #served: Served;
  #notices = 0;
  #questions = 0;
  #isOpening = false;
  /** Whether the capabilities are those of an earlier call. */
  #isKnown = false;
  #isClosing = false;
  #deadline: NodeJS.Timeout | undefined;
  #broken: ((error: Error) => void) | undefined;
  /** Number of answered requests. A stream that ends after its answer breaks nothing. */
  #answered = 0;
  readonly #standing: Standing;
  readonly #standingOpen = Promise.withResolvers<void>();
  readonly #standingOver = Promise.withResolvers<void>();
  #isStandingOver = false;
  #isSubscribed = false;

  constructor(ways: Ways, url: string, served: Served) {
    this.#served = served;
    this.#standing = {
      onOpen: (failure) =>
        failure === undefined ? this.#standingOpen.resolve() : this.#standingOpen.reject(failure),
      onEnd: () => this.#onStandingEnd(),
    };
    // The stream may fail before the session waits for it.
    this.#standingOpen.promise.catch(() => {});
    this.#client = new Client(CLIENT, {
      capabilities: served.onQuestion ? { elicitation: { form: {}, url: {} } } : {},
      versionNegotiation: { mode: 'auto' },
      jsonSchemaValidator,
    });
    this.#transport = new StreamableHTTPClientTransport(new URL(url), {
      fetch: remoteFetch(ways, () => this.#under()),
      // The way to the network decides about redirects.
      redirectPolicy: 'follow',
      reconnectionOptions: {
        initialReconnectionDelay: 500,
        maxReconnectionDelay: 5000,
        reconnectionDelayGrowFactor: 2,
        maxRetries: 2,
      },
    });
    this.#listen();
  }

  /** Handles what a server sends on its own. */
  #listen(): void {
    const { onQuestion, followed, signal } = this.#served;
    this.#client.setNotificationHandler('notifications/message', ({ params }) => {
      const { onLog } = this.#served;
      const message = logShape.safeParse(params);
      if (onLog && message.success && this.#notices++ < MAX_NOTICES) onLog(message.data);
    });
    this.#client.setNotificationHandler('notifications/tools/list_changed', () => {
      if (this.#notices++ < MAX_NOTICES) this.#served.onToolsChanged();
    });
    if (onQuestion)
      this.#client.setRequestHandler('elicitation/create', ({ params }) => this.#question(params));
    if (!followed) return;
    signal?.addEventListener('abort', () => this.#standingOpen.reject(signal.reason), { once: true });
    this.#client.setNotificationHandler('notifications/resources/updated', ({ params }) => {
      if (isPartOf(followed.uri, params.uri)) followed.onUpdated();
    });
  }

  /**
   * Finds the version of the server, and initializes the session where the version has sessions. `known`: its version is
   * known. After an abort it still waits a second for the answer, because only the answer has the id that ends the
   * session at the server.
   * @throws as ask()
   */
  async open(known: PriorDiscovery | undefined): Promise<void> {
    const { timeoutMs, signal } = this.#served;
    signal?.throwIfAborted();
    let timer: NodeJS.Timeout | undefined;
    const onAbort = () => (timer = setTimeout(() => void this.#transport.close(), CLOSE_MS));
    signal?.addEventListener('abort', onAbort, { once: true });
    // The SDK's own types of a transport do not allow undefined members.
    const transport: Parameters<Client['connect']>[0] = Object.assign(this.#transport, {});
    this.#isOpening = true;
    this.#isKnown = known !== undefined;
    try {
      await this.#whole(
        this.#client.connect(transport, { timeout: timeoutMs, ...(known ? { prior: known } : {}) }),
      );
    } catch (error) {
      throw error instanceof SdkError && error.cause instanceof Error ? error.cause : error;
    } finally {
      this.#isOpening = false;
      clearTimeout(timer);
      signal?.removeEventListener('abort', onAbort);
    }
    signal?.throwIfAborted();
  }

  /** The version that open() found, for the next session. */
  get version(): PriorDiscovery {
    const discover = this.#client.getDiscoverResult();
    return discover ? { kind: 'modern', discover } : { kind: 'legacy' };
  }

  /** The name and version that the server gave, as its own claim. */
  get server(): Implementation | undefined {
    return this.#client.getServerVersion();
  }

  /** The capabilities that the server declared. */
  get capabilities(): ServerCapabilities | undefined {
    return this.#client.getDiscoverResult()?.capabilities ?? this.#client.getServerCapabilities();
  }

  /** Reads the capabilities again where they are those of an earlier call. @throws as ask() */
  async refresh(): Promise<void> {
    if (this.#isStateless && this.#isKnown) await this.#whole(this.#client.discover());
  }

  /** Serves another call from now on. */
  serve(served: Served): void {
    this.#served = served;
    this.#notices = 0;
    this.#questions = 0;
    this.#isKnown = true;
  }

  /**
   * Sends a request and returns its result. Puts the questions of the server to the user.
   * @throws ProtocolError for an error of JSON-RPC, RefusedByServer, SessionGone, StreamBroken, SdkError,
   * GatehouseError upstream_*
   */
  async ask(asked: Asked): Promise<Record<string, unknown>> {
    return this.#whole(this.#complete(asked));
  }

  async #complete(asked: Asked): Promise<Record<string, unknown>> {
    let answers: JsonObject = {};
    for (let round = 0; round < MAX_ROUNDS; round++) {
      const result = await this.#send({ ...asked, params: { ...asked.params, ...answers } });
      this.#answered++;
      if (!isInputRequiredResult(result)) return result;
      answers = await answersTo(result, (params) => this.#question(params));
      this.#served.signal?.throwIfAborted();
    }
    throw new GatehouseError(
      'upstream_failed',
      `The MCP server had a request repeated more than ${MAX_ROUNDS} times.`,
    );
  }

  /** Sends a request once. */
  #send({ method, params = {}, inputSchema }: Asked) {
    const { signal, onProgress, onLog } = this.#served;
    const options: RequestOptions = {
      timeout: PATIENCE_MS,
      allowInputRequired: true,
      ...(signal ? { signal } : {}),
      ...(onProgress
        ? {
            onprogress: (given) => {
              const progress = progressShape.safeParse(given);
              if (progress.success && this.#notices++ < MAX_NOTICES) onProgress(progress.data);
            },
          }
        : {}),
    };
    if (!this.#isStateless)
      return this.#client.request({ method, params }, withInputRequired(anyResult), options);
    // Older servers send log messages without being asked for them.
    const all = { ...params, ...(onLog ? { _meta: { [LOG_LEVEL_META_KEY]: 'debug' } } : {}) };
    if (method !== 'tools/call' || !inputSchema)
      return this.#client.request({ method, params: all }, withInputRequired(anyResult), options);
    const name = String(params['name']);
    const toolDefinition = { name, inputSchema: { ...inputSchema, type: 'object' as const } };
    return this.#client.callTool({ ...all, name }, { ...options, toolDefinition });
  }

  /** Whether requests stand alone, as since MCP 2026-07-28. */
  get #isStateless(): boolean {
    return this.#client.getProtocolEra() === 'modern';
  }

  /**
   * Subscribes to the followed resource, and returns when the stream is open that reports its changes.
   * @throws ChangesNotReported, and as ask()
   */
  async subscribe({ uri }: { uri: string }): Promise<void> {
    if (!this.capabilities?.resources?.subscribe) throw new ChangesNotReported('There are no subscriptions.');
    if (this.#isStateless) {
      const { resourceSubscriptions = [] } = await this.#report({ resourceSubscriptions: [uri] });
      if (!resourceSubscriptions.includes(uri)) throw new ChangesNotReported('The resource is left out.');
    } else {
      await this.#whole(this.#standingOpen.promise);
      await this.ask({ method: 'resources/subscribe', params: { uri } });
    }
    if (this.#isStandingOver) throw new StreamBroken('The standing stream ended.');
    this.#isSubscribed = true;
  }

  /** Whether the server reports changes of its tools. */
  get reportsTools(): boolean {
    return this.capabilities?.tools?.listChanged === true;
  }

  /**
   * Waits on the stream on which the server reports changes of its tools, until it ends or the signal is aborted.
   * @throws ChangesNotReported, and as ask()
   */
  async watchTools(signal: AbortSignal): Promise<void> {
    const aborted = new Promise<void>((resolve) => {
      if (signal.aborted) resolve();
      signal.addEventListener('abort', () => resolve(), { once: true });
    });
    if (!this.reportsTools) throw new ChangesNotReported('There are no reports of changed tools.');
    if (!this.#isStateless) {
      await this.#whole(this.#standingOpen.promise);
      return Promise.race([this.#standingOver.promise, aborted]);
    }
    const { timeoutMs } = this.#served;
    const { closed } = await this.#client.listen({ toolsListChanged: true }, { timeout: timeoutMs });
    await Promise.race([closed, aborted]);
  }

  /** Opens the stream that reports changes, and returns the changes that the server reports. */
  async #report(filter: { resourceSubscriptions: string[] }) {
    const { timeoutMs, signal } = this.#served;
    try {
      const listening = this.#client.listen(filter, { timeout: timeoutMs, ...(signal ? { signal } : {}) });
      const { honoredFilter, closed } = await this.#whole(listening);
      void closed.then((by) => by === 'local' || this.#onStandingEnd());
      return honoredFilter;
    } catch (error) {
      const isMissing = error instanceof ProtocolError && error.code === ProtocolErrorCode.MethodNotFound;
      throw isMissing ? new ChangesNotReported('There are no streams of changes.') : error;
    }
  }

  #onStandingEnd(): void {
    this.#isStandingOver = true;
    this.#standingOver.resolve();
    if (this.#isSubscribed) this.#served.followed?.onEnded();
    else this.#broken?.(new StreamBroken('The standing stream ended.'));
  }

  /** Ends the session at the server, and every request. Never rejects, and takes two seconds at most. */
  async close(): Promise<void> {
    this.#isClosing = true;
    try {
      if (this.#isSubscribed && !this.#isStateless) await this.#unsubscribe();
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
    await this.#client.request({ method: 'resources/unsubscribe', params }, { timeout: CLOSE_MS });
  }

  /** Asks the user of the call. The deadline starts again after the answer. */
  async #question(params: unknown): Promise<ElicitAnswer> {
    const { onQuestion } = this.#served;
    if (!onQuestion) return { action: 'cancel' };
    if (this.#questions++ >= MAX_QUESTIONS) {
      this.#broken?.(tooManyQuestions());
      return { action: 'cancel' };
    }
    clearTimeout(this.#deadline);
    try {
      return await readAnswer(params, onQuestion);
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
    const { headers, allowSandbox, place, timeoutMs, onQuestion, followed, watches } = this.#served;
    // The stream belongs to the request that runs now. Opening takes several requests, so an end says nothing then.
    const broken = this.#isOpening ? undefined : this.#broken;
    const answered = this.#answered;
    return {
      headers,
      timeoutMs: this.#isClosing ? CLOSE_MS : onQuestion ? PATIENCE_MS : timeoutMs,
      ...(allowSandbox === undefined ? {} : { allowSandbox }),
      ...(place === undefined ? {} : { place }),
      isOpening: this.#isOpening,
      followed: (followed || watches) && !this.#isClosing ? this.#standing : undefined,
      streamEnded: () => {
        if (answered === this.#answered) broken?.(new StreamBroken('The stream ended before the answer.'));
      },
      failed: (error) => {
        if (answered === this.#answered) this.#broken?.(asError(error));
      },
    };
  }
}

/** Returns whether an address is the followed one or below it, because servers may report a part of a resource. */
function isPartOf(followed: string, uri: string): boolean {
  return uri === followed || uri.startsWith(followed.endsWith('/') ? followed : `${followed}/`);
}
