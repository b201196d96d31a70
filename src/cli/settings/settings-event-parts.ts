import { asJson, asObject, type JsonObject } from '../../lib/json.ts';
import { connectorsOf, readDefinition } from '../../workflows/workflow-definition.ts';
import { recordsOf } from '../record-kinds.ts';
import type { Request } from '../service.ts';
import { textOf } from '../table.ts';
import { currentOf, type Current } from './settings-current.ts';
import type { SubscriptionEntry } from './settings-format.ts';
import { subscriptionKey } from './settings-keys.ts';
import { accountName } from './settings-people.ts';
import { chosen, noUser, type Planning } from './settings-parts.ts';
import type { Part, Wanted } from './settings-part.ts';

/* The parts of a settings file that run at events: workflows, field mappings, subscriptions. */

const MOST_CONNECTORS = 10_000;

export async function workflowPart(at: Planning): Promise<Part | undefined> {
  const { workflows } = at.settings;
  if (!workflows) return undefined;
  const all = await currentOf.workflows(at);
  const drafts = new Map(all.filter(isDraft).map(({ key, id }) => [key, id]));
  const known = await connectorIds(at);
  const wanted = workflows.map(({ name, definition }, index) => {
    // The service stores definitions with their defaults.
    const whole = readDefinition(definition);
    for (const connectorId of connectorsOf(whole))
      if (!known.has(connectorId))
        at.notes.faults.push({
          field: `workflows.${index}.definition`,
          rule: `uses the connector "${connectorId}", which this environment does not have`,
        });
    return { key: name.toLowerCase(), name, entry: { name, definition: asJson(whole) } };
  });
  const publish = (id: string, { definition = {} }: JsonObject): Request => ({
    method: 'POST',
    path: `/workflows/${id}/versions`,
    body: { definition },
  });
  return {
    kind: 'workflow',
    wanted,
    current: all.filter((one) => !isDraft(one)),
    uncompared: ['name'],
    add({ key, entry }) {
      const draft = drafts.get(key);
      return [
        draft === undefined ? { method: 'POST', path: '/workflows', body: entry } : publish(draft, entry),
      ];
    },
    change: ({ current: { id }, wanted: { entry } }) => [publish(id, entry)],
    remove: ({ id }) => ({ method: 'DELETE', path: `/workflows/${id}` }),
  };
}

const isDraft = ({ facts }: Current): boolean => facts['draft'] === true;

/** Returns the ids of the connectors that the environment has, or gets from the file. */
async function connectorIds({ service, settings: { connectors = [] } }: Planning): Promise<Set<string>> {
  const { records } = await recordsOf(service, { path: () => '/connectors' }, { limit: MOST_CONNECTORS });
  return new Set([
    ...records.map(({ connectorId }) => textOf(connectorId)),
    ...connectors.map((one) => one.connectorId),
  ]);
}

export async function mappingPart(at: Planning): Promise<Part | undefined> {
  const { fieldMappings } = at.settings;
  if (!fieldMappings) return undefined;
  const put = ({ scope = '', connectorId = null, fields = {} }: JsonObject): Request => ({
    method: 'PUT',
    path: '/api/field-mappings',
    body: { scope, fields, ...(connectorId === null ? {} : { connectorId }) },
  });
  return {
    kind: 'field mapping',
    wanted: fieldMappings.map((one) => {
      const key = `${one.scope} ${one.connectorId ?? ''}`;
      return { key, name: key.trim(), entry: asObject(asJson(one)) };
    }),
    current: await currentOf.fieldMappings(at),
    uncompared: ['scope', 'connectorId'],
    add: ({ entry }) => [put(entry)],
    change: ({ wanted: { entry } }) => [put(entry)],
    remove: ({ id }) => ({ method: 'DELETE', path: `/api/field-mappings/${id}` }),
  };
}

export async function subscriptionPart(at: Planning): Promise<Part | undefined> {
  const { subscriptions } = at.settings;
  if (!subscriptions) return undefined;
  const current = await currentOf.subscriptions(at);
  const wanted: Wanted[] = [];
  const connections = new Map<string, string>();
  for (const [index, entry] of subscriptions.entries()) {
    const record = recordOf(entry, current);
    const key = record?.key ?? subscriptionKey(entry);
    const name = nameOf(entry);
    if (!record) {
      const connection = await connectionOf(at, entry, `subscriptions.${index}`);
      if (connection.id === undefined) {
        if (connection.missing) at.notes.waiting.push(`subscription "${name}": ${connection.missing}`);
        continue;
      }
      connections.set(key, connection.id);
    }
    noteSecrets(at, entry, record);
    wanted.push({ key, name, entry: asObject(asJson(entry)) });
  }
  return {
    kind: 'subscription',
    wanted,
    current,
    uncompared: ['address', 'scope', 'connectorId', 'user', 'account', 'headers'],
    add: ({ key, entry }) => [
      {
        method: 'POST',
        path: '/2023-03/one/webhooks',
        query: { connectionId: connections.get(key) },
        body: subscriptionBody(entry),
      },
    ],
    change: ({ current: { id }, wanted: { entry }, members }) => [
      { method: 'PUT', path: `/webhooks/${id}`, body: chosen(entry, members) },
    ],
    remove: ({ id }) => ({ method: 'DELETE', path: `/webhooks/${id}` }),
  };
}

/**
 * Returns the subscription that an entry means. If its key matches none, the only subscription with the same address,
 * scope, connector and user counts, and with the same account where the entry names one.
 */
function recordOf(entry: SubscriptionEntry, current: readonly Current[]): Current | undefined {
  const { account, ...names } = entry;
  const exact = current.find(({ key }) => key === subscriptionKey(entry));
  if (exact) return exact;
  const alike = current.filter((one) => {
    const { entry: others, facts } = one;
    const isSame =
      subscriptionKey(names) ===
      subscriptionKey({
        address: textOf(others['address']),
        scope: textOf(others['scope']),
        connectorId: textOf(others['connectorId']),
        user: textOf(others['user']),
      });
    return isSame && (account === undefined || facts['account'] === account);
  });
  return alike.length === 1 ? alike[0] : undefined;
}

function nameOf({ user, connectorId, scope, address, account }: SubscriptionEntry): string {
  const of = [user, connectorId, ...(account === undefined ? [] : [account])].join('/');
  return `${scope} of ${of} to ${address}`;
}

/** A connection, or the reason for its absence. */
type Connection = { id: string; missing?: undefined } | { id?: undefined; missing: string | undefined };

/** Returns the account that a new subscription reads. A missing user is a fault. For a missing account, the entry waits. */
async function connectionOf(
  { people, notes }: Planning,
  { user, connectorId, account }: SubscriptionEntry,
  place: string,
): Promise<Connection> {
  const userId = await people.userIdOf(user);
  if (userId === undefined) {
    notes.faults.push({ field: `${place}.user`, rule: noUser(user) });
    return { missing: undefined };
  }
  const all = await people.accountsOf(userId, connectorId);
  const named = account === undefined ? all : all.filter((one) => accountName(one) === account);
  const only = named.length === 1 ? named[0] : named.find((one) => one['default'] === true);
  if (only) return { id: textOf(only['credentialId']) };
  const connect = `gatehouse connect ${user} ${connectorId}`;
  if (named.length === 0)
    return {
      missing:
        account === undefined
          ? `${user} has no account of ${connectorId} here. Connect it: ${connect}`
          : `${user} has no account "${account}" of ${connectorId} here. Connect it: ${connect}`,
    };
  return {
    missing: `${user} has ${named.length} accounts of ${connectorId} here. Name one in the file (account): ${named.map(accountName).join(', ')}`,
  };
}

function subscriptionBody(entry: JsonObject): JsonObject {
  const { connectorId: _of, user: _by, account: _at, headers: _secret, ...body } = entry;
  if (body['ratePerSecond'] === null) delete body['ratePerSecond'];
  return body;
}

/** Notes work for a person: the receiver of a new subscription needs its signing secret, and headers need their values. */
function noteSecrets({ notes }: Planning, entry: SubscriptionEntry, record: Current | undefined): void {
  const name = nameOf(entry);
  if (!record)
    notes.byHand.push(
      `The receiver of subscription "${name}" needs its signing secret: POST /webhooks/{subscriptionId}/rotate-secret shows one.`,
    );
  const has = record?.facts['headers'];
  const missing = (entry.headers ?? []).filter((one) => !Array.isArray(has) || !has.includes(one));
  if (missing.length > 0)
    notes.byHand.push(
      `Subscription "${name}" needs the headers ${missing.join(', ')}: PUT /webhooks/{subscriptionId} with headers.`,
    );
}
