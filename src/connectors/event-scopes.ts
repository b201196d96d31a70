import { z } from 'zod';

/** The unified models whose changes are reported. */
export const SCOPES_OF_EVENTS = [
  'commerce/customers',
  'commerce/orders',
  'commerce/products',
  'crm/contacts',
  'crm/companies',
  'crm/deals',
  'accounting/contacts',
  'accounting/invoices',
  'accounting/payments',
  'ticketing/tickets',
] as const;
export const eventScope = z.enum(SCOPES_OF_EVENTS);
export type EventScope = (typeof SCOPES_OF_EVENTS)[number];

/** Scope of the events of an account: a unified model, or `<connectorId>/<event source>` of its connector file. */
export type SourceScope = EventScope | `${string}/${string}`;

/** Name of an event source in a connector file: `message.posted`. */
export const EVENT_SOURCE_NAME = /^[a-z][a-z0-9]*([._][a-z0-9]+)*$/;
const SOURCE_SCOPE = /^[a-z0-9-]{1,32}\/[a-z][a-z0-9._]{0,63}$/;

/** Returns whether a text has the form of a scope. The connector decides whether it has that scope. */
export function isSourceScope(text: string): text is SourceScope {
  return SOURCE_SCOPE.test(text);
}

/** Scope of a source: a unified model, or `<connectorId>/<event source>`. */
export const sourceScope = z
  .string()
  .refine(isSourceScope, 'must be a unified model such as commerce/orders, or <connectorId>/<event source>');

/** Returns whether a scope is a unified model. */
export function isUnifiedScope(scope: string): scope is EventScope {
  return SCOPES_OF_EVENTS.some((one) => one === scope);
}

/** Returns the scope of an event source of a connector. */
export function scopeOfSource(connectorId: string, name: string): SourceScope {
  return `${connectorId}/${name}`;
}

/** Returns the part of a scope that connector files name: the unified model itself, or the event source. */
export function nameInFile(scope: SourceScope): string {
  return isUnifiedScope(scope) ? scope : scope.slice(scope.indexOf('/') + 1);
}
