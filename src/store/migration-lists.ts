import type { Transaction } from 'kysely';
import type { Tables } from './schema.ts';
import { index } from './tables.ts';

/** The orders in which users and servers are listed. Without them each page sorts the whole table. */
export async function listOrders(tx: Transaction<Tables>): Promise<void> {
  await index(tx, 'users', ['environment', 'created_at', 'user_id']);
  await index(tx, 'servers', ['environment', 'created_at', 'server_id']);
  await index(tx, 'servers', ['environment', 'owner_user_id', 'created_at', 'server_id']);
}
