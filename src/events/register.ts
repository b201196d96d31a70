import { randomBytes, randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import { readPage } from '../actions/pages.ts';
import { listSource } from '../actions/results.ts';
import type { Action, Connector } from '../connectors/catalog.ts';
import type { Webhooks } from '../connectors/events-format.ts';
import { fillTemplate } from '../connectors/templates.ts';
import type { Context } from '../context.ts';
import { hashToken, newRandomToken } from '../crypto/tokens.ts';
import type { Credential } from '../credentials/credential.ts';
import { openCredential } from '../credentials/open.ts';
import { findConnection } from '../credentials/records.ts';
import { withFreshTokens } from '../credentials/refresh.ts';
import { isRunning, planJob, type JobKind } from '../jobs/jobs.ts';
import { DAY, HOUR, SECOND } from '../lib/clock.ts';
import { GatehouseError, publicError } from '../lib/errors.ts';
import { valueAt, type Json, type JsonObject } from '../lib/json.ts';
import { fieldsOf, filledInput } from '../unified/inputs.ts';
import { callUpstream } from '../upstream/call.ts';
import { interpretAnswer } from '../upstream/response.ts';
import { isNative } from './hook-keys.ts';
import { hookAddress, openHook, sealHook, type Hook } from './hook.ts';
import type { PollContext } from './poll.ts';
import { toSource, type Source } from './source.ts';
import { deleteSource } from './sources.ts';

export type RegisterContext = PollContext & Pick<Context, 'hashKey' | 'publicUrl'>;

const payloadSchema = z.object({ sourceId: z.string() });
const LISTED_AT_MOST = 500;

/** Registered webhooks are looked after daily: apps drop those that failed for a while. What was refused is tried again. */
const LOOK_AGAIN_MS = DAY;
/** Where that was not possible it is tried again so soon, without an end: webhooks that are registered go on coming. */
const LOOK_AFTER_TROUBLE_MS = HOUR;
/** Registering and removing never run side by side: one waits until the other is done. */
const MEANWHILE_MS = 5 * SECOND;
/** Deleting a credential waits for an app at most so long. */
const REMOVAL_MS = 5 * SECOND;

/** A source with everything that registering needs. */
interface Registration {
  source: Source;
  connector: Connector;
  credential: Credential;
  webhooks: Webhooks;
}

/**
 * Registers our address at the app for each topic of the scope, adopting what is there already: a crash between the
 * app's yes and our commit leaves no second registration. When the app refuses for good, the source is polled instead,
 * and the app asked again daily. What is registered is given up only where it is needed anew and that is refused.
 */
export function registerJob(context: RegisterContext): JobKind {
  return {
    attempts: 6,
    async run(payload) {
      const found = await load(context, payload);
      if (!found || found.source.status === 'ending') return undefined;
      const { sourceId: key } = found.source;
      if (await isRunning(context.db, context, { kind: 'unregister', key })) return MEANWHILE_MS;
      try {
        const refusal = await register(context, found);
        if (refusal !== undefined) await pollInstead(context, found.source, refusal);
        return LOOK_AGAIN_MS;
      } catch (error) {
        if (found.source.hookState === 'registered') return lookLater(context, found.source, error);
        if (!isRejection(error)) throw error;
        await pollInstead(context, found.source, error.message);
        return LOOK_AGAIN_MS;
      }
    },
    async gaveUp(payload, error) {
      const found = await load(context, payload);
      if (!found || found.source.status === 'ending') return;
      const { sourceId, hookState } = found.source;
      if (hookState !== 'registered') await pollInstead(context, found.source, error.message);
      const delayMs = hookState === 'registered' ? LOOK_AFTER_TROUBLE_MS : LOOK_AGAIN_MS;
      await planJob(context.db, context, { kind: 'register', key: sourceId, payload: { sourceId }, delayMs });
    },
  };
}

/** Removes our registrations at the app, then the source. */
export function unregisterJob(context: RegisterContext): JobKind {
  return {
    attempts: 8,
    async run(payload) {
      const { sourceId } = payloadSchema.parse(payload);
      const found = await load(context, payload);
      if (found) {
        if (found.source.status !== 'ending') return undefined;
        if (await isRunning(context.db, context, { kind: 'register', key: sourceId })) return MEANWHILE_MS;
        await removeAll(context, found);
      }
      await deleteSource(context, sourceId);
      return undefined;
    },
    async gaveUp(payload, error) {
      const { sourceId } = payloadSchema.parse(payload);
      context.log.warn({ sourceId, reason: error.message }, 'webhooks could not be removed at the app');
      await deleteSource(context, sourceId);
    },
  };
}

/**
 * Removes what is registered for credentials that are about to go: afterwards nobody may. Best effort, a few seconds at
 * most: the credentials go in any case, and an app drops addresses that answer 404.
 */
export async function removeHooksOf(
  context: RegisterContext,
  of: { credentialId: string } | { userId: string },
): Promise<void> {
  let query = context.db.selectFrom('sources').select('source_id').where('hook_sealed', 'is not', null);
  query =
    'userId' in of
      ? query.where('user_id', '=', of.userId)
      : query.where('credential_id', '=', of.credentialId);
  const rows = await query.execute();
  if (rows.length === 0) return;
  const removal = Promise.all(rows.map(({ source_id: sourceId }) => removeQuietly(context, sourceId)));
  const end = new AbortController();
  await Promise.race([removal, sleep(REMOVAL_MS, undefined, { signal: end.signal, ref: false })]);
  end.abort();
}

async function removeQuietly(context: RegisterContext, sourceId: string): Promise<void> {
  try {
    const found = await load(context, { sourceId });
    if (found) await removeAll(context, found);
  } catch (error) {
    warnOfRest(context, sourceId, error);
  }
}

function warnOfRest({ log }: RegisterContext, sourceId: string, error: unknown): void {
  log.warn({ sourceId, code: publicError(error).code }, 'webhooks could not be removed at the app');
}

/** Sees to it that all is registered. Answers why not, where that takes more than a look and is refused. */
async function register(context: RegisterContext, found: Registration): Promise<string | undefined> {
  const { source, connector, credential, webhooks } = found;
  if (!(await isNative(context, connector, credential, source.scope)))
    return 'The credential lacks what webhooks of the app take.';
  const hook = openHook(context, source) ?? (await beginHook(context, source));
  const address = hookAddress(context, connector.connectorId, hook.token);
  const topics = (webhooks.topics[source.scope] ?? []).map(({ topic }) => topic);
  const wanted = webhooks.register.create.each === 'all' ? ['*'] : topics;
  const there = await listed(context, found, address, wanted);
  try {
    for (const { topic, id } of there?.dead ?? []) await remove(context, found, topic, id);
    for (const topic of wanted) await renew(context, found, hook, { there, address, topic, topics });
  } catch (error) {
    if (!isRejection(error)) throw error;
    return error.message;
  }
  await saveRegistered(context, source, hook);
  return undefined;
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
  const known = there?.alive.get(topic);
  const noted = hook.ids[topic];
  // A secret that the app makes is told once: of a registration that we did not note, it is lost.
  const lost = known !== undefined && noted !== known && found.webhooks.register.create.secret !== undefined;
  if (lost) await remove(context, found, topic, known);
  // Without a list at the app, what we noted is what there is.
  else if (known !== undefined || (!there && noted !== undefined)) {
    hook.ids[topic] = known ?? noted ?? '';
    return;
  }
  const isDead = there?.dead.some(({ id }) => id === noted);
  if (noted !== undefined && !isDead) await removeEarlier(context, found, topic, noted);
  await add(context, found, hook, one);
}

/** What is not listed at our address may be at an earlier one of ours, and could not be removed once its id is forgotten. */
async function removeEarlier(
  context: RegisterContext,
  found: Registration,
  topic: string,
  id: string,
): Promise<void> {
  try {
    await remove(context, found, topic, id);
  } catch (error) {
    warnOfRest(context, found.source.sourceId, error);
  }
}

/** Registers one topic, and notes at once what came of it. */
async function add(
  context: RegisterContext,
  found: Registration,
  hook: Hook,
  { address, topic, topics }: Topic,
): Promise<void> {
  const { source, connector, webhooks } = found;
  const { create } = webhooks.register;
  const names = { address, topic: topic === '*' ? '' : topic, topics, secret: hook.secret };
  const input = await inputOf(context, found, create.input, topic, names);
  const answer = await call(context, found, create.action, input);
  const id = valueAt(answer.value, create.id);
  if (typeof id !== 'string' && typeof id !== 'number') {
    throw new GatehouseError(
      'upstream_failed',
      `${connector.name} registered a webhook without telling its id.`,
    );
  }
  hook.ids[topic] = String(id);
  const secret = create.secret === undefined ? undefined : secretIn(answer, create.secret);
  if (secret !== undefined) hook.secret = secret;
  await saveHook(context, source, hook);
}

/** Our token and secret, stored before the app hears of them. */
async function beginHook(context: RegisterContext, source: Source): Promise<Hook> {
  const hook: Hook = { token: newRandomToken(), secret: randomBytes(32).toString('hex'), ids: {} };
  await context.db
    .updateTable('sources')
    .set({
      hook_hash: hashToken(context.hashKey, hook.token),
      hook_sealed: sealHook(context, source.sourceId, hook),
    })
    .where('source_id', '=', source.sourceId)
    .execute();
  return hook;
}

async function saveHook(context: RegisterContext, { sourceId }: Source, hook: Hook): Promise<void> {
  await context.db
    .updateTable('sources')
    .set({ hook_sealed: sealHook(context, sourceId, hook), updated_at: context.clock.now() })
    .where('source_id', '=', sourceId)
    .execute();
}

/** Also of a source that was polled because the app had refused. */
async function saveRegistered(
  context: RegisterContext,
  { sourceId, hookState }: Source,
  hook: Hook,
): Promise<void> {
  const now = context.clock.now();
  await context.db
    .updateTable('sources')
    .set({
      kind: 'native',
      hook_sealed: sealHook(context, sourceId, hook),
      hook_state: 'registered',
      // One more poll closes the gap between the last one and the registration.
      ...(hookState === 'registered' ? {} : { next_poll_at: now }),
      updated_at: now,
    })
    .where('source_id', '=', sourceId)
    .execute();
}

/** Our registrations at the app: ids by topic, and those that it switched off. */
interface Listed {
  alive: Map<string, string>;
  dead: { topic: string; id: string }[];
}

/** Undefined where the app cannot list them. */
async function listed(
  context: RegisterContext,
  found: Registration,
  address: string,
  wanted: string[],
): Promise<Listed | undefined> {
  const { list } = found.webhooks.register;
  if (!list) return undefined;
  const action = actionOf(found.connector, list.action);
  const records = await withCredential(context, found, async (credential) => {
    const target = { connector: found.connector, action, credential, input: {} };
    if (!action.list) {
      const { value } = await interpretAnswer(target, await callUpstream(context, target));
      return Array.isArray(value) ? value : [];
    }
    const positions = { nearest: async () => undefined, remember: async () => {}, forget: async () => {} };
    const page = await readPage(
      listSource(context, target, () => {}),
      positions,
      { limit: LISTED_AT_MOST, offset: 0 },
    );
    return page.records;
  });
  const alive = new Map<string, string>();
  const dead: { topic: string; id: string }[] = [];
  for (const record of records) {
    if (valueAt(record, list.address) !== address) continue;
    const topic = list.topic === undefined ? '*' : valueAt(record, list.topic);
    const id = valueAt(record, list.id);
    const name = wanted.includes('*') ? '*' : String(topic);
    if (id === undefined || id === null) continue;
    if (Object.entries(list.alive).every(([path, value]) => valueAt(record, path) === value))
      alive.set(name, String(id));
    else dead.push({ topic: name, id: String(id) });
  }
  return { alive, dead };
}

async function removeAll(context: RegisterContext, found: Registration): Promise<void> {
  const hook = openHook(context, found.source);
  for (const [topic, id] of Object.entries(hook?.ids ?? {})) await remove(context, found, topic, id);
}

/** Removes one registration; what the app no longer knows counts as removed. */
async function remove(
  context: RegisterContext,
  found: Registration,
  topic: string,
  id: string,
): Promise<void> {
  const { action, param, input } = found.webhooks.register.delete;
  try {
    const filled = await inputOf(context, found, input, topic, { id, topic: topic === '*' ? '' : topic });
    await call(context, found, action, { ...filled, ...(param === undefined ? {} : { [param]: id }) });
  } catch (error) {
    const status = error instanceof GatehouseError ? error.details?.['status'] : undefined;
    if (status !== 404 && status !== 410) throw error;
  }
}

/** The input of the file with its names filled: `names`, the values of the topic, and fields of the credential. */
async function inputOf(
  context: RegisterContext,
  { source, connector, credential, webhooks }: Registration,
  input: { readonly [name: string]: Json },
  topicName: string,
  names: { readonly [name: string]: Json },
): Promise<JsonObject> {
  const field = fieldsOf(openCredential(context, connector, credential));
  const topic = webhooks.topics[source.scope]?.find((one) => one.topic === topicName);
  const value = (name: string): Json | undefined => {
    const own = topic?.values[name];
    return names[name] ?? (own === undefined ? field(name) : fillTemplate(own, (part) => field(part) ?? ''));
  };
  return filledInput(input, value);
}

async function call(
  context: RegisterContext,
  found: Registration,
  actionId: string,
  input: JsonObject,
): Promise<{ value: Json; headers: Record<string, string>; body: Json }> {
  const action = actionOf(found.connector, actionId);
  return withCredential(context, found, async (credential) => {
    // A write that is tried again after an outage is one write, where the app knows such keys.
    const target = { connector: found.connector, action, credential, input, idempotencyKey: randomUUID() };
    const answer = await callUpstream(context, target);
    const { value } = await interpretAnswer(target, answer);
    return { value, headers: answer.headers, body: answer.body };
  });
}

function withCredential<T>(
  context: RegisterContext,
  { connector, credential }: Registration,
  run: (open: ReturnType<typeof openCredential>) => Promise<T>,
): Promise<T> {
  return withFreshTokens(context, connector, credential, (fresh) =>
    run(openCredential(context, connector, fresh)),
  );
}

function actionOf(connector: Connector, actionId: string): Action {
  const action = connector.internal.get(actionId) ?? connector.actions.get(actionId);
  if (action) return action;
  throw new Error(`${connector.connectorId} has no action ${actionId}.`);
}

function secretIn(
  answer: { headers: Record<string, string>; body: Json },
  place: string,
): string | undefined {
  const [where = '', ...rest] = place.split(':');
  const name = rest.join(':');
  const value = where === 'header' ? answer.headers[name.toLowerCase()] : valueAt(answer.body, name);
  return typeof value === 'string' ? value : undefined;
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
async function pollInstead(context: RegisterContext, { sourceId }: Source, reason: string): Promise<void> {
  context.log.warn({ sourceId, reason }, 'webhooks could not be registered; the source is polled');
  await removeQuietly(context, sourceId);
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
    .execute();
}

async function load(context: RegisterContext, payload: Json): Promise<Registration | undefined> {
  const { sourceId } = payloadSchema.parse(payload);
  const row = await context.db
    .selectFrom('sources')
    .selectAll()
    .where('source_id', '=', sourceId)
    .executeTakeFirst();
  const source = row && toSource(row);
  const credential = source && (await findConnection(context.db, source.environment, source.credentialId));
  const connector = source && context.catalog.connector(source.environment, source.connectorId);
  const webhooks = connector?.definition.webhooks;
  return source && credential && connector && webhooks
    ? { source, credential, connector, webhooks }
    : undefined;
}
