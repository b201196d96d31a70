import type { EventScope } from '../connectors/event-scopes.ts';
import { sha256 } from '../crypto/key-ring.ts';

const KINDS = {
  'commerce/customers': 'customer',
  'commerce/orders': 'order',
  'commerce/products': 'product',
} satisfies Record<EventScope, string>;

/**
 * Returns the id of a unified record: a mark of its connection, so that ids of two shops differ, and the app's own id.
 * So the record can be read by it, and no id has to be stored.
 */
export function unifiedId(scope: EventScope, connectionId: string, remoteId: string): string {
  return `${KINDS[scope]}_${mark(connectionId)}_${encoded(remoteId)}`;
}

/**
 * Returns the id of a product's variant. It includes the product's id, because some apps count variants per product.
 * No id of a record has a dot.
 */
export function unifiedVariantId(
  connectionId: string,
  { productId, variantId }: { productId: string; variantId: string },
): string {
  return `variant_${mark(connectionId)}_${encoded(productId)}.${encoded(variantId)}`;
}

/** Returns the app's id in a unified id; undefined for an id of another scope or connection. */
export function remoteIdOf(scope: EventScope, connectionId: string, id: string): string | undefined {
  const start = `${KINDS[scope]}_${mark(connectionId)}_`;
  if (!id.startsWith(start) || id.length > 500) return undefined;
  const remoteId = Buffer.from(id.slice(start.length), 'base64url').toString('utf8');
  return remoteId !== '' && unifiedId(scope, connectionId, remoteId) === id ? remoteId : undefined;
}

function encoded(remoteId: string): string {
  return Buffer.from(remoteId, 'utf8').toString('base64url');
}

/** Marks by connection: each record of a connection has the same mark. */
const marks = new Map<string, string>();
const MAX_MARKS = 10_000;

function mark(connectionId: string): string {
  let text = marks.get(connectionId);
  if (text === undefined) {
    text = sha256(connectionId)
      .replaceAll(/[^0-9A-Za-z]/g, '')
      .slice(0, 8);
    if (marks.size >= MAX_MARKS) marks.clear();
    marks.set(connectionId, text);
  }
  return text;
}
