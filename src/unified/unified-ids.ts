import { isUnifiedScope, nameInFile, type EventScope, type SourceScope } from '../connectors/event-scopes.ts';
import { memoByText } from '../lib/memo.ts';
import { sha256 } from '../lib/sha256.ts';

const KINDS = {
  'commerce/customers': 'customer',
  'commerce/orders': 'order',
  'commerce/products': 'product',
  'crm/contacts': 'contact',
  'crm/companies': 'company',
  'crm/deals': 'deal',
  'accounting/contacts': 'accounting_contact',
  'accounting/invoices': 'invoice',
  'accounting/payments': 'payment',
  'ticketing/tickets': 'ticket',
} satisfies Record<EventScope, string>;

/**
 * Returns the id of a unified record: a mark of its connection, so that ids of two shops differ, and the app's own id.
 * So the record can be read by it, and no id has to be stored.
 */
export function unifiedId(scope: SourceScope, connectionId: string, remoteId: string): string {
  return `${kindOf(scope)}_${mark(connectionId)}_${encoded(remoteId)}`;
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
export function remoteIdOf(scope: SourceScope, connectionId: string, id: string): string | undefined {
  const start = `${kindOf(scope)}_${mark(connectionId)}_`;
  if (!id.startsWith(start) || id.length > 500) return undefined;
  const remoteId = Buffer.from(id.slice(start.length), 'base64url').toString('utf8');
  return remoteId !== '' && unifiedId(scope, connectionId, remoteId) === id ? remoteId : undefined;
}

/** Returns the beginning of the ids of a scope. An event source has its name: `message_posted`. */
function kindOf(scope: SourceScope): string {
  return isUnifiedScope(scope) ? KINDS[scope] : nameInFile(scope).replaceAll('.', '_');
}

function encoded(remoteId: string): string {
  return Buffer.from(remoteId, 'utf8').toString('base64url');
}

const MAX_MARKS = 2000;
/** Returns the mark of a connection; each of its records has the same. */
const mark = memoByText(MAX_MARKS, (connectionId) =>
  sha256(connectionId)
    .replaceAll(/[^0-9A-Za-z]/g, '')
    .slice(0, 8),
);
