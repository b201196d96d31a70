import type { Clock } from '../lib/clock.ts';
import { HOUR, MINUTE, SECOND } from '../lib/clock.ts';
import { GatehouseError } from '../lib/errors.ts';
import type { UpstreamCall } from './upstream-call.ts';
import type { Pause } from '../lib/json-steps.ts';
import { createLargeBodies, type BodyPlace } from '../lib/large-bodies.ts';
import { createPause } from './large-answers.ts';
import { cancelled, pause } from './pause.ts';

const MAX_LINES = 10_000;
const RETRIES_PER_CALL = 0.1;
const MAX_BUDGET = 10;
/** A longer wait is rejected, because it is not worth a held request. */
const MAX_WAIT_MS = 20 * SECOND;
/** Maximum hold that an answer may request; after it the credential tries again. */
const MAX_HOLD_MS = HOUR;

/** Each has at most 10 MiB, and takes about ten times that in memory while it is parsed. */
const LARGE_BODIES = { most: 6, mostEach: 3 };

/** The third parties' own limits, applied per credential in this process. */
export interface Throttle {
  /**
   * Waits for a place and returns its release.
   * @throws GatehouseError `upstream_rate_limited` when the wait would exceed the deadline.
   */
  enter(call: UpstreamCall, deadline: number): Promise<() => void>;
  /** Delays this credential's next calls until the time that the third party named. */
  hold(call: UpstreamCall, untilMs: number): void;
  /**
   * Returns whether a retry is within the budget of its third party: one retry for ten calls, and a few at the start.
   */
  mayRetry(call: UpstreamCall): boolean;
  /** Places for large answers that are read and parsed at the same time; owners are credentials. */
  place(call: UpstreamCall): BodyPlace;
  /** Waits between two steps over large values. */
  pause: Pause;
}

interface Line {
  /** Start times of the calls in the current window, oldest first. */
  starts: number[];
  running: number;
  heldUntil: number;
  waiting: (() => void)[];
}

export function createThrottle(clock: Clock): Throttle {
  const lines = new Map<string, Line>();
  const budgets = new Map<string, number>();
  const bodies = createLargeBodies(LARGE_BODIES);

  const lineOf = (call: UpstreamCall): Line => {
    const key = ownerOf(call);
    let line = lines.get(key);
    if (!line) {
      if (lines.size >= MAX_LINES) sweep(lines, clock.now());
      line = { starts: [], running: 0, heldUntil: 0, waiting: [] };
      lines.set(key, line);
    }
    return line;
  };

  const earn = (call: UpstreamCall): void => {
    const key = partyOf(call);
    const had = budgets.get(key);
    // A missing budget counts as a full one.
    if (had === undefined) return;
    if (had + RETRIES_PER_CALL >= MAX_BUDGET) budgets.delete(key);
    else budgets.set(key, had + RETRIES_PER_CALL);
  };

  return {
    place: (call) => bodies.place(ownerOf(call)),
    pause: createPause(),
    async enter(call, deadline) {
      const { rateLimit } = call.connector.definition;
      const line = lineOf(call);
      earn(call);
      for (;;) {
        const now = clock.now();
        const waitMs = Math.max(line.heldUntil - now, rateLimit ? windowWait(line, rateLimit, now) : 0);
        if (waitMs > 0) {
          // A call that was let in and must wait again passes its turn to the next one.
          line.waiting.shift()?.();
          if (waitMs > MAX_WAIT_MS || now + waitMs > deadline) throw limited(call, waitMs);
          await pause(call, waitMs);
          continue;
        }
        if (rateLimit?.concurrency && line.running >= rateLimit.concurrency) {
          await turn(line, call, deadline - now);
          continue;
        }
        if (rateLimit) line.starts.push(now);
        line.running++;
        return () => {
          line.running--;
          line.waiting.shift()?.();
        };
      }
    },
    hold(call, untilMs) {
      const line = lineOf(call);
      line.heldUntil = Math.max(line.heldUntil, Math.min(untilMs, clock.now() + MAX_HOLD_MS));
    },
    mayRetry(call) {
      const key = partyOf(call);
      const left = budgets.get(key) ?? MAX_BUDGET;
      if (left < 1) return false;
      budgets.set(key, left - 1);
      return true;
    },
  };
}

/** Returns the owner of the limit that a call counts against. */
function ownerOf({ connector, credential }: UpstreamCall): string {
  return credential?.credentialId ?? connector.connectorId;
}

/** Returns the third party of a call. Each credential has its own host when the base URL has a variable. */
function partyOf({ connector, credential }: UpstreamCall): string {
  const shared = credential === undefined || !connector.definition.baseUrl.includes('{');
  return shared ? connector.connectorId : credential.credentialId;
}

/** Returns the milliseconds until the window has a place, and removes starts that left it. */
function windowWait(
  line: Line,
  { requests, perSeconds }: { requests: number; perSeconds: number },
  now: number,
): number {
  const windowMs = perSeconds * SECOND;
  while (line.starts.length > 0 && (line.starts[0] ?? 0) <= now - windowMs) line.starts.shift();
  return line.starts.length < requests ? 0 : (line.starts[0] ?? now) + windowMs - now;
}

async function turn(line: Line, call: UpstreamCall, patienceMs: number): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    const leave = () => {
      clearTimeout(timer);
      call.signal?.removeEventListener('abort', onAbort);
      line.waiting = line.waiting.filter((one) => one !== resume);
    };
    const resume = () => {
      leave();
      resolve();
    };
    const timer = setTimeout(
      () => {
        leave();
        reject(limited(call, SECOND));
      },
      Math.min(patienceMs, MAX_WAIT_MS),
    );
    const onAbort = () => {
      leave();
      reject(cancelled(call));
    };
    line.waiting.push(resume);
    call.signal?.addEventListener('abort', onAbort, { once: true });
    if (call.signal?.aborted) onAbort();
  });
}

function limited({ connector }: UpstreamCall, waitMs: number): GatehouseError {
  const seconds = Math.max(1, Math.ceil(waitMs / SECOND));
  return new GatehouseError(
    'upstream_rate_limited',
    `${connector.name} limits the calls of this credential. Try again in ${seconds} s.`,
    { details: { connectorId: connector.connectorId }, headers: { 'Retry-After': String(seconds) } },
  );
}

/** Removes lines that were idle for a minute. If too many remain, it removes the oldest empty ones. */
function sweep(lines: Map<string, Line>, now: number): void {
  for (const [key, line] of lines) {
    if (isEmpty(line) && line.heldUntil < now && (line.starts.at(-1) ?? 0) < now - MINUTE) lines.delete(key);
  }
  for (const [key, line] of lines) {
    if (lines.size < MAX_LINES) return;
    if (isEmpty(line)) lines.delete(key);
  }
}

function isEmpty({ running, waiting }: Line): boolean {
  return running === 0 && waiting.length === 0;
}
