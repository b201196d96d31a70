import { randomUUID } from 'node:crypto';
import type { Context } from '../context.ts';
import { MINUTE, SECOND } from '../../lib/clock.ts';
import { GatehouseError } from '../../lib/errors.ts';
import { backoff, jitter } from '../../runtime/backoff.ts';
import type { Grant } from '../scope/grant.ts';
import type { McpCall } from '../scope/mcp-call.ts';
import { remoteResource } from './remote-context.ts';
import { runAction } from '../tools/run-action.ts';
import type { ToolScope } from '../scope/tool.ts';

/** Waits before a broken subscription is opened again. A session that lasted `longestMs` resets the number of failures. */
const WAITS = { firstMs: SECOND, longestMs: MINUTE };
/** Wait after a refusal that a new try would get again, such as a missing account. */
const REFUSED_MS = 5 * MINUTE;

export interface FollowContext extends Pick<Context, 'clock' | 'log'> {
  scopeOf(call: McpCall): ToolScope;
}

/** The rights and the request id with which a session with the remote server is opened. */
type Asking = Pick<McpCall, 'grant' | 'requestId'>;

/** A resource of a remote server to which Gatehouse subscribed, with the session that reports its changes. */
export class FollowedResource {
  readonly key: string;
  readonly owner: string;
  readonly uri: string;
  /** Requests of clients that wait until the session is open. */
  waiting = 0;
  /** Subscribers at the last poll. */
  subscribers = 0;
  /** Time since when it has no subscriber, epoch ms. */
  unusedSince: number | undefined;
  readonly #context: FollowContext;
  /** The connector's definition that the session was opened with. */
  #fingerprint: string | undefined;
  /** The session, open or opening; undefined while there is none. */
  #session: { ended: AbortController; opening: Promise<unknown>; startedAt: number } | undefined;
  #isChanged = false;
  #isRemoved = false;
  #failures = 0;
  /** Time of the next try to open the session, epoch ms; Infinity while one runs. */
  #nextTryAt = 0;
  /** Number of tries. Only the last try sets the time of the next one. */
  #tries = 0;

  constructor(context: FollowContext, { key, owner, uri }: Pick<FollowedResource, 'key' | 'owner' | 'uri'>) {
    this.#context = context;
    this.key = key;
    this.owner = owner;
    this.uri = uri;
  }

  /** Opens the session unless it is open. @throws as RemoteSubscriptions.follow() */
  async follow(asking: Asking): Promise<void> {
    this.waiting++;
    try {
      await (this.#session?.opening ?? this.#open(asking));
    } finally {
      this.waiting--;
      this.unusedSince = undefined;
    }
  }

  /**
   * Opens a broken session again when its wait is over. Ends a session whose connector or account changed, and opens the
   * next one with the new definition, account and rights.
   */
  attend(
    subscriber: { rights(): Promise<Grant>; readonly credentialHeader: string | undefined },
    { fingerprint, isStale }: { fingerprint: string; isStale: boolean },
  ): void {
    if (isStale || (this.#fingerprint !== undefined && this.#fingerprint !== fingerprint)) {
      this.#fingerprint = fingerprint;
      this.#failures = 0;
      this.#nextTryAt = 0;
      this.#end();
    }
    if (!this.#session && this.#nextTryAt <= this.#context.clock.now()) void this.#reopen(subscriber);
  }

  /** Returns once whether subscribers must be notified. */
  takeChange(): boolean {
    const isChanged = this.#isChanged;
    this.#isChanged = false;
    return isChanged;
  }

  /** Ends the session, and opens no further one. */
  remove(): void {
    this.#isRemoved = true;
    this.#end();
  }

  #end(): void {
    this.#session?.ended.abort();
    this.#session = undefined;
  }

  async #open({ grant, requestId }: Asking): Promise<void> {
    const { clock, scopeOf } = this.#context;
    const ended = new AbortController();
    const scope = scopeOf({ grant, requestId, signal: ended.signal });
    const found = remoteResource(scope.visible, this.uri);
    if (!found) throw new GatehouseError('not_found', `There is no resource ${this.uri.slice(0, 200)}.`);
    const { connectorId, actionId } = found.action;
    const isCurrent = () => this.#session?.ended === ended;
    const following = {
      onUpdated: () => {
        // An ended session may report until it is closed.
        if (isCurrent()) this.#isChanged = true;
      },
      onEnded: () => {
        if (isCurrent()) this.#onEnded();
      },
    };
    const wasBroken = this.#failures > 0;
    this.#fingerprint = found.connector.fingerprint;
    const opening = runAction(scope, { connectorId, actionId, input: { uri: found.uri }, following });
    this.#session = { ended, opening, startedAt: clock.now() };
    try {
      await opening;
      if (wasBroken) this.#isChanged = true;
    } catch (error) {
      if (isCurrent()) {
        this.#session = undefined;
        this.#retryLater(error);
      }
      throw error;
    }
  }

  /** Opens the session again. Subscribers are notified, because they may have missed a change. */
  async #reopen({ rights, credentialHeader }: Parameters<FollowedResource['attend']>[0]): Promise<void> {
    const number = ++this.#tries;
    const isCurrent = () => this.#tries === number && !this.#session && !this.#isRemoved;
    // No other try begins before this one, or a client's request, has failed.
    this.#nextTryAt = Infinity;
    try {
      const grant = { ...(await rights()), credentialHeader };
      if (!isCurrent()) return;
      await this.#open({ grant, requestId: randomUUID() });
      this.#isChanged = true;
    } catch (error) {
      if (isCurrent() && this.#nextTryAt === Infinity) this.#retryLater(error);
      this.#context.log.debug({ err: error, uri: this.uri }, 'subscription to a remote resource not opened');
    }
  }

  #onEnded(): void {
    const { clock } = this.#context;
    if (this.#session && clock.now() - this.#session.startedAt >= WAITS.longestMs) this.#failures = 0;
    this.#end();
    this.#retryLater();
  }

  #retryLater(error?: unknown): void {
    this.#failures++;
    const waitMs = isTemporary(error) ? jitter(backoff(this.#failures, WAITS), 0.2) : REFUSED_MS;
    this.#nextTryAt = this.#context.clock.now() + waitMs;
  }
}

/** Returns whether another try may succeed although nothing changed here. */
function isTemporary(error: unknown): boolean {
  return !(error instanceof GatehouseError) || error.status >= 500 || error.code.startsWith('upstream_');
}
