import { createHash } from 'node:crypto';

/* Names of actions, parameters and schemas, made from the names of a document. */

const MAX_NAME = 64;

/** Returns a name in snake case: `listOrders` and `orders/list` become list_orders and orders_list. */
export function snakeCase(name: string): string {
  return name
    .slice(0, 400)
    .normalize('NFKD')
    .replaceAll(/([a-z0-9])([A-Z])/g, '$1_$2')
    .replaceAll(/([A-Z]+)([A-Z][a-z])/g, '$1_$2')
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '_')
    .replaceAll(/^_+|_+$/g, '');
}

/** Returns the id of an action from its `operationId`, else from method and path. */
export function actionIdOf({ operationId, method, path }: Target): string {
  const own = operationId === undefined ? '' : snakeCase(operationId);
  return fitting(guarded(own === '' ? fromPath(method, path) : own), `${method} ${path}`);
}

interface Target {
  operationId: string | undefined;
  method: string;
  path: string;
}

/** Returns the name with a suffix that depends on method and path alone, for a second action of the same name. */
export function distinctId(actionId: string, { method, path }: Pick<Target, 'method' | 'path'>): string {
  return `${actionId.slice(0, MAX_NAME - 9)}_${hashOf(`${method} ${path}`)}`;
}

/** Returns a name that poses neither as a built-in tool (`…_svc`) nor as the raw call of a connector (`request`). */
function guarded(name: string): string {
  return name === 'request' || name.endsWith('_svc') ? `${name}_action` : name;
}

/** `GET /orders/{orderId}/lines` becomes get_orders_by_order_id_lines. */
function fromPath(method: string, path: string): string {
  const parts = path.split('/').map((part) => part.replaceAll(/\{([^{}]*)\}/g, ' by $1 '));
  return snakeCase([method.toLowerCase(), ...parts].join(' '));
}

function fitting(name: string, source: string): string {
  if (name.length <= MAX_NAME) return name;
  return `${name.slice(0, MAX_NAME - 9).replace(/_+$/, '')}_${hashOf(source)}`;
}

function hashOf(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 8);
}

/** Returns a name that the connector format accepts for a parameter; `page[size]` becomes page_size. */
export function fieldNameOf(wire: string): string {
  const plain = wire
    .slice(0, 400)
    .replaceAll(/[^a-zA-Z0-9_]+/g, '_')
    .replaceAll(/^_+|_+$/g, '');
  const name = /^[a-zA-Z_]/.test(plain) ? plain : `p_${plain}`;
  // Input objects inherit names such as constructor, so a missing value would seem to be given.
  const safe = name in Object.prototype ? `${name}_value` : name;
  return safe.length <= MAX_NAME ? safe : `${safe.slice(0, MAX_NAME - 9)}_${hashOf(wire)}`;
}

/** Returns the proposed name, with a suffix that depends on the source where it is taken. */
export function distinctName(proposed: string, source: string, taken: ReadonlySet<string>): string {
  return taken.has(proposed) ? `${proposed.slice(0, MAX_NAME - 18)}_${hashOf(source)}` : proposed;
}

/** Returns a free name: the proposed one, else with a place before it, else with a number. */
export function freeName(proposed: string, place: string, taken: { has(name: string): boolean }): string {
  if (!taken.has(proposed)) return proposed;
  const placed = `${place}_${proposed}`.slice(0, MAX_NAME);
  if (!taken.has(placed)) return placed;
  for (let count = 2; ; count++) {
    const numbered = `${placed.slice(0, MAX_NAME - 6)}_${count}`;
    if (!taken.has(numbered)) return numbered;
  }
}
