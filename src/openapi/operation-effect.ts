import { snakeCase } from './action-names.ts';
import { memberOf } from './node.ts';
import type { Operation } from './operation.ts';

const DELETES = new Set(['delete', 'remove', 'purge', 'destroy', 'erase', 'wipe', 'revoke', 'terminate']);
const WRITES = new Set([
  'create',
  'update',
  'send',
  'set',
  'add',
  'post',
  'put',
  'insert',
  'upload',
  'invite',
]);
const SEARCHES = new Set(['search', 'query', '_search', 'lookup']);
const ORDER = ['read', 'write', 'destructive'];

type Effect = 'read' | 'write' | 'destructive';

/**
 * Returns the effect of an operation where it differs from that of its method. Names raise it. They lower it only for
 * a POST to a path that ends in `search` or `query`. The document's own `x-gatehouse-effect` can only raise it.
 */
export function effectFor({ method, path, operationId, node }: Operation): Effect | undefined {
  const usual =
    method === 'GET' || method === 'HEAD' ? 'read' : method === 'DELETE' ? 'destructive' : 'write';
  const named = fromNames(method, path, operationId) ?? usual;
  const hint = memberOf(node, 'x-gatehouse-effect').value;
  const effect = ORDER.indexOf(String(hint)) > ORDER.indexOf(named) ? String(hint) : named;
  if (effect === usual) return undefined;
  return effect === 'read' || effect === 'write' ? effect : 'destructive';
}

function fromNames(method: string, path: string, operationId: string | undefined): Effect | undefined {
  const last = path.split('/').findLast((part) => part !== '' && !part.includes('{')) ?? '';
  const words = snakeCase(last).split('_');
  const idWords = snakeCase(operationId ?? '').split('_');
  // slack's `chat.delete`, and `deleteUser` or `users/remove-email`.
  const verbs = [words.at(0), words.at(-1), idWords.at(0)].filter((word) => word !== undefined);
  if (method === 'DELETE') return undefined;
  if (verbs.some((word) => DELETES.has(word))) return 'destructive';
  if (method === 'GET' && idWords.at(0) !== undefined && WRITES.has(idWords.at(0) ?? '')) return 'write';
  if (method === 'POST' && SEARCHES.has(last.toLowerCase()) && path.endsWith(last)) return 'read';
  return undefined;
}
