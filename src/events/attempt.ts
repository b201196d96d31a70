import type { Context } from '../context.ts';
import { GatehouseError } from '../lib/errors.ts';
import type { Outbound, OutboundAnswer } from '../lib/outbound.ts';
import { scrub } from '../lib/scrub.ts';
import type { StopSignal } from '../lib/stop.ts';
import type { Item } from './claim.ts';
import { retryAfter, retryDelay } from './schedule.ts';
import { signatureHeaders } from './signature.ts';
import type { Outcome } from './settle.ts';
import type { Target } from './target.ts';

/** Of an answer so much is read, and so much is kept. */
const READ_BYTES = 64 * 1024;
const KEPT_CHARS = 4 * 1024;

type AttemptContext = Pick<Context, 'clock'> & {
  scheduleMs: readonly number[];
  outbound: Outbound;
  attemptMs: number;
};

/** POSTs a delivery once and says what came of it. Never throws; undefined when `signal` ended it. */
export async function attempt(
  { clock, scheduleMs, ...how }: AttemptContext,
  target: Target,
  item: Item,
  signal: StopSignal,
): Promise<Outcome | undefined> {
  const at = clock.now();
  const started = performance.now();
  const met = await post(how, target, item, at, signal);
  if (signal.aborted) return undefined;
  const durationMs = Math.round(performance.now() - started);
  const now = clock.now();
  const status = met.answer?.status ?? null;
  const error = met.error ?? errorOf(status);
  const retryAfterMs = retryAfter(met.answer?.headers['retry-after'], now);
  const asksForLess = status === 429 || status === 503;
  const common = {
    item,
    target,
    at,
    durationMs,
    status,
    error,
    excerpt: met.answer ? excerptOf(met.answer, target) : null,
    counts: !asksForLess,
    gone: status === 410,
    holdUntil: asksForLess && retryAfterMs !== undefined ? now + retryAfterMs : 0,
  };
  if (error === null) return { ...common, verdict: 'succeeded' };
  const delay = status === 410 ? undefined : retryDelay(scheduleMs, item.step + 1, retryAfterMs);
  return { ...common, verdict: delay === undefined ? 'dead' : { retryAt: now + delay } };
}

/** Headers and body of a delivery (contract.md section 7). What the subscriber wishes never replaces ours. */
export function requestOf(
  target: Target,
  item: Pick<Item, 'deliveryId' | 'sequence' | 'scope' | 'event' | 'body' | 'marks'>,
  now: number,
): Record<string, string> {
  const marks: Record<string, string> = item.marks === null ? {} : JSON.parse(item.marks);
  return {
    ...target.headers,
    ...marks,
    'content-type': 'application/json',
    'user-agent': 'Gatehouse',
    'x-svc-scope': item.scope,
    'x-svc-event': item.event,
    ...(target.connectionId === null ? {} : { 'x-svc-connection-id': target.connectionId }),
    'x-svc-subscription-id': target.subscriptionId,
    'x-svc-sequence': String(item.sequence),
    ...signatureHeaders(
      target.keys.filter(({ until }) => until > now).map(({ key }) => key),
      { id: item.deliveryId, body: item.body, now },
    ),
  };
}

interface Met {
  answer: OutboundAnswer | undefined;
  error: string | undefined;
}

async function post(
  { outbound, attemptMs }: Pick<AttemptContext, 'outbound' | 'attemptMs'>,
  target: Target,
  item: Item,
  now: number,
  signal: StopSignal,
): Promise<Met> {
  try {
    const answer = await outbound.request({
      method: 'POST',
      url: target.address,
      headers: requestOf(target, item, now),
      body: item.body,
      timeoutMs: attemptMs,
      maxBytes: READ_BYTES,
      statusDecides: true,
      signal,
    });
    return { answer, error: undefined };
  } catch (error) {
    return { answer: undefined, error: coarse(error) };
  }
}

/** One of a few codes: what a stranger learns must not map the network inside. */
function coarse(error: unknown): string {
  if (!(error instanceof GatehouseError)) return 'unreachable';
  if (error.code === 'upstream_timeout') return 'timeout';
  const reason = error.details?.['reason'];
  return typeof reason === 'string' ? reason : 'unreachable';
}

function errorOf(status: number | null): string | null {
  if (status === null || (status >= 200 && status < 300)) return null;
  return status >= 300 && status < 400 ? 'redirect' : 'status';
}

/** The beginning of an answer as text. PostgreSQL takes no NUL. */
function excerptOf({ body }: OutboundAnswer, target: Target): string | null {
  if (body.length === 0) return null;
  const text = scrub(body.subarray(0, 2 * KEPT_CHARS).toString('utf8'), target.secrets);
  return text.slice(0, KEPT_CHARS).replaceAll('\0', '\uFFFD');
}
