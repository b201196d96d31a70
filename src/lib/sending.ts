/*
 * Undici writes to a connection that was idle one turn of the event loop after it was asked to (it looks for a reset first). All
 * that is done until then keeps the request waiting, and what setImmediate() put off before it was asked does so too.
 */

/** Does `work` once the requests that this turn of the event loop began have left. */
export function afterSending<T>(work: (of: T) => void, of: T): void {
  setImmediate(() => void setImmediate(work, of));
}

/** As setTimeout(), but set once the requests that were begun before it have left. */
export class TimerAfterSending {
  readonly #work: () => void;
  readonly #delayMs: number;
  #timer: NodeJS.Timeout | undefined;
  #cleared = false;

  constructor(work: () => void, delayMs: number) {
    this.#work = work;
    this.#delayMs = delayMs;
    setImmediate(setTimer, this);
  }

  set(): void {
    if (!this.#cleared) this.#timer = setTimeout(this.#work, this.#delayMs);
  }

  clear(): void {
    this.#cleared = true;
    clearTimeout(this.#timer);
  }
}

function setTimer(timer: TimerAfterSending): void {
  timer.set();
}
