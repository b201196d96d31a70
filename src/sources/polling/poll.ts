import { setImmediate as nextTurn } from 'node:timers/promises';
import { sql } from 'kysely';
import type { Context } from '../context.ts';
import { openCredential } from '../../credentials/sealed-values.ts';
import { findConnection } from '../../credentials/credential-records.ts';
import { judgeFailure } from '../../credentials/refusal.ts';
import { withFreshTokens } from '../../credentials/refresh.ts';
import { DAY, HOUR, MINUTE, SECOND } from '../../lib/clock.ts';
import { GatehouseError } from '../../lib/errors.ts';
import { backoff, jitter } from '../../runtime/backoff.ts';
import { whileRenewing } from '../../runtime/lease.ts';
import type { Tx } from '../../store/schema.ts';
import { customFieldsOf } from '../../unified/field-mappings.ts';
import { unifiedOf, type Unified } from '../../unified/map.ts';
import { isNotOffered, sourceModelOf, type SourceModel } from '../../connectors/source-model.ts';
import { reportGapRisk, reportGapRiskIn } from '../../outbox/operator-events.ts';
import { LARGEST_SKEW_MS, recordChanges, recordUnreadable } from './record-changes.ts';
import { hasUnseen } from './record-keys.ts';
import { continueListing, readSince, type Unreadable } from './listing.ts';
import { beganAt, knownFrom } from './record-times.ts';
import { accountOf } from './remote-record.ts';
import type { Continuation, Source } from '../source.ts';
import { renewLease } from '../due-sources.ts';

/** Factors of the interval of an idle source: the largest, and the growth after each idle poll. */
const MAX_SLOWDOWN = 5;
const SLOWDOWN = 1.5;
const LONGEST_BACKOFF_MS = 60 * MINUTE;
/** Jitter of all waits, so that sources that started together drift apart. */
const JITTER = 0.1;
/**
 * Consecutive failed polls after which the operator is notified. Over three intervals have passed by then.
 */
const FAILURES_REPORTED = 3;
/** How far one poll a day reaches back, for changes that become visible late. */
const DEEP_WINDOW_MS = 2 * DAY;
/**
 * Waits between the polls of sources whose webhooks arrive, by the state of their webhooks. A person may remove at the app
 * what was set up by hand, which is seen only by polls.
 */
const NET_MS: Partial<Record<Source['hookState'], number>> = { registered: DAY, manual: HOUR };
/** Wait between two polls that continue one listing. */
const CONTINUE_AFTER_MS = SECOND;
const RECORDED_AT_ONCE = 250;

/** Result of a poll, for the log and for tests. */
export interface Polled {
  records: number;
  deliveries: number;
}

/**
 * Polls a source under its lease. It reads what changed since the cursor less an overlap, publishes new
 * changes, and moves the cursor. All writes are in one transaction. A poll that lost its lease writes
 * nothing. The first listing publishes only what changed since collecting began. A failure leaves the cursor
 * in place, and a credential that does not work suspends the source.
 */
export async function pollSource(context: Context, source: Source, signal?: AbortSignal): Promise<Polled> {
  const { connectorId } = source;
  const count = (outcome: string) => context.telemetry.polls.count(connectorId, outcome);
  const renewal = {
    renew: () => renewLease(context, source),
    onError: (error: unknown) =>
      context.log.error({ err: error, sourceId: source.sourceId }, 'poll lease not renewed'),
  };
  return whileRenewing(renewal, async () => {
    try {
      const polled = await poll(context, source, signal);
      count('succeeded');
      return polled;
    } catch (error) {
      count(signal?.aborted ? 'interrupted' : 'failed');
      await (signal?.aborted ? releaseLease(context, source) : onPollFailed(context, source, error));
      return { records: 0, deliveries: 0 };
    }
  });
}

async function poll(context: Context, source: Source, signal: AbortSignal | undefined): Promise<Polled> {
  const { connector, credential } = await accountOf(context, source);
  if (credential.state !== 'active') throw suspended(credential.reason ?? 'The credential does not work.');

  const model = sourceModelOf(connector, source.scope);
  const now = context.clock.now();
  const span = spanOf(source, model, now);
  const from = source.continuation ?? undefined;
  // The credential of the last attempt, renewed or not, because the app's refusal concerns it.
  let latest = credential;
  const listing = await withFreshTokens(context, { connector, credential }, (fresh) => {
    latest = fresh;
    return readSince(context, {
      connector,
      credential: openCredential(context, connector, fresh),
      model,
      since: span.since,
      from,
      now,
      signal,
    });
  }).catch(async (error: unknown) => {
    throw await judgeFailure(context, { connector, credential: latest, effect: 'read' }, error);
  });

  const lagMs = model.poll.lagSeconds * SECOND;
  const until = listing.startedAt - lagMs;
  const fields = await customFieldsOf(context, source);
  const unified: Unified[] = [];
  /** Records up to `until`, which later polls need not read again. */
  const unchanging: Unified[] = [];
  const { unreadable } = listing;
  const what = { connector, scope: source.scope, connectionId: source.credentialId };
  for await (const [record, one] of unifiedOf(what, listing.records.values(), fields)) {
    if (one instanceof GatehouseError) {
      unreadable.push({ record, reason: one.message });
      continue;
    }
    const at = model.poll.by === 'createdAt' ? one.createdAt : one.updatedAt;
    // Records younger than the app's lag wait for the next poll. The app may not list all records of their
    // time yet.
    if (span.baseline || at === undefined || at <= listing.appTime - lagMs || lagMs === 0) unified.push(one);
    if (at === undefined || at <= until) unchanging.push(one);
  }
  const next = await continueListing(listing, from, () => hasUnseen(context.db, source.sourceId, unchanging));
  const baselineAt = source.baselineAt ?? beganAt(source, listing) - lagMs;
  const deliveries = await commit(
    context,
    { ...source, baselineAt },
    {
      ...span,
      ...next,
      refusal: listing.refusal?.message,
      unified,
      unreadable,
      until,
      listedFrom: now,
      knownFrom: knownFrom(model, span, baselineAt),
    },
  );
  context.log.debug(
    { sourceId: source.sourceId, records: unified.length, deliveries, skewMs: now - listing.startedAt },
    'polled',
  );
  return { records: unified.length, deliveries };
}

/** Time span that a poll reads, by the app's clock. */
interface Span {
  /** Lower bound; undefined reads all records. */
  since: number | undefined;
  cursorUntil: number | null;
  /** True for the first listing, which publishes no older records. */
  baseline: boolean;
  /** True for the daily poll that reaches back far enough to find changes that become visible late. */
  deep: boolean;
}

function spanOf(source: Source, { poll }: SourceModel, now: number): Span {
  const { continuation, nextReconcileAt } = source;
  const overlapMs = poll.overlapSeconds * SECOND;
  const bounded = poll.since !== undefined || poll.order === 'descending';
  const sinceOf = (bound: number) =>
    continuation ? (continuation.since ?? undefined) : bounded ? bound : undefined;
  if (source.cursorUntil === null) {
    const since = sinceOf(Math.min(now, source.createdAt) - overlapMs - LARGEST_SKEW_MS);
    return { since, cursorUntil: null, baseline: true, deep: false };
  }
  // A cursor in the future was set while our clock was ahead.
  const cursorUntil = Math.min(source.cursorUntil, now);
  const deepSince = cursorUntil - Math.max(DEEP_WINDOW_MS, overlapMs);
  // A reconcile time days ahead was also set while our clock was ahead.
  const isDue = nextReconcileAt !== null && (nextReconcileAt <= now || nextReconcileAt > now + 2 * DAY);
  const since = sinceOf(isDue ? deepSince : cursorUntil - overlapMs);
  return { since, cursorUntil, baseline: false, deep: isDue && (since ?? 0) <= deepSince };
}

/** Result of a poll, and how far the cursor may move. */
interface PollResult extends Span {
  unified: Unified[];
  unreadable: Unreadable[];
  /** Start of the poll, by our clock. */
  listedFrom: number;
  knownFrom: number | undefined;
  until: number;
  continuation: Continuation | undefined;
  unstable: boolean;
  /** Message with which the app refused to continue the listing. */
  refusal: string | undefined;
}

/**
 * Commits events, record keys and cursor in one transaction, if the lease still holds. Returns the number of
 * deliveries.
 */
async function commit(context: Context, source: Source, result: PollResult): Promise<number> {
  const { unified, unreadable, until, cursorUntil, continuation, unstable, refusal, baseline, deep } = result;
  const now = context.clock.now();
  const incomplete = continuation !== undefined || unstable;
  const failures = refusal === undefined ? 0 : source.failures + 1;
  const deliveries = await context.pollCommits.add(async (tx) => {
    const intervalMs = nextInterval(context, source, unified.length > 0 && !baseline);
    const idleMs = NET_MS[source.hookState] ?? intervalMs;
    // The wait keeps an endless list from being read without a pause.
    const waitMs = continuation
      ? CONTINUE_AFTER_MS
      : refusal
        ? waitAfterFailures(source, failures)
        : jitter(idleMs, JITTER);
    // True when ensureSource() shortened the interval for a new consumer during this poll.
    const isReset = sql<boolean>`interval_ms < ${source.intervalMs}`;
    const shortestMs = context.config.pollIntervalSeconds * SECOND;
    const resetMs = refusal ? waitMs : Math.min(waitMs, jitter(shortestMs, JITTER));
    const { numUpdatedRows } = await tx
      .updateTable('sources')
      .set({
        baseline_at: source.baselineAt,
        ...(incomplete ? {} : { cursor_until: Math.max(until, cursorUntil ?? 0) }),
        continuation: continuation ? JSON.stringify(continuation) : null,
        interval_ms: sql<number>`case when ${isReset} then interval_ms else ${intervalMs} end`,
        // A time that changed during this poll requests another poll, so it stays.
        next_poll_at: sql<number>`case when next_poll_at <> ${source.nextPollAt} then next_poll_at
          when ${isReset} then ${now + resetMs} else ${now + waitMs} end`,
        ...(source.nextReconcileAt === null || (deep && !incomplete)
          ? { next_reconcile_at: now + jitter(DAY, JITTER) }
          : {}),
        // Failures stay while a listing continues, because the app may refuse each page walk.
        ...(continuation ? {} : { failures, reason: refusal?.slice(0, 500) ?? null }),
        lease_token: null,
        lease_until: null,
        updated_at: now,
      })
      .where('source_id', '=', source.sourceId)
      .where('lease_token', '=', source.leaseToken)
      .executeTakeFirst();
    if (numUpdatedRows === 0n) return undefined;
    return recordAll(tx, context, { ...result, source: { ...source, cursorUntil } });
  });
  if (deliveries === undefined) {
    context.telemetry.leasesLost.count('poll');
    context.log.warn({ sourceId: source.sourceId }, 'poll discarded, lease lost');
    return 0;
  }
  // A listing that takes several polls is reported once, and so is a record.
  if (unstable)
    await reportGapRisk(
      context,
      source,
      refusal ?? 'the list kept changing while it was read, or the app did not give all of it',
    );
  else if (continuation && !source.continuation)
    await reportGapRisk(context, source, 'more records than one poll reads');
  const [first] = unreadable;
  if (
    first &&
    (await recordUnreadable(
      context,
      source.sourceId,
      unreadable.map(({ record }) => record),
    )) > 0
  )
    await reportGapRisk(context, source, first.reason);
  return deliveries;
}

/**
 * Records changes in batches, because SQLite is synchronous and thousands of records would block the event
 * loop.
 */
async function recordAll(
  tx: Tx,
  context: Context,
  { unified, ...how }: PollResult & { source: Source },
): Promise<number> {
  let deliveries = 0;
  for (let at = 0; at < unified.length; at += RECORDED_AT_ONCE) {
    if (at > 0) await nextTurn();
    const observations = unified.slice(at, at + RECORDED_AT_ONCE).map((one) => ({ unified: one }));
    deliveries += await recordChanges(tx, context, { ...how, observations });
  }
  return deliveries;
}

/**
 * Returns the interval of a source. A poll with records makes it the shortest, and each idle poll makes it
 * longer.
 */
function nextInterval({ config }: Context, { intervalMs, cursorUntil }: Source, busy: boolean): number {
  const shortest = config.pollIntervalSeconds * SECOND;
  if (busy || cursorUntil === null) return shortest;
  return Math.round(Math.min(shortest * MAX_SLOWDOWN, Math.max(shortest, intervalMs * SLOWDOWN)));
}

async function onPollFailed(context: Context, source: Source, error: unknown): Promise<void> {
  const now = context.clock.now();
  const known = error instanceof GatehouseError;
  const suspends = known && error.code === 'credential_invalid' && !(await isActive(context, source));
  const failures = source.failures + 1;
  const seconds = known ? (error.retryAfterSeconds ?? 0) : 0;
  const waitMs = Math.max(
    Math.min(seconds * SECOND, LONGEST_BACKOFF_MS),
    waitAfterFailures(source, failures),
  );
  const facts = known ? { code: error.code, reason: error.message.slice(0, 500) } : { err: error };
  context.log.warn(
    { sourceId: source.sourceId, connectorId: source.connectorId, failures, ...facts },
    'poll failed',
  );
  const reason = known ? error.message : 'Something went wrong on our side; the log has it.';
  await context.db.transaction().execute(async (tx) => {
    const { numUpdatedRows } = await tx
      .updateTable('sources')
      .set({
        status: suspends ? 'suspended' : 'active',
        reason: reason.slice(0, 500),
        failures,
        next_poll_at: now + waitMs,
        lease_token: null,
        lease_until: null,
        updated_at: now,
      })
      .where('source_id', '=', source.sourceId)
      .where('lease_token', '=', source.leaseToken)
      .executeTakeFirst();
    // The operator is notified separately of a credential that does not work.
    if (numUpdatedRows === 0n || suspends || failures !== reportedAt(error)) return;
    await reportGapRiskIn(tx, context, {
      source,
      reason: failures === 1 ? reason : `${failures} polls in a row failed, the last one so: ${reason}`,
    });
  });
  context.dispatcher.wake();
}

/** Returns which failure of a row is reported: the first for a missing scope, because only a new version brings it back. */
function reportedAt(error: unknown): number {
  return isNotOffered(error) ? 1 : FAILURES_REPORTED;
}

/**
 * Returns whether the credential is active. The user may have reconnected it during the poll that the app
 * refused.
 */
async function isActive({ db }: Context, { environment, credentialId }: Source): Promise<boolean> {
  return (await findConnection(db, environment, credentialId))?.state === 'active';
}

/** Releases the lease when this process stops during a poll, so that another process repeats it. */
async function releaseLease({ db, clock }: Context, { sourceId, leaseToken }: Source): Promise<void> {
  await db
    .updateTable('sources')
    .set({ next_poll_at: clock.now(), lease_token: null, lease_until: null })
    .where('source_id', '=', sourceId)
    .where('lease_token', '=', leaseToken)
    .execute();
}

function suspended(reason: string): GatehouseError {
  return new GatehouseError('credential_invalid', reason, { details: { reason: 'revoked' } });
}

/** Returns the wait after this many failed polls in a row. */
function waitAfterFailures({ intervalMs }: Source, failures: number): number {
  return jitter(backoff(failures, { firstMs: intervalMs, longestMs: LONGEST_BACKOFF_MS }), JITTER);
}
