import type { Dispatcher } from 'undici';
import { LARGE_BODY_BYTES, type BodyPlace } from './large-bodies.ts';
import { tooLarge } from './outbound-body.ts';

/*
 * Classes, although closures would be shorter. Measured: the closures of an exchange lived on in V8's old generation
 * with all their captured values. They cost a collection of 6 to 15 ms in each 125 ms of a busy process.
 */

/** Ends an exchange before its answer: by a deadline, or by a caller that gives up. */
export class End {
  /** The reason of the end; undefined until then. */
  reason: 'timeout' | 'cancelled' | undefined;
  /** The work that it ends; set by the code that waits. */
  waiting: { end(): void } | undefined;
  #deadline: NodeJS.Timeout | undefined;
  readonly #signal: AbortSignal | undefined;

  /**
   * Combines a deadline (see within()) and a signal, without the signals, events and listeners of AbortSignal.any().
   */
  constructor(signal: AbortSignal | undefined) {
    this.#signal = signal;
    signal?.addEventListener('abort', this, { once: true });
    if (signal?.aborted) this.handleEvent();
  }

  get aborted(): boolean {
    return this.reason !== undefined;
  }

  /** Starts the deadline, once. */
  within(timeoutMs: number): void {
    this.#deadline ??= setTimeout(() => this.abort('timeout'), timeoutMs);
  }

  abort(reason: 'timeout' | 'cancelled'): void {
    if (this.aborted) return;
    this.reason = reason;
    this.waiting?.end();
  }

  /** Resolves with the result of `work`, or rejects as soon as this ends. For work that cannot be ended. */
  during<T>(work: T | Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      this.waiting = { end: () => reject(new Error('The exchange was ended.')) };
      if (this.aborted) this.waiting.end();
      Promise.resolve(work).then(resolve, reject);
    });
  }

  /** Handles the signal's event. */
  handleEvent(): void {
    this.abort('cancelled');
  }

  /** Removes the deadline and the listener. */
  release(): void {
    clearTimeout(this.#deadline);
    this.waiting = undefined;
    this.#signal?.removeEventListener('abort', this);
  }
}

/** Limits of a body. */
interface Limits {
  maxBytes: number;
  statusDecides?: boolean | undefined;
  place?: BodyPlace | undefined;
}

/** An answer as it arrived, with its body still compressed. */
export interface RawAnswer {
  statusCode: number;
  /** Lower-case names. */
  headers: Record<string, string | string[] | undefined>;
  body: Buffer;
}

/**
 * Returns the whole answer to one request, of at most `maxBytes`. With `statusDecides` it returns the part that had
 * arrived, up to `maxBytes`. The connection is closed when the limit or the deadline ends the exchange. Undici's
 * request() makes a stream and its listeners for each body; a body that is read to its end needs none of them.
 * @throws GatehouseError `upstream_too_large`, and every error of undici.
 */
export function wholeAnswer(
  agent: Dispatcher,
  options: Dispatcher.DispatchOptions,
  { end, limits }: { end: End; limits: Limits },
): Promise<RawAnswer> {
  return new Promise((resolve, reject) => {
    const exchange = new Exchange(end, limits, { resolve, reject });
    end.waiting = exchange;
    if (end.aborted) exchange.end();
    else agent.dispatch(options, exchange);
  });
}

class Exchange implements Dispatcher.DispatchHandler {
  readonly #end: End;
  readonly #maxBytes: number;
  readonly #statusDecides: boolean;
  readonly #place: BodyPlace | undefined;
  readonly #resolve: (answer: RawAnswer) => void;
  readonly #reject: (error: Error) => void;
  readonly #chunks: Buffer[] = [];
  #size = 0;
  #statusCode = 0;
  #headers: RawAnswer['headers'] = {};
  #controller: Dispatcher.DispatchController | undefined;

  constructor(
    end: End,
    { maxBytes, statusDecides = false, place }: Limits,
    { resolve, reject }: { resolve: (answer: RawAnswer) => void; reject: (error: Error) => void },
  ) {
    this.#end = end;
    this.#maxBytes = maxBytes;
    this.#statusDecides = statusDecides;
    this.#place = place;
    this.#resolve = resolve;
    this.#reject = reject;
  }

  end(): void {
    this.#stop(new Error('The exchange was ended.'));
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    // The caller may have given up while the request waited for a connection.
    if (this.#end.aborted) controller.abort(new Error('The exchange was ended.'));
  }

  onResponseStart(
    _controller: Dispatcher.DispatchController,
    statusCode: number,
    headers: RawAnswer['headers'],
  ): void {
    if (statusCode < 200) return;
    this.#statusCode = statusCode;
    this.#headers = headers;
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    const room = this.#maxBytes - this.#size;
    this.#size += chunk.length;
    if (chunk.length <= room) {
      this.#chunks.push(chunk);
      if (this.#size > LARGE_BODY_BYTES && this.#place?.take(() => controller.resume()) === false)
        controller.pause();
    } else this.#stop(tooLarge(this.#maxBytes), chunk.subarray(0, Math.max(0, room)));
  }

  onResponseEnd(): void {
    this.#controller = undefined;
    this.#answer();
  }

  #answer(): void {
    const [only, ...others] = this.#chunks;
    this.#resolve({
      statusCode: this.#statusCode,
      headers: this.#headers,
      body: only && others.length === 0 ? only : Buffer.concat(this.#chunks),
    });
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    this.#controller = undefined;
    this.#fail(error);
  }

  /** Settles first, because the abort calls onResponseError(). The abort closes the connection. */
  #stop(error: Error, last?: Buffer): void {
    const controller = this.#controller;
    this.#controller = undefined;
    if (last && this.#statusDecides) this.#chunks.push(last);
    this.#fail(error);
    controller?.abort(error);
  }

  #fail(error: Error): void {
    if (this.#statusDecides && this.#statusCode > 0) this.#answer();
    else this.#reject(error);
  }
}
