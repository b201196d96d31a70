import { MIB } from '../../lib/http/http-body.ts';
import { asJson, asObject, canonicalJson, type JsonObject } from '../../lib/json.ts';
import type { Request } from '../service.ts';
import { currentOf, type Current, type Reader } from './settings-current.ts';
import type { Settings } from './settings-format.ts';
import { usersIn, withUsers } from './settings-keys.ts';
import type { Notes, Part, Wanted } from './settings-part.ts';

/* The parts of a settings file without events: settings, OAuth apps, connectors, servers. */

/** A settings file, and a reader of the environment that it is compared with. */
export interface Planning extends Reader {
  settings: Settings;
  notes: Notes;
}

export async function settingsPart(at: Planning): Promise<Part | undefined> {
  const { settings } = at.settings;
  if (!settings) return undefined;
  const { userServerRestrictions } = settings;
  const place = 'settings.userServerRestrictions';
  const ids = await idsOf(at, usersIn(userServerRestrictions), place);
  return {
    kind: 'settings',
    wanted: [{ key: '', name: '', entry: asObject(asJson(settings)) }],
    current: await currentOf.settings(at),
    uncompared: [],
    add: () => [],
    change({ current, wanted, members }) {
      const body = chosen(wanted.entry, members);
      if (body['userServerRestrictions'])
        body['userServerRestrictions'] = withUsers(asObject(body['userServerRestrictions']), ids);
      if (typeof body['eventsAddress'] === 'string' && current.entry['eventsAddress'] === null)
        at.notes.byHand.push(
          'The receiver of eventsAddress needs its signing secret: POST /webhooks/{eventsSubscriptionId}/rotate-secret ' +
            'shows one.',
        );
      return [{ method: 'PUT', path: '/api/settings', body }];
    },
  };
}

export async function connectorPart(at: Planning): Promise<Part | undefined> {
  const { connectors } = at.settings;
  if (!connectors) return undefined;
  const current = await currentOf.connectors(at);
  const wanted = connectors.map((one) => ({
    key: one.connectorId,
    name: one.connectorId,
    entry: asObject(asJson(one)),
  }));
  for (const one of wanted) noteNeeds(at, one, current);
  return {
    kind: 'connector',
    wanted: wanted.map((one) => withoutUnsaid(one, current)),
    current: current.map((one) => withForm(one, wanted)),
    uncompared: ['connectorId', 'needs'],
    add: ({ name, entry }) => [
      { method: 'POST', path: '/api/connectors', body: sourceBody(at, entry) },
      ...(entry['overlay'] ? [overlayRequest(name, entry)] : []),
    ],
    change: ({ wanted: { name, entry }, members }) => [
      ...(members.has('definition') || members.has('mcp')
        ? [{ method: 'PUT', path: `/api/connectors/${name}`, body: sourceBody(at, entry) } as const]
        : []),
      ...(members.has('overlay') ? [overlayRequest(name, entry)] : []),
    ],
    remove: ({ id }) => ({ method: 'DELETE', path: `/api/connectors/${id}` }),
  };
}

/** Returns the record without the form of source that the entry replaces. */
function withForm(current: Current, wanted: readonly Wanted[]): Current {
  const other = wanted.find(({ key }) => key === current.key);
  const form = other && 'mcp' in other.entry ? 'definition' : 'mcp';
  const { [form]: _replaced, ...entry } = current.entry;
  return { ...current, entry: other ? entry : current.entry };
}

/** Adds the members of a remote server that the entry leaves to the server. */
function withoutUnsaid(wanted: Wanted, current: readonly Current[]): Wanted {
  const { mcp } = wanted.entry;
  const known = asObject(current.find(({ key }) => key === wanted.key)?.entry['mcp']);
  if (mcp === undefined || Object.keys(known).length === 0) return wanted;
  const { name, authentication } = known;
  const { scopes } = asObject(authentication);
  const given = asObject(mcp);
  const form = asObject(given['authentication']);
  const keepsScopes = form['type'] === 'oauth2' && form['scopes'] === undefined && scopes !== undefined;
  const whole: JsonObject = {
    ...(name === undefined ? {} : { name }),
    ...given,
    authentication: keepsScopes ? { ...form, scopes } : form,
  };
  return { ...wanted, entry: { ...wanted.entry, mcp: whole } };
}

/** Returns the body that brings the source of an entry. */
function sourceBody({ notes, settings }: Planning, entry: JsonObject): JsonObject {
  const { connectorId = '', definition, mcp } = entry;
  if (mcp !== undefined) return { mcp: { connectorId, ...asObject(mcp) } };
  const body = { definition: definition ?? {} };
  if (Buffer.byteLength(JSON.stringify(body)) > MIB)
    notes.faults.push({
      field: `connectors.${settings.connectors?.findIndex((one) => one.connectorId === connectorId)}.definition`,
      rule: 'is over 1 MiB, the limit of a definition: import its OpenAPI document there (POST /api/connectors)',
    });
  return body;
}

function overlayRequest(connectorId: string, { overlay }: JsonObject): Request {
  const path = `/api/connectors/${connectorId}/overlay`;
  return overlay ? { method: 'PUT', path, body: asObject(overlay) } : { method: 'DELETE', path };
}

/** Notes the operator's values of a remote server, which a change of the server removes. */
function noteNeeds({ notes }: Planning, { name, entry }: Wanted, current: readonly Current[]): void {
  const { needs, mcp } = entry;
  const [need] = Array.isArray(needs) ? needs : [];
  if (need === undefined) return;
  const record = current.find(({ key }) => key === name);
  const isThere = asObject(record?.facts['remote'])['operatorAccess'] === true;
  if (isThere && canonicalJson(record?.entry['mcp'] ?? null) === canonicalJson(mcp ?? null)) return;
  notes.byHand.push(
    `Connector "${name}" needs its ${String(need)}: PUT /api/connectors/${name} with mcp.authentication.${String(need)}.`,
  );
}

/** Notes the OAuth apps that differ. An app has secrets, so a person enters it. */
export async function oauthAppNotes(at: Planning): Promise<void> {
  const { oauthApps, connectors = [] } = at.settings;
  if (!oauthApps) return;
  const current = new Map((await currentOf.oauthApps(at)).map(({ key, entry }) => [key, entry]));
  const registered = new Set(connectors.filter(({ mcp }) => mcp).map((one) => one.connectorId));
  for (const app of oauthApps) {
    const { connectorId, needs = [] } = app;
    const entry = current.get(connectorId);
    const request = `PUT /api/connectors/${connectorId}/oauth-app`;
    // Gatehouse registers itself at the OAuth server of a remote MCP server.
    if (!entry && registered.has(connectorId)) continue;
    if (!entry)
      at.notes.byHand.push(
        `Connector "${connectorId}" needs an OAuth app: ${request} with ${needs.join(' and ') || 'clientId'}.`,
      );
    else if (differs(entry, app))
      at.notes.byHand.push(`The OAuth app of "${connectorId}" has other scopes or fields here: ${request}.`);
  }
}

function differs(entry: JsonObject, { scopes, fields }: { scopes?: unknown; fields?: unknown }): boolean {
  return Object.entries({ scopes, fields }).some(
    ([name, value]) =>
      value !== undefined && canonicalJson(entry[name] ?? null) !== canonicalJson(asJson(value)),
  );
}

export async function serverPart(at: Planning): Promise<Part | undefined> {
  const { servers } = at.settings;
  if (!servers) return undefined;
  const current = await currentOf.servers(at);
  const ids = new Map<string, string>();
  for (const [index, { name, owner, restrictions }] of servers.entries()) {
    const path = `servers.${index}`;
    const found = await idsOf(at, usersIn(restrictions), `${path}.restrictions`);
    const owners = await idsOf(at, owner ? [{ path: 'owner', user: owner }] : [], path);
    for (const [user, id] of [...found, ...owners]) ids.set(user, id);
    const record = current.find(({ key }) => key === name.toLowerCase());
    const now = record?.entry['owner'] ?? null;
    if (record && owner !== undefined && owner !== now)
      at.notes.faults.push({
        field: `${path}.owner`,
        rule: `is ${JSON.stringify(now)} here, and a server keeps its owner: choose another name, or delete the server`,
      });
  }
  const bodyOf = (entry: JsonObject): JsonObject => {
    const { owner: _header, restrictions, ...body } = entry;
    return restrictions === undefined
      ? body
      : { ...body, restrictions: withUsers(asObject(restrictions), ids) };
  };
  return {
    kind: 'server',
    wanted: servers.map((one) => ({
      key: one.name.toLowerCase(),
      name: one.name,
      entry: asObject(asJson(one)),
    })),
    current: await withEnabled(current),
    uncompared: ['owner'],
    add: ({ entry }) => [
      {
        method: 'POST',
        path: '/api/servers',
        body: bodyOf(entry),
        userId: typeof entry['owner'] === 'string' ? ids.get(entry['owner']) : undefined,
      },
    ],
    change: ({ current: { id }, wanted: { entry }, members }) => [
      { method: 'PUT', path: `/api/servers/${id}`, body: bodyOf(chosen(entry, members)) },
    ],
    remove: ({ id }) => ({ method: 'DELETE', path: `/api/servers/${id}` }),
  };
}

/** Adds the kill switch, which a person may write into a file, and which no export has. */
async function withEnabled(current: readonly Current[]): Promise<Current[]> {
  return current.map((one) => ({
    ...one,
    entry: { ...one.entry, enabled: one.facts['enabled'] ?? true },
  }));
}

/** Returns the ids of users by name. A user who does not exist is a fault at its place. */
async function idsOf(
  { people, notes }: Planning,
  named: readonly { path: string; user: string }[],
  place: string,
): Promise<Map<string, string>> {
  const ids = new Map<string, string>();
  for (const { path, user } of named) {
    const id = await people.userIdOf(user);
    if (id === undefined) notes.faults.push({ field: `${place}.${path}`, rule: noUser(user) });
    else ids.set(user, id);
  }
  return ids;
}

/** Returns the rule for the name of an absent user. */
export function noUser(username: string): string {
  return `names no user of this environment: gatehouse users create ${username}`;
}

/** Returns the members of an entry with these names. */
export function chosen(entry: JsonObject, members: ReadonlySet<string>): JsonObject {
  return Object.fromEntries(Object.entries(entry).filter(([name]) => members.has(name)));
}
