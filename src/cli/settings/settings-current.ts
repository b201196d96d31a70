import { SANDBOX_ID } from '../../connectors/catalog.ts';
import { settingsBody } from '../../http/routes/admin.ts';
import { asObject, isJsonObject, type JsonObject } from '../../lib/json.ts';
import { recordsOf, SERVERS, WORKFLOWS } from '../record-kinds.ts';
import type { Service } from '../service.ts';
import { textOf } from '../table.ts';
import { subscriptionKey, usersIn, withUsers } from './settings-keys.ts';
import { accountName, found, type People } from './settings-people.ts';

/* The settings of an environment in the form of a file. */

const MOST_RECORDS = 10_000;

/** A record of the environment. */
export interface Current {
  /** Key that matches the record with an entry of a file; see settings-keys.ts. */
  key: string;
  /** Id in this environment; empty where there is none. */
  id: string;
  /** Its entry in a file. */
  entry: JsonObject;
  /** The whole record, with members that are not in files. */
  facts: JsonObject;
}

export interface Reader {
  service: Service;
  people: People;
}

/** Returns a whole file of the environment. Entries are sorted by their keys, and members have a fixed order. */
export async function currentSettings(reader: Reader): Promise<JsonObject> {
  const [settings] = await currentOf.settings(reader);
  const entries = async (part: Exclude<keyof typeof currentOf, 'settings'>) =>
    (await currentOf[part](reader))
      .filter(({ facts }) => facts['draft'] !== true)
      .sort((a, b) => (a.key < b.key ? -1 : 1))
      .map(({ entry }) => entry);
  return {
    settings: settings?.entry ?? {},
    oauthApps: await entries('oauthApps'),
    connectors: await entries('connectors'),
    servers: await entries('servers'),
    workflows: await entries('workflows'),
    fieldMappings: await entries('fieldMappings'),
    subscriptions: await entries('subscriptions'),
  };
}

/** Reads the records of a part. */
export const currentOf = {
  settings: async (reader: Reader): Promise<Current[]> => {
    const facts = asObject(await reader.service.request({ path: '/api/settings' }));
    const { userServerRestrictions, ...others } = pick(facts, Object.keys(settingsBody.shape));
    const named = await withUsernames(reader, asObject(userServerRestrictions));
    const entry = pick({ ...others, userServerRestrictions: named }, Object.keys(settingsBody.shape));
    return [{ key: '', id: '', entry, facts }];
  },
  oauthApps: async ({ service }: Reader): Promise<Current[]> => {
    const connectors = await listed(service, '/connectors');
    // The OAuth app of the sandbox is made by Gatehouse itself.
    const withSignIn = connectors.filter(
      ({ connectorId, authentication }) =>
        connectorId !== SANDBOX_ID && Array.isArray(authentication) && authentication.includes('oauth2'),
    );
    const apps = await inTurn(withSignIn, ({ connectorId }) =>
      found(service, `/api/connectors/${textOf(connectorId)}/oauth-app`),
    );
    return apps
      .filter((app) => app !== undefined)
      .map((facts) => {
        const needs = ['clientId', ...(facts['hasSecret'] === true ? ['clientSecret'] : [])];
        const entry = { ...pick(facts, ['connectorId', 'scopes', 'fields']), needs };
        return { key: textOf(facts['connectorId']), id: textOf(facts['connectorId']), entry, facts };
      });
  },
  connectors: async ({ service }: Reader): Promise<Current[]> => {
    const all = await listed(service, '/api/connectors');
    const whole = await inTurn(all, ({ connectorId }) =>
      found(service, `/api/connectors/${textOf(connectorId)}`),
    );
    return whole
      .filter((one) => one !== undefined)
      .map((facts) => {
        const id = textOf(facts['connectorId']);
        return { key: id, id, entry: connectorEntry(facts), facts };
      });
  },
  servers: async (reader: Reader): Promise<Current[]> => {
    const { records } = await recordsOf(reader.service, SERVERS, { limit: MOST_RECORDS });
    const operators = records.filter((one) => one['createdByUser'] !== true);
    return inTurn(operators, async (facts) => {
      const owner = facts['ownerUserId'];
      const entry = {
        name: facts['name'] ?? '',
        owner: typeof owner === 'string' ? ((await reader.people.usernameOf(owner)) ?? null) : null,
        ...pick(facts, ['description', 'customInstructions', ...OTHER_FIELDS]),
        restrictions: await withUsernames(reader, asObject(facts['restrictions'])),
      };
      return { key: textOf(facts['name']).toLowerCase(), id: textOf(facts['serverId']), entry, facts };
    });
  },
  workflows: async ({ service }: Reader): Promise<Current[]> => {
    const { records } = await recordsOf(service, WORKFLOWS, { limit: MOST_RECORDS });
    return records.map((facts) => ({
      key: textOf(facts['name']).toLowerCase(),
      id: textOf(facts['workflowId']),
      entry: pick(facts, ['name', 'definition']),
      facts,
    }));
  },
  fieldMappings: async ({ service }: Reader): Promise<Current[]> => {
    const all = await listed(service, '/api/field-mappings');
    return all
      .filter((facts) => facts['connectionId'] === null)
      .map((facts) => ({
        key: `${textOf(facts['scope'])} ${facts['connectorId'] === null ? '' : textOf(facts['connectorId'])}`,
        id: textOf(facts['mappingId']),
        entry: pick(facts, ['scope', 'connectorId', 'fields']),
        facts,
      }));
  },
  subscriptions: async (reader: Reader): Promise<Current[]> => {
    const all = await listed(reader.service, '/2023-03/one/webhooks');
    return inTurn(all, async (facts) => {
      const [userId, connectorId] = [textOf(facts['userId']), textOf(facts['connectorId'])];
      const accounts = await reader.people.accountsOf(userId, connectorId);
      const own = accounts.find((one) => one['credentialId'] === facts['connectionId']);
      const names = {
        address: textOf(facts['address']),
        scope: textOf(facts['scope']),
        connectorId,
        user: (await reader.people.usernameOf(userId)) ?? userId,
        ...(own && accounts.length > 1 ? { account: accountName(own) } : {}),
      };
      const entry = { ...names, ...pick(facts, ['events', 'ratePerSecond', 'ordered', 'headers']) };
      return {
        key: subscriptionKey(names),
        id: textOf(facts['subscriptionId']),
        entry,
        facts: { ...facts, account: own ? accountName(own) : null },
      };
    });
  },
};

/** `enabled` is not part of a file, because it stops a server at once and an apply must not start it again. */
const OTHER_FIELDS = ['toolMode', 'codeMode', 'pinTools', 'duplicateGuard', 'budgets', 'circuit'];

function connectorEntry(facts: JsonObject): JsonObject {
  const { connectorId = '', name = '', definition = {}, overlay = null, remote } = facts;
  if (!isJsonObject(remote)) return { connectorId, definition, overlay };
  const { url = '', authentication: type = 'none', headers, scopes } = remote;
  const authentication = {
    type,
    ...(headers === undefined ? {} : { names: headers }),
    ...(scopes === undefined ? {} : { scopes }),
  };
  const needs = remote['operatorAccess'] === true ? [type === 'bearer' ? 'token' : 'values'] : [];
  return { connectorId, mcp: { name, url, authentication }, overlay, needs };
}

async function withUsernames({ people }: Reader, restrictions: JsonObject): Promise<JsonObject> {
  const names = new Map<string, string>();
  for (const { user } of usersIn(restrictions)) {
    const username = await people.usernameOf(user);
    if (username !== undefined) names.set(user, username);
  }
  return withUsers(restrictions, names);
}

function pick(record: JsonObject, names: readonly string[]): JsonObject {
  return Object.fromEntries(names.flatMap((name) => (name in record ? [[name, record[name] ?? null]] : [])));
}

async function listed(service: Service, path: string): Promise<JsonObject[]> {
  return (await recordsOf(service, { path: () => path }, { limit: MOST_RECORDS })).records;
}

/** Makes the requests one after the other, because a service limits the requests at the same time. */
async function inTurn<Item, Result>(
  items: readonly Item[],
  work: (item: Item) => Promise<Result>,
): Promise<Result[]> {
  const results: Result[] = [];
  for (const item of items) results.push(await work(item));
  return results;
}
