import type { Context } from '../context.ts';
import { GatehouseError } from '../lib/errors.ts';
import type { Outbound, OutboundAnswer } from '../lib/outbound.ts';
import { scrub } from '../lib/scrub.ts';
import type { StopSignal } from '../lib/stop.ts';
import type { Item } from './claim.ts';
import { retryAfter, retryDelay } from './retry-schedule.ts';
import { addSignature } from './signature.ts';
import type { Outcome } from './outcome.ts';
import type { Target } from './target.ts';

/** Bytes of an answer that are read; the connection is closed behind them. */
export const READ_BYTES = 64 * 1024;
/** Characters of an answer that the log of deliveries shows. */
const KEPT_CHARS = 4 * 1024;

type AttemptContext = Pick<Context, 'clock'> & {
  scheduleMs: readonly number[];
  outbound: Outbound;
  attemptMs: number;
};

/**
 * POSTs a delivery once, which is on its way when this returns, and says what came of it. Never throws; undefined when `signal`
 * ended it.
 */
export async function attempt(
  { clock, scheduleMs, outbound, attemptMs }: AttemptContext,
  target: Target,
  item: Item,
  signal: StopSignal,
): Promise<Outcome | undefined> {
  const at = clock.now();
  const started = performance.now();
  let answer: OutboundAnswer | undefined;
  let error: string | null;
  try {
    answer = await outbound.request({
      method: 'POST',
      url: target.address,
      headers: requestOf(target, item, at),
      body: item.body,
      timeoutMs: attemptMs,
      maxBytes: READ_BYTES,
      statusDecides: true,
      signal,
    });
    error = errorOf(answer.status);
  } catch (thrown) {
    error = coarse(thrown);
  }
  if (signal.aborted) return undefined;
  const durationMs = Math.round(performance.now() - started);
  const outcome: Outcome = {
    item,
    target,
    at,
    durationMs,
    status: answer?.status ?? null,
    error,
    excerpt: answer ? excerptOf(answer, target) : null,
    verdict: 'succeeded',
    counts: true,
    gone: false,
    holdUntil: 0,
  };
  return error === null ? outcome : failed(outcome, answer, scheduleMs, clock.now());
}

/** The outcome of an attempt that failed: whether and when it is tried again, and what the receiver asked for. */
function failed(
  outcome: Outcome,
  answer: OutboundAnswer | undefined,
  scheduleMs: readonly number[],
  now: number,
): Outcome {
  const { item, status } = outcome;
  const retryAfterMs = retryAfter(answer?.headers['retry-after'], now);
  const gone = status === 410;
  const asksForLess = status === 429 || status === 503;
  const delay = gone ? undefined : retryDelay(scheduleMs, item.step + 1, retryAfterMs);
  return {
    ...outcome,
    verdict: delay === undefined ? 'dead' : { retryAt: now + delay },
    counts: !asksForLess,
    gone,
    holdUntil: asksForLess && retryAfterMs !== undefined ? now + retryAfterMs : 0,
  };
}

/** Headers and body of a delivery (contract.md section 7). What the subscriber wishes never replaces ours. */
export function requestOf(
  target: Target,
  item: Pick<Item, 'deliveryId' | 'sequence' | 'scope' | 'event' | 'body' | 'marks'>,
  now: number,
): Record<string, string> {
  const headers: Record<string, string> = { ...target.headers };
  if (item.marks !== null) Object.assign(headers, JSON.parse(item.marks));
  headers['content-type'] = 'application/json';
  headers['user-agent'] = 'Gatehouse';
  headers['x-svc-scope'] = item.scope;
  headers['x-svc-event'] = item.event;
  if (target.connectionId !== null) headers['x-svc-connection-id'] = target.connectionId;
  headers['x-svc-subscription-id'] = target.subscriptionId;
  headers['x-svc-sequence'] = String(item.sequence);
  addSignature(headers, target.keys, { id: item.deliveryId, body: item.body, now });
  return headers;
}

/** One of a few codes: what a stranger learns must not map the network inside. */
function coarse(error: unknown): string {
  if (!(error instanceof GatehouseError)) return 'unreachable';
  if (error.code === 'upstream_timeout') return 'timeout';
  const reason = error.details?.['reason'];
  return typeof reason === 'string' ? reason : 'unreachable';
}

function errorOf(status: number): string | null {
  if (status >= 200 && status < 300) return null;
  return status >= 300 && status < 400 ? 'redirect' : 'status';
}

/** The beginning of an answer as text. PostgreSQL takes no NUL. */
function excerptOf({ body }: OutboundAnswer, target: Target): string | null {
  if (body.length === 0) return null;
  const text = scrub(body.subarray(0, 2 * KEPT_CHARS).toString('utf8'), target.secrets);
  return text.slice(0, KEPT_CHARS).replaceAll('\0', '\uFFFD');
}
