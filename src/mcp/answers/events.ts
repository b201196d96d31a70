import { ownAction, type Action, type Connector } from '../../connectors/catalog.ts';
import {
  isSourceScope,
  isUnifiedScope,
  SCOPES_OF_EVENTS,
  type SourceScope,
} from '../../connectors/event-scopes.ts';
import type { Base } from '../../base.ts';
import { isoTime } from '../../lib/clock.ts';
import { asObject, parseJson } from '../../lib/json.ts';
import { findSourceModel, eventScopesOf } from '../../connectors/source-model.ts';
import type { LiveServer } from '../../servers/live-servers.ts';
import type { Db } from '../../store/schema.ts';
import type { Environment } from '../../store/environments.ts';
import type { Grant } from '../scope/grant.ts';
import type { ToolScope } from '../scope/tool.ts';

const RECENT = 50;
/** Limit of the records of an app's own event sources in one answer. Older events come without theirs. */
const MAX_RAW_CHARS = 100_000;
const START = 'svc://events/';

/** Returns the scope of an event address; undefined for other resources. Perhaps no connector has the scope. */
export function eventScopeOf(uri: string): SourceScope | undefined {
  if (!uri.startsWith(START)) return undefined;
  const wanted = uri.slice(START.length);
  return isSourceScope(wanted) ? wanted : undefined;
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
export function eventResources(scope: ToolScope) {
  return scopesShown(scope).map((one) => ({
    uri: `${START}${one}`,
    name: one,
    title: `Recent events of ${one}`,
    description: 'Recent events in the apps of the user, newest first, for scopes that are subscribed to.',
    mimeType: 'application/json',
  }));
}

/** Returns whether a server shows events of a scope, whatever accounts the user has. */
export function isScopeShown(scope: ToolScope, wanted: SourceScope): boolean {
  return scopesShown(scope).includes(wanted);
}

function scopesShown({ visible, grant }: ToolScope): SourceScope[] {
  if (grant.userId === undefined) return [];
  const scopes = visible.connectors.flatMap(({ connector }) =>
    eventScopesOf(connector).filter((scope) => showsEvents(grant.live, connector, scope)),
  );
  const unified = SCOPES_OF_EVENTS.filter((scope) => scopes.includes(scope));
  return [...unified, ...scopes.filter((scope) => !isUnifiedScope(scope))];
}

/**
 * Returns the newest events of a scope in the user's accounts. Unified records come without the apps' raw records, and
 * records of an app's own event sources with them, as far as MAX_RAW_CHARS allow. Apps that may not be read are left
 * out.
 */
export async function recentEvents(
  context: Pick<Base, 'db' | 'catalog'>,
  viewer: Viewer,
  scope: SourceScope,
): Promise<string> {
  const sources = await shownSources(context, viewer, { scope, read: readSources(context) });
  // One query for each source uses the index on the newest events. One query for all sources would sort all events.
  const found = await Promise.all(sources.map((source) => eventsOf(context.db, source, RECENT)));
  let rawLeft = isUnifiedScope(scope) ? 0 : MAX_RAW_CHARS;
  const events = found
    .flat()
    .toSorted((a, b) => b.row.created_at - a.row.created_at)
    .slice(0, RECENT)
    .map(({ source, row }) => {
      rawLeft -= row.body.length;
      const { raw, ...record } = asObject(parseJson(row.body));
      return {
        event: row.event,
        connectorId: source.connector_id,
        connectionId: source.credential_id,
        at: isoTime(row.created_at),
        record: raw !== undefined && rawLeft >= 0 ? { ...record, raw } : record,
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
): Promise<Map<SourceScope, string>> {
  const newest = new Map<SourceScope, string>();
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
 * Returns whether a server may show events of a scope. An event holds a record as the actions of its source return it,
 * so each of them must be allowed. A source without actions requires any allowed action that reads.
 */
function showsEvents({ decision }: LiveServer, connector: Connector, scope: SourceScope): boolean {
  const model = findSourceModel(connector, scope);
  if (!model) return false;
  const isAllowed = (action: Action | undefined) =>
    action !== undefined && decision.action(action) === undefined;
  const needed = [model.list, model.get?.action].filter((actionId) => actionId !== undefined);
  if (needed.length > 0) return needed.every((actionId) => isAllowed(ownAction(connector, actionId)));
  return [...connector.actions.values()].some((action) => action.effect === 'read' && isAllowed(action));
}

/** Returns the sources of a scope in the viewer's accounts whose events it may see. */
async function shownSources(
  { catalog }: Pick<Base, 'catalog'>,
  { environment, userId, live }: Viewer,
  { scope, read }: { scope: SourceScope; read: ReadSources },
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
