import type { Connector } from '../connectors/catalog.ts';
import { SCOPES_OF_EVENTS, type EventScope } from '../connectors/event-scopes.ts';
import type { Context } from '../context.ts';
import { isoTime } from '../lib/clock.ts';
import { isJsonObject, parseJson } from '../lib/json.ts';
import type { LiveServer } from '../servers/live.ts';
import type { Db } from '../store/schema.ts';
import type { Grant } from './grant.ts';
import type { ToolScope } from './tool.ts';

const RECENT = 50;
const START = 'svc://events/';

/** The scope of an address of events; undefined for other resources. */
export function eventScopeOf(uri: string): EventScope | undefined {
  if (!uri.startsWith(START)) return undefined;
  const wanted = uri.slice(START.length);
  return SCOPES_OF_EVENTS.find((scope) => scope === wanted);
}

/** Whose events are shown, by which server. */
type Viewer = Pick<Grant, 'environment' | 'userId' | 'live'>;

/** The events that a server can show: of scopes that an app has whose records it may read, for a known user. */
export function eventResources({ visible, grant }: ToolScope) {
  if (grant.userId === undefined) return [];
  return SCOPES_OF_EVENTS.filter((scope) =>
    visible.connectors.some(({ connector }) => showsEvents(grant.live, connector, scope)),
  ).map((scope) => ({
    uri: `${START}${scope}`,
    name: scope,
    title: `Recent events of ${scope}`,
    description: 'What happened in the apps of the user, newest first, as far as somebody subscribed to it.',
    mimeType: 'application/json',
  }));
}

/** The newest events of a scope in the user's accounts of apps that may be read, without the apps' raw records. */
export async function recentEvents({ context, grant }: ToolScope, of: EventScope): Promise<string> {
  const rows = await eventsOf(context.db, await shownSources(context, grant, of), RECENT);
  const events = rows.map((row) => {
    const body = parseJson(row.body);
    const { raw: _raw, ...record } = isJsonObject(body) ? body : {};
    return {
      event: row.event,
      connectorId: row.connector_id,
      connectionId: row.credential_id,
      at: isoTime(row.created_at),
      record,
    };
  });
  return JSON.stringify({ scope: of, events });
}

/** The newest event of each scope among these addresses, of those that the viewer is shown. */
export async function newestOf(
  context: Pick<Context, 'db' | 'catalog'>,
  viewer: Viewer,
  uris: Iterable<string>,
): Promise<Map<EventScope, string>> {
  const newest = new Map<EventScope, string>();
  for (const uri of uris) {
    const scope = eventScopeOf(uri);
    if (scope) newest.set(scope, await newestEvent(context, viewer, scope));
  }
  return newest;
}

/** Changes with each new event of a scope that the viewer is shown. */
async function newestEvent(
  context: Pick<Context, 'db' | 'catalog'>,
  viewer: Viewer,
  of: EventScope,
): Promise<string> {
  const [newest] = await eventsOf(context.db, await shownSources(context, viewer, of), 1);
  return newest?.event_id ?? '';
}

/** An event holds a record as the two actions of its model give it: who may not run both may not see it either. */
function showsEvents({ decision }: LiveServer, connector: Connector, scope: EventScope): boolean {
  const model = connector.definition.unified[scope];
  if (!model) return false;
  return [model.list, model.get.action].every((actionId) => {
    const action = connector.actions.get(actionId);
    return action !== undefined && decision.action(action) === undefined;
  });
}

/** The sources of a scope in the viewer's accounts whose events it is shown. */
async function shownSources(
  { db, catalog }: Pick<Context, 'db' | 'catalog'>,
  { environment, userId, live }: Viewer,
  scope: EventScope,
): Promise<string[]> {
  if (userId === undefined) return [];
  const rows = await db
    .selectFrom('sources')
    .select(['source_id', 'connector_id'])
    .where('user_id', '=', userId)
    .where('environment', '=', environment)
    .where('scope', '=', scope)
    .execute();
  return rows
    .filter((row) => {
      const connector = catalog.connector(environment, row.connector_id);
      return connector !== undefined && showsEvents(live, connector, scope);
    })
    .map((row) => row.source_id);
}

async function eventsOf(db: Db, sourceIds: string[], limit: number) {
  if (sourceIds.length === 0) return [];
  return db
    .selectFrom('events')
    .innerJoin('sources', 'sources.source_id', 'events.source_id')
    .select([
      'events.event_id',
      'events.event',
      'events.body',
      'events.created_at',
      'sources.connector_id',
      'sources.credential_id',
    ])
    .where('events.source_id', 'in', sourceIds)
    .orderBy('events.created_at', 'desc')
    .orderBy('events.event_id', 'desc')
    .limit(limit)
    .execute();
}
