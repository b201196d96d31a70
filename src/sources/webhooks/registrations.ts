import { randomUUID } from 'node:crypto';
import type { Context } from '../context.ts';
import { z } from 'zod';
import { readPage } from '../../actions/offset-pages.ts';
import { listSource } from '../../actions/read-results.ts';
import { ownAction, type Action, type Connector } from '../../connectors/catalog.ts';
import { areRegistered, topicsOf, type RegisteredWebhooks } from '../../connectors/webhook-topics.ts';
import { filledInput, fillTemplate } from '../../connectors/templates.ts';
import { accountChange } from '../../credentials/account-change.ts';
import type { Credential } from '../../credentials/credential.ts';
import { openCredential } from '../../credentials/sealed-values.ts';
import { findConnection } from '../../credentials/credential-records.ts';
import { withFreshTokens } from '../../credentials/refresh.ts';
import { SECOND } from '../../lib/clock.ts';
import { GatehouseError } from '../../lib/errors.ts';
import { valueAt, type Json, type JsonObject } from '../../lib/json.ts';
import { fieldsOf } from '../../unified/inputs.ts';
import { parseTime } from '../../unified/map.ts';
import { callUpstream } from '../../upstream/call.ts';
import { interpretAnswer } from '../../upstream/response.ts';
import { hookPath, openHook, type Hook, type HookFacts } from './hook.ts';
import { toSource, type Source } from '../source.ts';

/* Calls to apps that list, create and remove our webhook registrations. */

/** Payload of the jobs that register and remove webhooks. */
export const payloadSchema = z.object({ sourceId: z.string() });
const LISTED_AT_MOST = 500;
/**
 * Wait before the next check whether a job that excludes this one is done. Registering and removing exclude
 * each other, and pruning after an account switch excludes registering.
 */
export const OTHER_JOB_WAIT_MS = 5 * SECOND;

/** A source with everything that registering needs. */
export interface Registration {
  source: Source;
  connector: Connector;
  credential: Credential;
  webhooks: RegisteredWebhooks;
  /** Aborts the calls to the app. A call that took effect all the same is found later, as after a crash. */
  signal: AbortSignal | undefined;
}

/**
 * Loads a source with all that registering needs. `gone`: the source or its credential is deleted. `away`:
 * the connector file, or its webhooks, are missing and may return.
 */
export async function load(
  context: Context,
  payload: Json,
  signal?: AbortSignal,
): Promise<Registration | 'gone' | 'away'> {
  const { sourceId } = payloadSchema.parse(payload);
  const { source, credential } = await context.db.transaction().execute(async (tx) => {
    // The lock ensures that the credential and the stored registrations belong to the same account.
    const row = await tx
      .selectFrom('sources')
      .selectAll()
      .where('source_id', '=', sourceId)
      .$if(context.store.kind === 'postgres', (query) => query.forUpdate())
      .executeTakeFirst();
    const found = row && toSource(row);
    return {
      source: found,
      credential: found && (await findConnection(tx, found.environment, found.credentialId)),
    };
  });
  if (!source || !credential) return 'gone';
  const connector = context.catalog.connector(source.environment, source.connectorId);
  const webhooks = connector?.definition.webhooks;
  return connector && webhooks && areRegistered(webhooks)
    ? { source, credential, connector, webhooks, signal }
    : 'away';
}

/** One of our registrations at the app. */
export interface Registered {
  /** `*` when one serves all. */
  topic: string;
  id: string;
  /** True when its address has our present public URL. */
  isHere: boolean;
  /** False when the app switched it off. */
  isAlive: boolean;
}

export interface Listed {
  ours: Registered[];
  /** True when all registrations were read. */
  isWhole: boolean;
}

/**
 * Lists the registrations whose address has the token of a source, at any public URL. A registration with
 * another address belongs to others, even when we stored its id. Returns undefined where the app cannot list
 * registrations.
 */
export async function listed(
  context: Context,
  found: Registration,
  { token }: Hook,
): Promise<Listed | undefined> {
  const { list } = found.webhooks.register;
  if (!list) return undefined;
  const action = actionOf(found.connector, list.action);
  const { records, hasMore } = await withCredential(context, found, async (credential) => {
    const target = { connector: found.connector, action, credential, input: {}, signal: found.signal };
    if (!action.list) {
      const { value } = await interpretAnswer(target, await callUpstream(context, target));
      return { records: Array.isArray(value) ? value : [], hasMore: false };
    }
    const positions = { nearest: async () => undefined, remember: async () => {}, forget: async () => {} };
    return readPage(
      listSource(context, target, () => {}),
      positions,
      { limit: LISTED_AT_MOST, offset: 0 },
    );
  });
  const servesAll = found.webhooks.register.create.each === 'all';
  const path = hookPath(found.connector.connectorId, token);
  const ours = records.flatMap((record) => {
    const address = valueAt(record, list.address);
    const id = valueAt(record, list.id);
    if (typeof address !== 'string' || !address.endsWith(path) || id === undefined || id === null) return [];
    return {
      topic: servesAll || list.topic === undefined ? '*' : String(valueAt(record, list.topic)),
      id: String(id),
      isHere: address === `${context.publicUrl}${path}`,
      isAlive: Object.entries(list.alive).every(([at, value]) => valueAt(record, at) === value),
    };
  });
  return { ours, isWhole: !hasMore };
}

/**
 * Registers one topic at the app. Returns the secret if the app created one.
 * @throws GatehouseError `upstream_failed` when the answer has no id; those of callUpstream and
 * interpretAnswer.
 */
export async function create(
  context: Context,
  found: Registration,
  { topic, names }: { topic: string; names: { readonly [name: string]: Json } },
): Promise<{ id: string; secret: string | undefined; facts: HookFacts }> {
  const { connector, webhooks } = found;
  const { create: how } = webhooks.register;
  const from = context.clock.now();
  const input = await inputOf(context, found, {
    input: how.input,
    topicName: topic,
    names: {
      ...names,
      ...expiryNames(found, from),
      newId: randomUUID(),
      topic: topic === '*' ? '' : topic,
    },
  });
  const answer = await call(context, found, { actionId: how.action, input });
  const id = valueAt(answer.value, how.id);
  if (typeof id !== 'string' && typeof id !== 'number') {
    throw new GatehouseError(
      'upstream_failed',
      `${connector.name} registered a webhook without returning its id.`,
    );
  }
  const secret = how.secret === undefined ? undefined : secretIn(answer, how.secret);
  return { id: String(id), secret, facts: factsIn(found, answer.value, from) };
}

/**
 * Renews a registration. Returns its new facts; undefined when the app no longer knows it.
 * @throws GatehouseError those of callUpstream and interpretAnswer.
 */
export async function extend(
  context: Context,
  found: Registration,
  { topic, id, hook }: Pick<Registered, 'topic' | 'id'> & { hook: Hook },
): Promise<HookFacts | undefined> {
  const { renew } = found.webhooks.register;
  if (!renew) return undefined;
  const from = context.clock.now();
  const kept = hook.facts?.[id]?.kept ?? {};
  const filled = await inputOf(context, found, {
    input: renew.input,
    topicName: topic,
    names: {
      ...kept,
      ...expiryNames(found, from),
      id,
      topic: topic === '*' ? '' : topic,
      secret: hook.secret,
    },
  });
  const input = { ...filled, ...(renew.param === undefined ? {} : { [renew.param]: id }) };
  try {
    const { value } = await call(context, found, { actionId: renew.action, input });
    return { ...factsIn(found, value, from), kept };
  } catch (error) {
    if (isGone(error)) return undefined;
    throw error;
  }
}

/** Returns the name for templates that holds the expiry to ask for. */
function expiryNames({ webhooks }: Registration, from: number): JsonObject {
  const { lifetimeSeconds, format } = webhooks.register.create.expires ?? {};
  if (lifetimeSeconds === undefined) return {};
  const at = from + lifetimeSeconds * SECOND;
  if (format === 'milliseconds') return { expiresAt: at };
  return { expiresAt: format === 'seconds' ? Math.floor(at / SECOND) : new Date(at).toISOString() };
}

/** Returns the facts of a registration in the app's answer. An answer without a time has the asked one. */
function factsIn({ webhooks }: Registration, value: Json, from: number): HookFacts {
  const { expires, keep } = webhooks.register.create;
  const kept: Record<string, string> = {};
  for (const [name, path] of Object.entries(keep)) {
    const one = valueAt(value, path);
    if (typeof one === 'string' || typeof one === 'number') kept[name] = String(one);
  }
  if (!expires) return { kept };
  const asked = expires.lifetimeSeconds === undefined ? undefined : from + expires.lifetimeSeconds * SECOND;
  const until = parseTime(valueAt(value, expires.at), expires.format) ?? asked;
  return { kept, ...(until === undefined ? {} : { lifetime: { from, until } }) };
}

/** Removes one registration. A registration that the app no longer knows counts as removed. */
export async function remove(
  context: Context,
  found: Registration,
  { topic, id }: Pick<Registered, 'topic' | 'id'>,
): Promise<void> {
  const { action, param, input } = found.webhooks.register.delete;
  const kept = openHook(context, found.source)?.facts?.[id]?.kept ?? {};
  try {
    const filled = await inputOf(context, found, {
      input,
      topicName: topic,
      names: { ...kept, id, topic: topic === '*' ? '' : topic },
    });
    await call(context, found, {
      actionId: action,
      input: { ...filled, ...(param === undefined ? {} : { [param]: id }) },
    });
  } catch (error) {
    if (!isGone(error)) throw error;
  }
}

function isGone(error: unknown): boolean {
  const status = error instanceof GatehouseError ? error.details?.['status'] : undefined;
  return status === 404 || status === 410;
}

/**
 * Fills the input of the connector file from `names`, the values of the topic, and fields of the credential.
 */
async function inputOf(
  context: Context,
  { source, connector, credential, webhooks }: Registration,
  {
    input,
    topicName,
    names,
  }: {
    input: { readonly [name: string]: Json };
    topicName: string;
    names: { readonly [name: string]: Json };
  },
): Promise<JsonObject> {
  const field = fieldsOf(openCredential(context, connector, credential));
  const topic = topicsOf(webhooks, source.scope).find((one) => one.topic === topicName);
  const value = (name: string): Json | undefined => {
    const own = topic?.values[name];
    return names[name] ?? (own === undefined ? field(name) : fillTemplate(own, (part) => field(part) ?? ''));
  };
  return filledInput(input, value);
}

async function call(
  context: Context,
  found: Registration,
  { actionId, input }: { actionId: string; input: JsonObject },
): Promise<{ value: Json; headers: Record<string, string>; body: Json }> {
  const action = actionOf(found.connector, actionId);
  return withCredential(context, found, async (credential) => {
    // The idempotency key makes retries of a write one write, where the app supports such keys.
    const { connector, signal } = found;
    const target = { connector, action, credential, input, signal, idempotencyKey: randomUUID() };
    const answer = await callUpstream(context, target);
    const { value } = await interpretAnswer(target, answer);
    return { value, headers: answer.headers, body: answer.body };
  });
}

function withCredential<T>(
  context: Context,
  { connector, credential }: Registration,
  run: (open: ReturnType<typeof openCredential>) => Promise<T>,
): Promise<T> {
  return withFreshTokens(context, { connector, credential }, async (fresh) => {
    // Renewed tokens may belong to another account, where the stored ids are registrations of others.
    if (accountChange(context, credential, fresh) !== 'none')
      throw new GatehouseError('unavailable', 'Another account replaced the account of this credential.');
    return run(openCredential(context, connector, fresh));
  });
}

function actionOf(connector: Connector, actionId: string): Action {
  const action = ownAction(connector, actionId);
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
