import { asObject, type Json, type JsonObject } from '../lib/json.ts';
import { RequestRefused } from './faults.ts';
import type { Request, Service } from './service.ts';

/** Members of a record that hold ids, and whose ids they are. */
export type NamedMembers = Readonly<Record<string, 'user' | 'server'>>;

/** Ids of one request, which is also the most that REST takes. */
const AT_ONCE = 50;

/**
 * Returns records with the names of users and servers in place of their ids. An id stays where its record is deleted,
 * and where the key may not read the names.
 */
export async function withNames(
  service: Service,
  records: readonly JsonObject[],
  members: NamedMembers = {},
): Promise<JsonObject[]> {
  const found = records.flatMap((record) =>
    Object.entries(members).map(([name, kind]) => ({ kind, id: record[name] })),
  );
  const idsOf = (kind: 'user' | 'server') =>
    new Set(found.flatMap((one) => (one.kind === kind && typeof one.id === 'string' ? [one.id] : [])));
  const names = new Map<Json | undefined, Json>([
    ...(await usernames(service, [...idsOf('user')])),
    ...(idsOf('server').size > 0 ? await serverNames(service) : []),
  ]);
  return records.map((record) =>
    Object.fromEntries(
      Object.entries(record).map(([name, value]) => [
        name,
        name in members ? (names.get(value) ?? value) : value,
      ]),
    ),
  );
}

async function usernames(service: Service, ids: readonly string[]): Promise<[string, Json][]> {
  const found: [string, Json][] = [];
  for (let first = 0; first < ids.length; first += AT_ONCE) {
    const userIds = ids.slice(first, first + AT_ONCE).join(',');
    const { data } = await readable(service, { path: '/users', query: { userIds, limit: String(AT_ONCE) } });
    found.push(...namesIn(data, 'userId', 'username'));
  }
  return found;
}

async function serverNames(service: Service): Promise<[string, Json][]> {
  const { servers } = await readable(service, { path: '/api/servers', query: { token: 'false' } });
  return namesIn(servers, 'serverId', 'name');
}

function namesIn(list: Json | undefined, id: string, name: string): [string, Json][] {
  const records = Array.isArray(list) ? list.map(asObject) : [];
  return records.map((record) => [String(record[id]), record[name] ?? null]);
}

/** Returns the answer of a request; an empty one where the key may not send it. */
async function readable(service: Service, request: Request): Promise<JsonObject> {
  try {
    return asObject(await service.request(request));
  } catch (error) {
    if (error instanceof RequestRefused) return {};
    throw error;
  }
}
