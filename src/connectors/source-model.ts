import type { Connector } from './catalog.ts';
import { isUnifiedScope, nameInFile, scopeOfSource, type SourceScope } from './event-scopes.ts';
import type { EventSourceDefinition, UnifiedModel } from './format/events-format.ts';
import { GatehouseError, type Fault } from '../lib/errors.ts';

/* How the records of a source are read, whether it is a unified model or an event source of the app's own. */

export type RecordEvent = EventSourceDefinition['reports'][number];
export type SourceModel = UnifiedModel | EventSourceDefinition;

const ALL_EVENTS: readonly RecordEvent[] = ['created', 'updated', 'deleted'];

/** Returns the scopes of a connector: its unified models, then its event sources. */
export function eventScopesOf({
  connectorId,
  definition,
}: Pick<Connector, 'connectorId' | 'definition'>): SourceScope[] {
  const own = Object.keys(definition.events).map((name) => scopeOfSource(connectorId, name));
  return [...Object.keys(definition.unified).filter(isUnifiedScope), ...own];
}

/** Returns how the records of a scope are read; undefined when the connector has no such scope. */
export function findSourceModel(
  { connectorId, definition }: Pick<Connector, 'connectorId' | 'definition'>,
  scope: SourceScope,
): SourceModel | undefined {
  if (isUnifiedScope(scope)) return definition.unified[scope];
  if (!scope.startsWith(`${connectorId}/`)) return undefined;
  const name = nameInFile(scope);
  return Object.hasOwn(definition.events, name) ? definition.events[name] : undefined;
}

/**
 * Returns how the records of a scope are read.
 * @throws GatehouseError `invalid_request` that lists the connector's scopes, when it has none of that name.
 */
export function sourceModelOf(connector: Connector, scope: SourceScope): SourceModel {
  const model = findSourceModel(connector, scope);
  if (model) return model;
  throw notOffered(connector, scope);
}

/** Returns whether an error says that a connector no longer has the scope of a source. */
export function isNotOffered(error: unknown): boolean {
  return error instanceof GatehouseError && error.details?.['reason'] === NOT_OFFERED;
}

const NOT_OFFERED = 'scope_not_offered';

/** Returns the error for a scope that a connector does not have. It lists the scopes that it has. */
export function notOffered(connector: Connector, scope: string): GatehouseError {
  const known = eventScopesOf(connector).join(', ') || 'none';
  return new GatehouseError(
    'invalid_request',
    `${connector.name} does not offer ${scope.slice(0, 100)}. Its scopes: ${known}.`,
    { details: { reason: NOT_OFFERED, faults: [{ field: 'scope', rule: `must be one of: ${known}` }] } },
  );
}

/** Returns the events that a source reports. */
export function reportsOf(model: SourceModel): readonly RecordEvent[] {
  return 'reports' in model ? model.reports : ALL_EVENTS;
}

/** Returns a fault when a consumer wants events that the source does not report. */
export function eventFaults(model: SourceModel, scope: string, events: readonly RecordEvent[]): Fault[] {
  const reported = reportsOf(model);
  if (events.every((event) => reported.includes(event))) return [];
  return [{ field: 'events', rule: `must be among those that ${scope} reports: ${reported.join(', ')}` }];
}
