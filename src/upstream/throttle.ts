import type { Clock } from '../lib/clock.ts';
import { HOUR, MINUTE, SECOND } from '../lib/clock.ts';
import { GatehouseError } from '../lib/errors.ts';
import type { ConnectorFile } from '../connectors/format/format.ts';
import type { Limit } from '../connectors/format/limits-format.ts';
import { memoByObject } from '../lib/memo.ts';
import { countCall, createWindow, windowWait, type Window } from '../runtime/sliding-window.ts';
import { costIn, pointsIn, waitForPoints, type Points } from './budget.ts';
import type { UpstreamAnswer, UpstreamCall } from './upstream-call.ts';
import type { Pause } from '../lib/json-steps.ts';
import { createLargeBodies, type BodyPlace } from '../outbound/large-bodies.ts';
import { createPause } from './large-answers.ts';
import { cancelled, pause } from './pause.ts';

const MAX_LINES = 10_000;
const RETRIES_PER_CALL = 0.1;
const MAX_BUDGET = 10;
/** Longest wait of a call. A call that would wait longer is rejected, so that it does not occupy a request. */
const MAX_WAIT_MS = 20 * SECOND;
/** Longest time for which an answer can delay further calls. Then calls with the credential run again. */
const MAX_HOLD_MS = HOUR;

/** Large bodies at the same time, in all and for one credential. A body has up to 10 MiB, and parsing takes ten times that. */
const LARGE_BODIES = { most: 6, mostEach: 3 };

/** The third parties' own limits, applied per credential or OAuth app in this process. */
export interface Throttle {
  /**
   * Waits for a place and returns its release.
   * @throws GatehouseError `upstream_rate_limited` when the wait would exceed the deadline.
   */
  enter(call: UpstreamCall, deadline: number): Promise<() => void>;
  /** Reads from an answer how many points are left, where the file has a `budget`. */
  observe(call: UpstreamCall, answer: Pick<UpstreamAnswer, 'headers' | 'body'>): void;
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

/** The state of the limits of one credential or OAuth app. */
interface Line {
  /** A window for each limit of the file, in its order. */
  windows: Window[];
  lastStart: number;
  running: number;
  /** The points that the last answer reported; undefined before the first one. */
  points: Points | undefined;
  /** Points that the running calls are expected to cost. */
  reserved: number;
  /** Costs that answers reported, by action. */
  costs: Map<string, number> | undefined;
  heldUntil: number;
  waiting: (() => void)[];
}

/** The lines of a call. Without limits of an OAuth app, `app` is the same line as `own`. */
interface CallLines {
  own: Line;
  app: Line;
  all: readonly Line[];
}

export function createThrottle(clock: Clock): Throttle {
  const lines = new Map<string, Line>();
  const budgets = new Map<string, number>();
  const bodies = createLargeBodies(LARGE_BODIES);

  const lineOf = (call: UpstreamCall, key = ownerOf(call)): Line => {
    let line = lines.get(key);
    if (!line) {
      if (lines.size >= MAX_LINES) sweep(lines, clock.now());
      line = {
        windows: limitsOf(call.connector.definition).map(createWindow),
        lastStart: 0,
        running: 0,
        points: undefined,
        reserved: 0,
        costs: undefined,
        heldUntil: 0,
        waiting: [],
      };
      lines.set(key, line);
    }
    return line;
  };

  /** Returns the lines that a call counts in: its credential's, and that of its OAuth app where the file has such limits. */
  const linesOf = (call: UpstreamCall): CallLines => {
    const own = lineOf(call);
    const app = limitsOf(call.connector.definition).some(({ per }) => per === 'app')
      ? lineOf(call, appOf(call))
      : own;
    return { own, app, all: app === own ? [own] : [own, app] };
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
      const callLines = linesOf(call);
      const { own, all } = callLines;
      earn(call);
      for (;;) {
        const now = clock.now();
        const heldMs = Math.max(...all.map(({ heldUntil }) => heldUntil - now));
        const pointsMs = own.points ? waitForPoints(own.points, own.reserved + costOf(own, call), now) : 0;
        const longestMs = Math.max(heldMs, windowsWait(callLines, call, now), pointsMs);
        if (longestMs > 0) {
          passTurn(all);
          if (longestMs > MAX_WAIT_MS || now + longestMs > deadline) throw limited(call, longestMs);
          await pause(call, longestMs);
          continue;
        }
        const full = fullLine(callLines, call);
        if (full) {
          passTurn(all.filter((line) => line !== full));
          await turn(full, call, deadline - now);
          continue;
        }
        return start(callLines, call, now);
      }
    },
    observe(call, answer) {
      const { budget } = call.connector.definition;
      if (!budget) return;
      const line = lineOf(call);
      const points = pointsIn(budget, answer, clock.now());
      if (points) line.points = points;
      const cost = costIn(budget, answer);
      if (cost !== undefined) (line.costs ??= new Map()).set(call.action.actionId, cost);
    },
    hold(call, untilMs) {
      const limits = limitsOf(call.connector.definition);
      const isOfApp = limits.length > 0 && limits.every(({ per }) => per === 'app');
      const line = linesOf(call)[isOfApp ? 'app' : 'own'];
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

/** Returns the owner of the limits that the users of an OAuth app share. */
function appOf(call: UpstreamCall): string {
  const app = call.credential?.oauthApp;
  return app === undefined ? ownerOf(call) : `app ${app}`;
}

/** Returns the third party of a call. Each credential has its own host when the base URL has a variable. */
function partyOf({ connector, credential }: UpstreamCall): string {
  const shared = credential === undefined || !connector.definition.baseUrl.includes('{');
  return shared ? connector.connectorId : credential.credentialId;
}

/** Returns the limits of a connector as a list. */
const limitsOf = memoByObject((definition: ConnectorFile): readonly Limit[] =>
  definition.rateLimit === undefined ? [] : [definition.rateLimit].flat(),
);

/** Returns the milliseconds until all windows have room for the call. */
function windowsWait({ own, app }: CallLines, call: UpstreamCall, now: number): number {
  let longestMs = 0;
  for (const [index, limit] of limitsOf(call.connector.definition).entries()) {
    const window = (limit.per === 'app' ? app : own).windows[index];
    const cost = limit.points === undefined ? 1 : costOf(own, call);
    if (window) longestMs = Math.max(longestMs, windowWait(window, limit, { cost, now }));
  }
  return longestMs;
}

/** Counts a call as running. Returns its release. */
function start({ own, app, all }: CallLines, call: UpstreamCall, now: number): () => void {
  const cost = costOf(own, call);
  for (const [index, limit] of limitsOf(call.connector.definition).entries()) {
    const window = (limit.per === 'app' ? app : own).windows[index];
    if (window) countCall(window, limit, { cost: limit.points === undefined ? 1 : cost, now });
  }
  for (const line of all) {
    line.lastStart = now;
    line.running++;
    line.reserved += cost;
  }
  return () => {
    for (const line of all) {
      line.running--;
      line.reserved -= cost;
    }
    passTurn(all);
  };
}

/** Returns the line whose calls at the same time are at their limit; undefined where there is room. */
function fullLine({ own, app }: CallLines, call: UpstreamCall): Line | undefined {
  const limits = limitsOf(call.connector.definition);
  const most = (per: Limit['per']) =>
    limits.find((limit) => limit.per === per && limit.concurrency !== undefined)?.concurrency ?? Infinity;
  if (own.running >= most('credential')) return own;
  return app.running >= most('app') ? app : undefined;
}

/** Wakes the next waiting call of each line. If that call must wait for another reason, it wakes the one after it. */
function passTurn(lines: readonly Line[]): void {
  for (const line of lines) line.waiting.shift()?.();
}

/** Returns the points that a call is expected to cost: as its last answer, else as the file says. */
function costOf({ costs }: Line, { action }: UpstreamCall): number {
  return costs?.get(action.actionId) ?? action.definition.cost ?? 1;
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

function limited({ connector, credential }: UpstreamCall, waitMs: number): GatehouseError {
  const seconds = Math.max(1, Math.ceil(waitMs / SECOND));
  const limits = limitsOf(connector.definition);
  const isShared = credential?.oauthApp !== undefined && limits.some(({ per }) => per === 'app');
  return new GatehouseError(
    'upstream_rate_limited',
    `${connector.name} limits the calls of this ${isShared ? 'OAuth app' : 'credential'}. Try again in ${seconds} s.`,
    { details: { connectorId: connector.connectorId }, retryAfterSeconds: seconds },
  );
}

/** Removes lines that were idle for a minute. If too many remain, it removes the oldest empty ones. */
function sweep(lines: Map<string, Line>, now: number): void {
  for (const [key, line] of lines) {
    if (isEmpty(line) && line.heldUntil < now && line.lastStart < now - MINUTE) lines.delete(key);
  }
  for (const [key, line] of lines) {
    if (lines.size < MAX_LINES) return;
    if (isEmpty(line)) lines.delete(key);
  }
}

function isEmpty({ running, waiting }: Line): boolean {
  return running === 0 && waiting.length === 0;
}
