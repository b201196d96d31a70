import { randomUUID } from 'node:crypto';
import type { ExecuteResult } from '../../actions/execute.ts';
import type { JsonObject } from '../../lib/json.ts';
import type { Notices, Question } from '../../upstream/upstream-call.ts';
import { CANCELLED, PATIENCE_MS } from './elicitation.ts';

/*
 * Calls of apps that ask the user a question while they run, for clients that can be asked only between two requests. Such
 * a call waits in this process until the client's next request brings the answer.
 */

/** Limits of waiting calls: in this process, and of one caller. A question beyond them is cancelled. */
const MAX_WAITING = 500;
const MAX_OF_ONE_CALLER = 10;

/** The signal and the callbacks that a call has while it runs. */
export type Around = Notices & { signal: AbortSignal };
/** The end of a client's wait: a question to its user, or the result of the call. */
export type WaitEnd = { question: Question } | { result: ExecuteResult };
/** The callbacks of the request that waits for the call. */
type Receiver = Pick<Around, 'signal' | 'onProgress' | 'onLog' | 'onChanged' | 'onWait'>;

/** A call that is under way. */
export class WaitingCall {
  readonly callId = randomUUID();
  readonly owner: string;
  /** The last question to the user. */
  question: Question | undefined;
  readonly #ended = new AbortController();
  readonly #finished: Promise<WaitEnd>;
  #asked = Promise.withResolvers<WaitEnd>();
  #answered: ((answer: JsonObject) => void) | undefined;
  #receiver: Receiver | undefined;

  /**
   * Begins a call. `mayAsk` returns the question as its user gets it, or undefined for one that the client cannot ask;
   * `run` makes the call.
   */
  constructor(
    owner: string,
    mayAsk: (question: Question) => Question | undefined,
    run: (around: Around) => Promise<ExecuteResult>,
  ) {
    this.owner = owner;
    const around: Around = {
      signal: this.#ended.signal,
      onProgress: (progress) => this.#receiver?.onProgress?.(progress),
      onLog: (message) => this.#receiver?.onLog?.(message),
      onChanged: (lists) => this.#receiver?.onChanged?.(lists),
      onWait: () => this.#receiver?.onWait?.(),
      onQuestion: async (question) => {
        // A call has one question at a time.
        const shown = this.#answered ? undefined : mayAsk(question);
        return shown ? this.#ask(shown) : CANCELLED;
      },
    };
    this.#finished = run(around).then((result): WaitEnd => ({ result }));
    // The call may fail while no request waits for it.
    this.#finished.catch(() => {});
  }

  /** Returns the next question or the result, for one request. The call ends when the client of the request leaves. */
  async next(receiver: Receiver): Promise<WaitEnd> {
    const { signal } = receiver;
    const leave = () => this.end();
    if (signal.aborted) leave();
    signal.addEventListener('abort', leave, { once: true });
    this.#receiver = receiver;
    try {
      return await Promise.race([this.#finished, this.#asked.promise]);
    } finally {
      this.#receiver = undefined;
      signal.removeEventListener('abort', leave);
    }
  }

  /** Sends the answer to the app that asked. */
  answer(answer: JsonObject): void {
    const answered = this.#answered;
    this.#answered = undefined;
    this.#asked = Promise.withResolvers();
    answered?.(answer);
  }

  /** Cancels the question, and ends the call. */
  end(): void {
    this.answer(CANCELLED);
    this.#ended.abort();
  }

  #ask(question: Question): Promise<JsonObject> {
    this.question = question;
    return new Promise((resolve) => {
      this.#answered = resolve;
      this.#asked.resolve({ question });
    });
  }
}

/** The calls of this process that wait for their users. */
export interface WaitingCalls {
  /** Returns whether one more call of a caller may wait. */
  hasRoom(owner: string): boolean;
  add(call: WaitingCall): void;
  /** Removes a call of this caller and returns it; undefined when it is over, or waits in another process. */
  take(owner: string, callId: string): WaitingCall | undefined;
  close(): void;
}

export function createWaitingCalls(): WaitingCalls {
  const waiting = new Map<string, { call: WaitingCall; timer: NodeJS.Timeout }>();
  const remove = (callId: string): WaitingCall | undefined => {
    const found = waiting.get(callId);
    waiting.delete(callId);
    clearTimeout(found?.timer);
    return found?.call;
  };
  return {
    hasRoom(owner) {
      const own = [...waiting.values()].filter(({ call }) => call.owner === owner);
      return waiting.size < MAX_WAITING && own.length < MAX_OF_ONE_CALLER;
    },
    add(call) {
      const timer = setTimeout(() => remove(call.callId)?.end(), PATIENCE_MS);
      timer.unref();
      waiting.set(call.callId, { call, timer });
    },
    take: (owner, callId) => (waiting.get(callId)?.call.owner === owner ? remove(callId) : undefined),
    close() {
      for (const callId of waiting.keys()) remove(callId)?.end();
    },
  };
}
