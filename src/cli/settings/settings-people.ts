import { asObject, type JsonObject } from '../../lib/json.ts';
import { RequestRefused } from '../faults.ts';
import { CREDENTIALS, recordsOf, USERS } from '../record-kinds.ts';
import type { Service } from '../service.ts';
import { textOf } from '../table.ts';

const MOST_ACCOUNTS = 1000;

/** Users and accounts of an environment. Each is read once. */
export interface People {
  /** Returns undefined for a user who was deleted. */
  usernameOf(userId: string): Promise<string | undefined>;
  /** Returns undefined where the environment has no such user. */
  userIdOf(username: string): Promise<string | undefined>;
  /** Returns the accounts of a user at an app. */
  accountsOf(userId: string, connectorId: string): Promise<JsonObject[]>;
}

export function openPeople(service: Service): People {
  const names = new Map<string, Promise<string | undefined>>();
  const ids = new Map<string, Promise<string | undefined>>();
  const accounts = new Map<string, Promise<JsonObject[]>>();
  return {
    usernameOf: (userId) => once(names, userId, () => readUsername(service, userId)),
    userIdOf: (username) => once(ids, username.toLowerCase(), () => findUserId(service, username)),
    async accountsOf(userId, connectorId) {
      const all = await once(accounts, userId, () => readAccounts(service, userId));
      return all.filter((one) => one['connectorId'] === connectorId);
    },
  };
}

function once<Value>(
  cache: Map<string, Promise<Value>>,
  key: string,
  read: () => Promise<Value>,
): Promise<Value> {
  const known = cache.get(key) ?? read();
  cache.set(key, known);
  return known;
}

async function readUsername(service: Service, userId: string): Promise<string | undefined> {
  const user = await found(service, `${USERS.path({})}/${encodeURIComponent(userId)}`);
  return user && textOf(user['username']);
}

async function findUserId(service: Service, username: string): Promise<string | undefined> {
  const { records } = await recordsOf(service, USERS, { filters: { username }, limit: 1 });
  const [user] = records;
  return user && textOf(user['userId']);
}

async function readAccounts(service: Service, userId: string): Promise<JsonObject[]> {
  return (await recordsOf(service, CREDENTIALS, { filters: { userId }, limit: MOST_ACCOUNTS })).records;
}

/** Returns the name of an account by which a file names it. */
export function accountName({ account, name }: JsonObject): string {
  return textOf(asObject(account)['name'] ?? asObject(account)['id'] ?? name);
}

/** Returns a record; undefined where there is none. */
export async function found(service: Service, path: string): Promise<JsonObject | undefined> {
  try {
    return asObject(await service.request({ path }));
  } catch (error) {
    if (error instanceof RequestRefused && error.code.endsWith('_not_found')) return undefined;
    throw error;
  }
}
