import type { Base } from '../base.ts';
import { GatehouseError } from '../lib/errors.ts';
import type { Outbound, OutboundAnswer } from '../outbound/outbound.ts';
import { scrub } from '../lib/scrub.ts';
import type { Item } from './claim-deliveries.ts';
import { retryAfter, retryDelay } from './retry-schedule.ts';
import { addSignature } from './signature.ts';
import type { AttemptOutcome } from './delivery-outcome.ts';
import type { DeliveryTarget } from './delivery-target.ts';

/** Bytes read of an answer. The connection of a longer answer is closed. */
export const READ_BYTES = 64 * 1024;
/** Characters of an answer that the delivery log shows. */
const KEPT_CHARS = 4 * 1024;

type AttemptContext = Pick<Base, 'clock'> & {
  scheduleMs: readonly number[];
  outbound: Outbound;
  attemptMs: number;
};

/**
 * POSTs a delivery once and returns the outcome. The request has begun when the call returns its promise. Never throws.
 * Returns undefined when `signal` aborted the attempt.
 */
export async function attempt(
  { clock, scheduleMs, outbound, attemptMs }: AttemptContext,
  target: DeliveryTarget,
  { item, signal }: { item: Item; signal: AbortSignal },
): Promise<AttemptOutcome | undefined> {
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
  const outcome: AttemptOutcome = {
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
  return error === null ? outcome : failed(outcome, answer, { scheduleMs, now: clock.now() });
}

/** Returns the outcome of a failed attempt: the time of the retry, if any, and the pause that the receiver asked for. */
function failed(
  outcome: AttemptOutcome,
  answer: OutboundAnswer | undefined,
  { scheduleMs, now }: { scheduleMs: readonly number[]; now: number },
): AttemptOutcome {
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

/** Returns the headers of a delivery. The subscriber's own headers never replace Gatehouse's. */
export function requestOf(
  target: DeliveryTarget,
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

/** Returns one of a few error codes. A precise reason would let a subscriber map the internal network. */
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

/** Returns the beginning of an answer as text, without NUL, because PostgreSQL rejects it. */
function excerptOf({ body }: OutboundAnswer, target: DeliveryTarget): string | null {
  if (body.length === 0) return null;
  const text = scrub(body.subarray(0, 2 * KEPT_CHARS).toString('utf8'), target.secrets);
  return text.slice(0, KEPT_CHARS).replaceAll('\0', '\uFFFD');
}
