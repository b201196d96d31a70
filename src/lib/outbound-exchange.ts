import type { Dispatcher } from 'undici';
import { tooLarge } from './outbound-body.ts';

/** What may end an exchange before its answer: a deadline, or a caller that gives up. */
export interface End {
  aborted: boolean;
  /** `timeout` or `cancelled` */
  reason: string | undefined;
  /** Called once, when it ends; whoever waits sets it. */
  onAbort: () => void;
  /** Ends the waiting for an end. */
  release(): void;
}

/** A deadline and a signal as one, without the signals, events and listeners of AbortSignal.any(). */
export function endOf(timeoutMs: number, signal: AbortSignal | undefined): End {
  const abort = (reason: string): void => {
    if (end.aborted) return;
    end.aborted = true;
    end.reason = reason;
    end.onAbort();
  };
  const onCancel = () => abort('cancelled');
  const timer = setTimeout(abort, timeoutMs, 'timeout');
  const end: End = {
    aborted: false,
    reason: undefined,
    onAbort: () => {},
    release() {
      clearTimeout(timer);
      signal?.removeEventListener('abort', onCancel);
    },
  };
  signal?.addEventListener('abort', onCancel, { once: true });
  if (signal?.aborted) onCancel();
  return end;
}

/** An answer as it came: the body still packed. */
export interface RawAnswer {
  statusCode: number;
  /** Lower-case names. */
  headers: Record<string, string | string[] | undefined>;
  body: Buffer;
}

/**
 * One request and its whole answer, of at most `maxBytes`; with `statusDecides` as much of it as came, up to that. Undici's request() makes a stream and its listeners of
 * each body; one that is read to its end needs none of them.
 * @throws GatehouseError `upstream_too_large`, and whatever undici met.
 */
export function wholeAnswer(
  agent: Dispatcher,
  options: Dispatcher.DispatchOptions,
  end: End,
  maxBytes: number,
  statusDecides = false,
): Promise<RawAnswer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let size = 0;
    let statusCode = 0;
    let headers: RawAnswer['headers'] = {};
    let controller: Dispatcher.DispatchController | undefined;
    const finish = () =>
      resolve({
        statusCode,
        headers,
        body: chunks.length === 1 && chunks[0] ? chunks[0] : Buffer.concat(chunks),
      });
    const fail = (error: Error) => (statusDecides && statusCode > 0 ? finish() : reject(error));
    const stop = (error: Error): void => {
      fail(error);
      controller?.abort(error);
    };
    end.onAbort = () => stop(new Error('The exchange was ended.'));
    if (end.aborted) return end.onAbort();
    agent.dispatch(options, {
      onRequestStart(given) {
        controller = given;
        // It may have waited for a connection until nobody wanted it any more.
        if (end.aborted) given.abort(new Error('The exchange was ended.'));
      },
      onResponseStart(_, status, given) {
        if (status < 200) return;
        statusCode = status;
        headers = given;
      },
      onResponseData(_, chunk) {
        size += chunk.length;
        if (size > maxBytes) stop(tooLarge(maxBytes));
        else chunks.push(chunk);
      },
      onResponseEnd: finish,
      onResponseError: (_, error) => fail(error),
    });
  });
}
