/*
 * Undici writes to an idle connection one turn of the event loop after the request, because it checks for a reset
 * first. All work until then delays the request, also the work that setImmediate() deferred before it.
 */

/** Runs `work` after the requests of this turn of the event loop have left. */
export function afterSending<T>(work: (of: T) => void, of: T): void {
  setImmediate(() => void setImmediate(work, of));
}

/** A setTimeout() that is set after the requests begun before it have left. */
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
