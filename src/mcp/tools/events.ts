import type { Connector } from '../../connectors/catalog.ts';
import { SCOPES_OF_EVENTS, type EventScope } from '../../connectors/event-scopes.ts';
import type { Base } from '../../base.ts';
import { isoTime } from '../../lib/clock.ts';
import { asObject, parseJson } from '../../lib/json.ts';
import type { LiveServer } from '../../servers/live.ts';
import type { Db } from '../../store/schema.ts';
import type { Environment } from '../../store/environments.ts';
import type { Grant } from './grant.ts';
import type { ToolScope } from './tool.ts';

const RECENT = 50;
const START = 'svc://events/';

/** Returns the scope of an event address; undefined for other resources. */
export function eventScopeOf(uri: string): EventScope | undefined {
  if (!uri.startsWith(START)) return undefined;
  const wanted = uri.slice(START.length);
  return SCOPES_OF_EVENTS.find((scope) => scope === wanted);
}

/** The user that sees the events, and the server that shows them. */
type Viewer = Pick<Grant, 'environment' | 'userId' | 'live'>;

/** A subscribed scope of an account, with its newest event. */
type Source = Awaited<ReturnType<typeof sourcesOf>>[number];
type ReadSources = (environment: Environment, userId: string) => Promise<Source[]>;

/**
 * Returns the event resources of a server, for a known user. A scope counts when an app has it and its records may be
 * read.
 */
export function eventResources({ visible, grant }: ToolScope) {
  if (grant.userId === undefined) return [];
  return SCOPES_OF_EVENTS.filter((scope) =>
    visible.connectors.some(({ connector }) => showsEvents(grant.live, connector, scope)),
  ).map((scope) => ({
    uri: `${START}${scope}`,
    name: scope,
    title: `Recent events of ${scope}`,
    description: 'Recent events in the apps of the user, newest first, for scopes that are subscribed to.',
    mimeType: 'application/json',
  }));
}

/**
 * Returns the newest events of a scope in the user's accounts, without the apps' raw records. Apps that may not be
 * read are left out.
 */
export async function recentEvents(
  context: Pick<Base, 'db' | 'catalog'>,
  viewer: Viewer,
  scope: EventScope,
): Promise<string> {
  const sources = await shownSources(context, viewer, { scope, read: readSources(context) });
  // One query for each source uses the index on the newest events. One query for all sources would sort all events.
  const found = await Promise.all(sources.map((source) => eventsOf(context.db, source, RECENT)));
  const events = found
    .flat()
    .toSorted((a, b) => b.row.created_at - a.row.created_at)
    .slice(0, RECENT)
    .map(({ source, row }) => {
      const body = parseJson(row.body);
      const { raw: _raw, ...record } = asObject(body);
      return {
        event: row.event,
        connectorId: source.connector_id,
        connectionId: source.credential_id,
        at: isoTime(row.created_at),
        record,
      };
    });
  return JSON.stringify({ scope, events });
}

/**
 * Returns, for the scope of each address, a value that changes with each new event of the viewer. A caller with many
 * viewers passes one `read` for all.
 */
export async function newestOf(
  context: Pick<Base, 'db' | 'catalog'>,
  viewer: Viewer,
  { uris, read = readSources(context) }: { uris: Iterable<string>; read?: ReadSources },
): Promise<Map<EventScope, string>> {
  const newest = new Map<EventScope, string>();
  for (const uri of uris) {
    const scope = eventScopeOf(uri);
    if (!scope) continue;
    const sources = await shownSources(context, viewer, { scope, read });
    const ids = sources.map((source) => source.newest_id ?? '');
    newest.set(scope, ids.toSorted().join(' '));
  }
  return newest;
}

/** Returns a reader that loads the sources of each user once. */
export function readSources({ db }: Pick<Base, 'db'>): ReadSources {
  const known = new Map<string, Promise<Source[]>>();
  return (environment, userId) => {
    const key = `${environment} ${userId}`;
    const sources = known.get(key) ?? sourcesOf(db, environment, userId);
    known.set(key, sources);
    return sources;
  };
}

/**
 * Returns whether a server may show events of a scope. An event holds a record as the two actions of its model return
 * it, so both must be allowed.
 */
function showsEvents({ decision }: LiveServer, connector: Connector, scope: EventScope): boolean {
  const model = connector.definition.unified[scope];
  if (!model) return false;
  return [model.list, model.get.action].every((actionId) => {
    const action = connector.actions.get(actionId);
    return action !== undefined && decision.action(action) === undefined;
  });
}

/** Returns the sources of a scope in the viewer's accounts whose events it may see. */
async function shownSources(
  { catalog }: Pick<Base, 'catalog'>,
  { environment, userId, live }: Viewer,
  { scope, read }: { scope: EventScope; read: ReadSources },
): Promise<Source[]> {
  if (userId === undefined) return [];
  const sources = await read(environment, userId);
  return sources.filter((source) => {
    const connector = source.scope === scope && catalog.connector(environment, source.connector_id);
    return connector && showsEvents(live, connector, scope);
  });
}

function sourcesOf(db: Db, environment: Environment, userId: string) {
  return db
    .selectFrom('sources')
    .select(['source_id', 'connector_id', 'credential_id', 'scope'])
    .select((of) =>
      of
        .selectFrom('events')
        .select('event_id')
        .whereRef('events.source_id', '=', 'sources.source_id')
        .orderBy('created_at', 'desc')
        .orderBy('event_id', 'desc')
        .limit(1)
        .as('newest_id'),
    )
    .where('user_id', '=', userId)
    .where('environment', '=', environment)
    .execute();
}

/** Returns the newest events of a source. */
async function eventsOf(db: Db, source: Source, limit: number) {
  const rows = await db
    .selectFrom('events')
    .select(['event', 'body', 'created_at'])
    .where('source_id', '=', source.source_id)
    .orderBy('created_at', 'desc')
    .orderBy('event_id', 'desc')
    .limit(limit)
    .execute();
  return rows.map((row) => ({ source, row }));
}
