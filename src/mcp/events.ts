import { SCOPES_OF_EVENTS, type EventScope } from '../connectors/event-scopes.ts';
import type { Context } from '../context.ts';
import { isoTime } from '../lib/clock.ts';
import { isJsonObject, parseJson } from '../lib/json.ts';
import type { Environment } from '../store/schema.ts';
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

/** The events that a server can show: of scopes that a visible app has, for a known user. */
export function eventResources({ visible, grant }: ToolScope) {
  if (grant.userId === undefined) return [];
  return SCOPES_OF_EVENTS.filter((scope) =>
    visible.connectors.some(({ connector }) => connector.definition.unified[scope] !== undefined),
  ).map((scope) => ({
    uri: `${START}${scope}`,
    name: scope,
    title: `Recent events of ${scope}`,
    description: 'What happened in the apps of the user, newest first, as far as somebody subscribed to it.',
    mimeType: 'application/json',
  }));
}

/** The newest events of a scope in the user's accounts of visible apps, without the apps' raw records. */
export async function recentEvents(scope: ToolScope, of: EventScope): Promise<string> {
  const { context, grant, visible } = scope;
  const rows =
    grant.userId === undefined ? [] : await eventsOf(context, grant.environment, grant.userId, of, RECENT);
  const shown = new Set(visible.connectors.map(({ connector }) => connector.connectorId));
  const events = rows
    .filter((row) => shown.has(row.connector_id))
    .map((row) => {
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

/** The newest event of each scope among these addresses, in the accounts of the grant's user. */
export async function newestOf(
  context: Pick<Context, 'db'>,
  { environment, userId }: Pick<Grant, 'environment' | 'userId'>,
  uris: Iterable<string>,
): Promise<Map<EventScope, string>> {
  const newest = new Map<EventScope, string>();
  for (const uri of userId === undefined ? [] : uris) {
    const scope = eventScopeOf(uri);
    if (scope && userId !== undefined)
      newest.set(scope, await newestEvent(context, environment, userId, scope));
  }
  return newest;
}

/** Changes with each new event of a scope in the user's accounts. */
async function newestEvent(
  context: Pick<Context, 'db'>,
  environment: Environment,
  userId: string,
  of: EventScope,
): Promise<string> {
  const [newest] = await eventsOf(context, environment, userId, of, 1);
  return newest?.event_id ?? '';
}

function eventsOf(
  { db }: Pick<Context, 'db'>,
  environment: Environment,
  userId: string,
  scope: EventScope,
  limit: number,
) {
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
    .where('sources.user_id', '=', userId)
    .where('sources.environment', '=', environment)
    .where('sources.scope', '=', scope)
    .orderBy('events.created_at', 'desc')
    .orderBy('events.event_id', 'desc')
    .limit(limit)
    .execute();
}
