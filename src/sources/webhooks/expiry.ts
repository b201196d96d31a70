import type { Context } from '../context.ts';
import { DAY, HOUR, MINUTE } from '../../lib/clock.ts';
import { publicError } from '../../lib/errors.ts';
import { reportGapRisk } from '../../outbox/operator-events.ts';
import { openHook, saveHook, type Hook } from './hook.ts';
import type { Source } from '../source.ts';

/* Registrations that expire: when they are renewed, and what happens when that fails. */

/** Share of the lifetime that is left when a registration is renewed, and its limit. */
const LEFT_AT_RENEWAL = 0.25;
const LONGEST_LEFT_MS = DAY;
/** Share of the remaining time after which a failed renewal is tried again. */
const RETRY_AFTER = 1 / 3;

/** Returns whether a registration is to be renewed. */
export function isRenewalDue({ facts }: Hook, id: string, now: number): boolean {
  const at = renewalAt(facts?.[id]?.lifetime);
  return at !== undefined && at <= now;
}

function renewalAt(lifetime: { from: number; until: number } | undefined): number | undefined {
  if (!lifetime) return undefined;
  const { from, until } = lifetime;
  return until - Math.min(LONGEST_LEFT_MS, Math.max(0, until - from) * LEFT_AT_RENEWAL);
}

function lifetimesOf({ ids, facts }: Hook): { from: number; until: number }[] {
  return Object.values(ids).flatMap((id) => facts?.[id]?.lifetime ?? []);
}

/** Returns the wait until the next check of registrations: before the first renewal, and at most `longestMs`. */
export function checkAgainMs(
  context: Pick<Context, 'clock' | 'keys'>,
  source: Source,
  longestMs: number,
): number {
  const hook = openHook(context, source);
  const now = context.clock.now();
  const waits = (hook ? lifetimesOf(hook) : []).map((one) => (renewalAt(one) ?? now) - now);
  return Math.max(MINUTE, Math.min(longestMs, ...waits));
}

/**
 * Handles a failed check of registrations that expire, and notifies the operator once. Returns the wait until the next
 * attempt, which shrinks with the remaining time. A registration that has expired lets the source be polled.
 * @throws the error, when a registration has expired; the job then waits longer after each failure.
 */
export async function onRenewalFailed(
  context: Context,
  source: Source,
  error: unknown,
): Promise<number | undefined> {
  const hook = openHook(context, source);
  const lifetimes = hook ? lifetimesOf(hook) : [];
  if (!hook || lifetimes.length === 0) return undefined;
  const now = context.clock.now();
  const leftMs = Math.min(...lifetimes.map(({ until }) => until)) - now;
  const hasExpired = leftMs <= 0;
  const { code, message } = publicError(error);
  context.log.warn(
    { sourceId: source.sourceId, code, leftMs },
    'webhook registrations not renewed, will retry',
  );
  const lapsed = { hook_state: 'wanted', next_poll_at: now } as const;
  const value = { ...hook, isTroubled: true };
  await saveHook(context, source, { value, more: hasExpired ? lapsed : {} });
  if (!hook.isTroubled)
    await reportGapRisk(context, source, `The registrations of webhooks were not renewed: ${message}`);
  if (hasExpired) throw error;
  return Math.max(MINUTE, Math.min(HOUR, leftMs * RETRY_AFTER));
}
