import { setTimeout as sleep } from 'node:timers/promises';
import type { Clock } from '../lib/clock.ts';
import { SECOND } from '../lib/clock.ts';
import { GatehouseError } from '../lib/errors.ts';
import type { UpstreamCall } from './call.ts';

const MAX_LINES = 10_000;
/** A wait for this much longer is not worth a held request. */
const MAX_WAIT_MS = 20 * SECOND;

/** The third parties' own limits, kept per credential, in this process. */
export interface Throttle {
  /**
   * Waits for a place and answers with its release. @throws GatehouseError `upstream_rate_limited` when the wait
   * would exceed what the deadline leaves.
   */
  enter(call: UpstreamCall, deadline: number): Promise<() => void>;
  /** The third party said to come back later: this credential's next calls wait until then. */
  hold(call: UpstreamCall, untilMs: number): void;
  /** Whether a retry is within the budget of its connector: at most one retry for ten calls, and a few to begin with. */
  mayRetry(call: UpstreamCall): boolean;
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

  const lineOf = (call: UpstreamCall): Line => {
    const key = call.credential?.credentialId ?? call.connector.connectorId;
    let line = lines.get(key);
    if (!line) {
      if (lines.size >= MAX_LINES) sweep(lines, clock.now());
      line = { starts: [], running: 0, heldUntil: 0, waiting: [] };
      lines.set(key, line);
    }
    return line;
  };

  return {
    async enter(call, deadline) {
      const { rateLimit } = call.connector.definition;
      const line = lineOf(call);
      budgets.set(call.connector.connectorId, Math.min(10, (budgets.get(call.connector.connectorId) ?? 10) + 0.1));
      for (;;) {
        const now = clock.now();
        const waitMs = Math.max(line.heldUntil - now, rateLimit ? windowWait(line, rateLimit, now) : 0);
        if (waitMs > 0) {
          if (waitMs > MAX_WAIT_MS || now + waitMs > deadline) throw limited(call, waitMs);
          await sleep(waitMs, undefined, call.signal ? { signal: call.signal } : {});
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
      line.heldUntil = Math.max(line.heldUntil, untilMs);
    },
    mayRetry({ connector: { connectorId } }) {
      const left = budgets.get(connectorId) ?? 10;
      if (left < 1) return false;
      budgets.set(connectorId, left - 1);
      return true;
    },
  };
}

/** Milliseconds until the window has a place; forgets starts that left it. */
function windowWait(line: Line, { requests, perSeconds }: { requests: number; perSeconds: number }, now: number): number {
  const windowMs = perSeconds * SECOND;
  while (line.starts.length > 0 && (line.starts[0] ?? 0) <= now - windowMs) line.starts.shift();
  return line.starts.length < requests ? 0 : (line.starts[0] ?? now) + windowMs - now;
}

async function turn(line: Line, call: UpstreamCall, patienceMs: number): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    const leave = () => {
      clearTimeout(timer);
      line.waiting = line.waiting.filter((one) => one !== resume);
    };
    const resume = () => {
      leave();
      resolve();
    };
    const timer = setTimeout(() => {
      leave();
      reject(limited(call, SECOND));
    }, Math.min(patienceMs, MAX_WAIT_MS));
    line.waiting.push(resume);
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

function sweep(lines: Map<string, Line>, now: number): void {
  for (const [key, line] of lines) {
    const idle = line.running === 0 && line.waiting.length === 0 && line.heldUntil < now;
    if (idle && (line.starts.at(-1) ?? 0) < now - 60 * SECOND) lines.delete(key);
  }
}
