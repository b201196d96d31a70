import { randomBytes } from 'node:crypto';
import type { Context } from '../context.ts';
import { topicsOf } from '../../connectors/webhook-topics.ts';
import { newRandomToken } from '../../crypto/tokens.ts';
import { reportGapRisk } from '../../outbox/operator-events.ts';
import { isRunning, type JobKind } from '../../runtime/jobs.ts';
import { DAY, HOUR } from '../../lib/clock.ts';
import { GatehouseError, publicError } from '../../lib/errors.ts';
import { checkAgainMs, isRenewalDue, onRenewalFailed } from './expiry.ts';
import { isNative } from './hook-keys.ts';
import { hookPath, openHook, saveHook, type Hook } from './hook.ts';
import {
  create,
  extend,
  listed,
  load,
  OTHER_JOB_WAIT_MS,
  remove,
  type Listed,
  type Registered,
  type Registration,
} from './registrations.ts';
import type { Source } from '../source.ts';
import { removeQuietly, logRemovalFailure } from './unregister.ts';

/**
 * Wait before the next check of registrations, because apps drop webhooks that failed for a while. A rejected
 * registration is tried again then.
 */
const LOOK_AGAIN_MS = DAY;
/**
 * Wait after a check that failed. Checks continue without an end, because registered webhooks keep arriving.
 */
const LOOK_AFTER_TROUBLE_MS = HOUR;

/**
 * Registers our address at the app for each topic of the scope. It adopts existing registrations, so a crash
 * between the app's answer and our commit leaves no second one. When the app rejects a registration, the
 * source is polled, and the app is asked again daily. Existing registrations are given up only when they must
 * be renewed and the app rejects that.
 */
export function registerJob(context: Context): JobKind {
  return {
    attempts: 6,
    async run(payload, signal) {
      const found = await load(context, payload, signal);
      if (found === 'away') return LOOK_AFTER_TROUBLE_MS;
      if (found === 'gone' || found.source.status === 'ending') return undefined;
      const { sourceId: key, isPruning } = found.source;
      // Webhooks of the new account would be pruned with the records of the previous one.
      if (isPruning) return OTHER_JOB_WAIT_MS;
      if (await isRunning(context.db, context, { kind: 'unregister', key })) return OTHER_JOB_WAIT_MS;
      try {
        const refusal = await register(context, found);
        if (refusal === undefined) return checkAgainMs(context, found.source, LOOK_AGAIN_MS);
        await pollInstead(context, found, refusal);
        return LOOK_AGAIN_MS;
      } catch (error) {
        if (signal.aborted) throw error;
        if (found.source.hookState === 'registered')
          return (
            (await onRenewalFailed(context, found.source, error)) ?? checkLater(context, found.source, error)
          );
        if (!isRejection(error)) throw error;
        await pollInstead(context, found, error.message);
        return LOOK_AGAIN_MS;
      }
    },
    async gaveUp(payload, error, signal) {
      const found = await load(context, payload, signal);
      if (found === 'gone' || (found !== 'away' && found.source.status === 'ending')) return undefined;
      if (found === 'away' || found.source.hookState === 'registered') return LOOK_AFTER_TROUBLE_MS;
      await pollInstead(context, found, error.message);
      return LOOK_AGAIN_MS;
    },
  };
}

/**
 * Registers what is missing. Returns the reason when the app rejects a registration or the credential lacks
 * values.
 */
async function register(context: Context, found: Registration): Promise<string | undefined> {
  const { source, connector, credential, webhooks } = found;
  if (!(await isNative(context, connector, { credential, scope: source.scope })))
    return 'The credential lacks values that webhooks of the app require.';
  const topics = [...new Set(topicsOf(webhooks, source.scope).map(({ topic }) => topic))];
  const hook = openHook(context, source) ?? (await beginHook(context, source, topics));
  const address = `${context.publicUrl}${hookPath(connector.connectorId, hook.token)}`;
  const wanted = webhooks.register.create.each === 'all' ? ['*'] : topics;
  const there = await listed(context, found, hook);
  try {
    for (const one of there?.ours ?? []) {
      if (!one.isHere) await removeEarlier(context, found, one);
      else if (!one.isAlive) await remove(context, found, one);
    }
    for (const topic of wanted) await renew(context, found, { hook, one: { there, address, topic, topics } });
  } catch (error) {
    if (!isRejection(error)) throw error;
    return error.message;
  }
  hook.topics = topics;
  delete hook.isTroubled;
  await saveRegistered(context, source, hook);
  return undefined;
}

/**
 * Removes a registration that another one replaces. A failure is logged only, so that new registrations
 * can be made.
 */
async function removeEarlier(
  context: Context,
  found: Registration,
  one: Pick<Registered, 'topic' | 'id'>,
): Promise<void> {
  try {
    await remove(context, found, one);
  } catch (error) {
    logRemovalFailure(context, found.source.sourceId, error);
  }
}

interface Topic {
  there: Listed | undefined;
  address: string;
  topic: string;
  topics: string[];
}

/** Adopts the registration of a topic, or creates one. */
async function renew(
  context: Context,
  found: Registration,
  { hook, one }: { hook: Hook; one: Topic },
): Promise<void> {
  const { there, topic } = one;
  const known = there?.ours.findLast((ours) => ours.topic === topic && ours.isHere && ours.isAlive)?.id;
  const stored = hook.ids[topic];
  // A stored registration counts as existing where the app cannot list it.
  const isUnlisted = !there?.isWhole && stored !== undefined && !there?.ours.some(({ id }) => id === stored);
  const current = known ?? (isUnlisted ? stored : undefined);
  if (current !== undefined) {
    // The app returns its secret only when it creates the registration. The secret of a registration that we
    // did not store is lost.
    const isLost = stored !== current && found.webhooks.register.create.secret !== undefined;
    if (!isLost && !(topic === '*' && hasOtherTopics(hook, one.topics))) {
      if (stored !== current) await storeRegistration(context, found, { hook, topic, id: current });
      if (isRenewalDue(hook, current, context.clock.now()))
        await extendOrReplace(context, found, { hook, one, id: current });
      return;
    }
    await remove(context, found, { topic, id: current });
  }
  await add(context, found, { hook, one });
}

/**
 * Renews a registration that expires. Where the app cannot renew it, or no longer knows it, another one is made first, so
 * that no event falls between the two.
 */
async function extendOrReplace(
  context: Context,
  found: Registration,
  { hook, one, id }: { hook: Hook; one: Topic; id: string },
): Promise<void> {
  const { topic } = one;
  const facts = await extend(context, found, { topic, id, hook });
  if (facts) {
    hook.facts = { ...hook.facts, [id]: facts };
    await saveHook(context, found.source, { value: hook });
    return;
  }
  await add(context, found, { hook, one });
  if (hook.ids[topic] === id) return;
  await removeEarlier(context, found, { topic, id });
  delete hook.facts?.[id];
  await saveHook(context, found.source, { value: hook });
}

/**
 * Returns true when one registration serves all topics and the connector file has other topics now. The
 * registration keeps the topics that it was created with.
 */
function hasOtherTopics({ topics }: Hook, wanted: readonly string[]): boolean {
  return topics.toSorted().join('\n') !== wanted.toSorted().join('\n');
}

/** Registers one topic, and stores the registration at once. */
async function add(
  context: Context,
  found: Registration,
  { hook, one: { address, topic, topics } }: { hook: Hook; one: Topic },
): Promise<void> {
  const made = await create(context, found, { topic, names: { address, topics, secret: hook.secret } });
  if (made.secret !== undefined) hook.secret = made.secret;
  hook.topics = topics;
  hook.facts = { ...hook.facts, [made.id]: made.facts };
  await storeRegistration(context, found, { hook, topic, id: made.id });
}

/**
 * Stores a registration and makes the source due. The poll closes the gap before the registration, because
 * the app may have dropped an earlier one a day ago.
 */
async function storeRegistration(
  context: Context,
  { source }: Registration,
  { hook, topic, id }: Pick<Registered, 'topic' | 'id'> & { hook: Hook },
): Promise<void> {
  hook.ids[topic] = id;
  await saveHook(context, source, { value: hook, more: { next_poll_at: context.clock.now() } });
}

/** Creates our token and secret, and stores them before the app receives them. */
async function beginHook(context: Context, source: Source, topics: string[]): Promise<Hook> {
  const hook: Hook = { token: newRandomToken(), secret: randomBytes(32).toString('hex'), ids: {}, topics };
  await saveHook(context, source, { value: hook });
  return hook;
}

/** Stores that all topics are registered. A source that was polled after a rejection becomes native again. */
async function saveRegistered(context: Context, source: Source, hook: Hook): Promise<void> {
  await saveHook(context, source, {
    value: hook,
    more: {
      kind: 'native',
      hook_state: 'registered',
      // The app may have dropped the stored registrations while it was not asked, so one poll closes the gap.
      ...(source.hookState === 'registered' ? {} : { next_poll_at: context.clock.now() }),
    },
  });
}

function isRejection(error: unknown): error is GatehouseError {
  return error instanceof GatehouseError && error.code === 'upstream_rejected';
}

/** Keeps the registrations after an outage, or while the credential must be reconnected. */
function checkLater({ log }: Context, { sourceId }: Source, error: unknown): number {
  const { code } = publicError(error);
  const facts = code === 'internal' ? { code, err: error } : { code };
  log.warn({ sourceId, ...facts }, 'webhook registrations not checked, will retry');
  return LOOK_AFTER_TROUBLE_MS;
}

/**
 * Polls a source whose webhooks the app rejects, and removes existing registrations as far as the app allows.
 */
async function pollInstead(context: Context, found: Registration, reason: string): Promise<void> {
  const { sourceId } = found.source;
  context.log.warn({ sourceId, reason }, 'webhook registration failed, polling the source');
  // A source without a list misses events from now on.
  if (found.source.hookState === 'registered')
    await reportGapRisk(context, found.source, `The registrations of webhooks were not renewed: ${reason}`);
  await removeQuietly(context, found);
  found.signal?.throwIfAborted();
  const now = context.clock.now();
  await context.db
    .updateTable('sources')
    .set({
      kind: 'polling',
      hook_state: 'failed',
      hook_hash: null,
      hook_sealed: null,
      reason: reason.slice(0, 500),
      next_poll_at: now,
      updated_at: now,
    })
    .where('source_id', '=', sourceId)
    .where('hook_sealed', 'is not distinct from', found.source.hookSealed)
    .execute();
}
