import { randomBytes } from 'node:crypto';
import { newRandomToken } from '../../crypto/tokens.ts';
import { isRunning, type JobKind } from '../../jobs/jobs.ts';
import { DAY, HOUR } from '../../lib/clock.ts';
import { GatehouseError, publicError } from '../../lib/errors.ts';
import { isNative } from './hook-keys.ts';
import { hookPath, openHook, saveHook, type Hook } from './hook.ts';
import {
  create,
  listed,
  load,
  MEANWHILE_MS,
  remove,
  type Listed,
  type Registered,
  type RegisterContext,
  type Registration,
} from './registrations.ts';
import type { Source } from '../source.ts';
import { removeQuietly, warnOfRest } from './unregister.ts';

/** Registered webhooks are looked after daily: apps drop those that failed for a while. What was refused is tried again. */
const LOOK_AGAIN_MS = DAY;
/** Where that was not possible it is tried again so soon, without an end: webhooks that are registered go on coming. */
const LOOK_AFTER_TROUBLE_MS = HOUR;

/**
 * Registers our address at the app for each topic of the scope, adopting what is there already: a crash between the
 * app's yes and our commit leaves no second registration. When the app refuses for good, the source is polled instead,
 * and the app asked again daily. What is registered is given up only where it is needed anew and that is refused.
 */
export function registerJob(context: RegisterContext): JobKind {
  return {
    attempts: 6,
    async run(payload, signal) {
      const found = await load(context, payload, signal);
      if (found === 'away') return LOOK_AFTER_TROUBLE_MS;
      if (found === 'gone' || found.source.status === 'ending') return undefined;
      const { sourceId: key, isForgetting } = found.source;
      // What webhooks of the other account tell would be forgotten along with what was seen of the one before.
      if (isForgetting) return MEANWHILE_MS;
      if (await isRunning(context.db, context, { kind: 'unregister', key })) return MEANWHILE_MS;
      try {
        const refusal = await register(context, found);
        if (refusal !== undefined) await pollInstead(context, found, refusal);
        return LOOK_AGAIN_MS;
      } catch (error) {
        if (signal.aborted) throw error;
        if (found.source.hookState === 'registered') return lookLater(context, found.source, error);
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

/** Sees to it that all is registered. Answers why not, where that takes more than a look and is refused. */
async function register(context: RegisterContext, found: Registration): Promise<string | undefined> {
  const { source, connector, credential, webhooks } = found;
  if (!(await isNative(context, connector, credential, source.scope)))
    return 'The credential lacks what webhooks of the app take.';
  const hook = openHook(context, source) ?? (await beginHook(context, source));
  const address = `${context.publicUrl}${hookPath(connector.connectorId, hook.token)}`;
  const topics = (webhooks.topics[source.scope] ?? []).map(({ topic }) => topic);
  const wanted = webhooks.register.create.each === 'all' ? ['*'] : topics;
  const there = await listed(context, found, hook);
  try {
    for (const one of there?.ours ?? []) {
      if (!one.isHere) await removeEarlier(context, found, one);
      else if (!one.isAlive) await remove(context, found, one);
    }
    for (const topic of wanted) await renew(context, found, hook, { there, address, topic, topics });
  } catch (error) {
    if (!isRejection(error)) throw error;
    return error.message;
  }
  hook.topics = topics;
  await saveRegistered(context, source, hook);
  return undefined;
}

/** What is at an earlier address of ours keeps nothing new from being made. */
async function removeEarlier(context: RegisterContext, found: Registration, one: Registered): Promise<void> {
  try {
    await remove(context, found, one);
  } catch (error) {
    warnOfRest(context, found.source.sourceId, error);
  }
}

interface Topic {
  there: Listed | undefined;
  address: string;
  topic: string;
  topics: string[];
}

/** Adopts what is registered for a topic, else registers it. */
async function renew(context: RegisterContext, found: Registration, hook: Hook, one: Topic): Promise<void> {
  const { there, topic } = one;
  const known = there?.ours.findLast((ours) => ours.topic === topic && ours.isHere && ours.isAlive)?.id;
  const noted = hook.ids[topic];
  // Of what the app does not list, what we noted is what there is.
  const isUnlisted = !there?.isWhole && noted !== undefined && !there?.ours.some(({ id }) => id === noted);
  const current = known ?? (isUnlisted ? noted : undefined);
  if (current !== undefined) {
    // A secret that the app makes is told once: of a registration that we did not note, it is lost.
    const isLost = noted !== current && found.webhooks.register.create.secret !== undefined;
    if (!isLost && !(topic === '*' && hasOtherTopics(hook, one.topics))) {
      if (noted !== current) await note(context, found, hook, { topic, id: current });
      return;
    }
    await remove(context, found, { topic, id: current });
  }
  await add(context, found, hook, one);
}

/** One registration for all keeps the topics that it was made with, whatever a newer file of the connector says. */
function hasOtherTopics({ topics }: Hook, wanted: readonly string[]): boolean {
  return topics !== undefined && topics.toSorted().join('\n') !== wanted.toSorted().join('\n');
}

/** Registers one topic, and notes at once what came of it. */
async function add(
  context: RegisterContext,
  found: Registration,
  hook: Hook,
  { address, topic, topics }: Topic,
): Promise<void> {
  const made = await create(context, found, topic, { address, topics, secret: hook.secret });
  if (made.secret !== undefined) hook.secret = made.secret;
  hook.topics = topics;
  await note(context, found, hook, { topic, id: made.id });
}

/** One more poll closes the gap before a registration: where there was one, the app may have dropped it a day ago. */
async function note(
  context: RegisterContext,
  { source }: Registration,
  hook: Hook,
  { topic, id }: Pick<Registered, 'topic' | 'id'>,
): Promise<void> {
  hook.ids[topic] = id;
  await saveHook(context, source, hook, { next_poll_at: context.clock.now() });
}

/** Our token and secret, stored before the app hears of them. */
async function beginHook(context: RegisterContext, source: Source): Promise<Hook> {
  const hook: Hook = { token: newRandomToken(), secret: randomBytes(32).toString('hex'), ids: {} };
  await saveHook(context, source, hook);
  return hook;
}

/** Also of a source that was polled because the app had refused. */
async function saveRegistered(context: RegisterContext, source: Source, hook: Hook): Promise<void> {
  await saveHook(context, source, hook, {
    kind: 'native',
    hook_state: 'registered',
    // What was noted before may have been dropped while the app was not asked.
    ...(source.hookState === 'registered' ? {} : { next_poll_at: context.clock.now() }),
  });
}

function isRejection(error: unknown): error is GatehouseError {
  return error instanceof GatehouseError && error.code === 'upstream_rejected';
}

/** An outage, or a credential to be reconnected, says nothing against what is registered. */
function lookLater({ log }: RegisterContext, { sourceId }: Source, error: unknown): number {
  const { code } = publicError(error);
  const facts = code === 'internal' ? { code, err: error } : { code };
  log.warn({ sourceId, ...facts }, 'registered webhooks could not be looked after');
  return LOOK_AFTER_TROUBLE_MS;
}

/** What was registered all the same is removed, as far as the app lets us. */
async function pollInstead(context: RegisterContext, found: Registration, reason: string): Promise<void> {
  const { sourceId } = found.source;
  context.log.warn({ sourceId, reason }, 'webhooks could not be registered; the source is polled');
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
