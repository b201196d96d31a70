import { asObject, isJsonObject, type JsonObject } from '../../lib/json.ts';

/* Keys that match a record with an entry of a file. Ids cannot, because they differ between environments. */

interface SubscriptionNames {
  address: string;
  scope: string;
  connectorId: string;
  user: string;
  account?: string | undefined;
}

export function subscriptionKey({
  address,
  scope,
  connectorId,
  user,
  account = '',
}: SubscriptionNames): string {
  return [address, scope, connectorId, user.toLowerCase(), account].join('\n');
}

/** Returns the restrictions with each user id replaced. A user without a replacement is left out. */
export function withUsers(restrictions: JsonObject, replacement: ReadonlyMap<string, string>): JsonObject {
  const { users } = restrictions;
  if (!isJsonObject(users)) return restrictions;
  const lists = Object.entries(users).map(([name, list]) => [
    name,
    Array.isArray(list) ? list.flatMap((user) => replacement.get(String(user)) ?? []) : list,
  ]);
  return { ...restrictions, users: Object.fromEntries(lists) };
}

/** Returns the users of restrictions with the paths of their entries. */
export function usersIn(restrictions: unknown): { path: string; user: string }[] {
  const users = asObject(asObject(restrictions)['users']);
  return ['allowedIds', 'blockedIds'].flatMap((name) => {
    const list = users[name];
    return Array.isArray(list)
      ? list.map((user, index) => ({ path: `users.${name}.${index}`, user: String(user) }))
      : [];
  });
}
