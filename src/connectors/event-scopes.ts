/** The unified models whose changes are reported, without the checks of connector files. */
export const SCOPES_OF_EVENTS = ['commerce/customers', 'commerce/orders', 'commerce/products'] as const;
export type EventScope = (typeof SCOPES_OF_EVENTS)[number];
