import { asObject, type Json, type JsonObject } from '../lib/json.ts';
import { CommandError } from './faults.ts';
import { withNames, type NamedMembers } from './record-names.ts';
import type { Request, Service } from './service.ts';
import { membersOf, shortTime, tableOf, textOf, type Column } from './table.ts';

/** A kind of record that the command line lists and shows. */
export interface Kind {
  /** Word of the command: `servers`. */
  name: string;
  /** Path of the list, and of one record below it. */
  path(options: Filters): string;
  columns: readonly Column<JsonObject>[];
  /** Members with the ids of users and servers. A table shows their names. */
  named?: NamedMembers;
  /** Member with the id. */
  id: string;
  /** Member with the name by which people know a record. */
  label?: string;
  /** Whether its records hold an access token, which a request leaves out by `token=false`. Asking for one is audited. */
  hasToken?: true;
}

/** Filters of a list by their names in the query. `userId` of credentials is a part of the path. */
export type Filters = Record<string, string | undefined>;

const member =
  (name: string) =>
  (record: JsonObject): string =>
    textOf(record[name]);
const time =
  (name: string) =>
  (record: JsonObject): string =>
    shortTime(record[name]);

export const SERVERS: Kind = {
  name: 'servers',
  path: () => '/api/servers',
  named: { ownerUserId: 'user' },
  id: 'serverId',
  label: 'name',
  hasToken: true,
  columns: [
    ['server', member('serverId')],
    ['name', member('name')],
    ['enabled', member('enabled')],
    ['tools', member('toolMode')],
    ['restricted', member('hasRestrictions')],
    ['owner', member('ownerUserId')],
  ],
};

export const USERS: Kind = {
  name: 'users',
  path: () => '/users',
  id: 'userId',
  label: 'username',
  columns: [
    ['user', member('userId')],
    ['username', member('username')],
    ['enabled', member('enabled')],
    ['created', time('createdAt')],
  ],
};

export const CREDENTIALS: Kind = {
  name: 'credentials',
  path: ({ userId = '' }) => `/users/${encodeURIComponent(userId)}/credentials`,
  id: 'credentialId',
  columns: [
    ['credential', member('credentialId')],
    ['connector', member('connectorId')],
    ['account', ({ account, name }) => textOf(asObject(account)['name'] ?? name)],
    ['state', ({ state, reason }) => (reason ? `${textOf(state)}: ${textOf(reason)}` : textOf(state))],
    ['last used', time('lastUsedAt')],
  ],
};

export const EXECUTIONS: Kind = {
  name: 'executions',
  path: () => '/api/executions',
  named: { userId: 'user', serverId: 'server' },
  id: 'executionId',
  columns: [
    ['time', time('at')],
    ['action', ({ connectorId, actionId }) => `${textOf(connectorId)}.${textOf(actionId)}`],
    ['outcome', ({ outcome, errorCode }) => [outcome, errorCode].filter(Boolean).map(textOf).join(': ')],
    ['ms', member('durationMs')],
    ['user', member('userId')],
    ['server', member('serverId')],
    ['caller', member('caller')],
    ['execution', member('executionId')],
  ],
};

export const WORKFLOWS: Kind = {
  name: 'workflows',
  path: () => '/workflows',
  id: 'workflowId',
  label: 'name',
  columns: [
    ['workflow', member('workflowId')],
    ['name', member('name')],
    ['version', ({ version, draft }) => `${textOf(version)}${draft === true ? ' (draft)' : ''}`],
    ['connectors', ({ connectors }) => (Array.isArray(connectors) ? connectors.map(textOf).join(', ') : '-')],
    ['updated', time('updatedAt')],
  ],
};

export const AUDIT: Kind = {
  name: 'acts of administration',
  path: () => '/api/audit',
  id: 'auditId',
  columns: [
    ['time', time('at')],
    ['operation', member('operation')],
    ['target', member('target')],
    ['status', member('status')],
    ['caller', ({ caller, keyName, personName }) => textOf(personName ?? keyName ?? caller)],
    ['entry', member('auditId')],
  ],
};

/** Returns the runs of a workflow as a kind. */
export function runsAt(path: string): Kind {
  return {
    name: 'runs',
    path: () => path,
    named: { userId: 'user' },
    id: 'runId',
    columns: [
      ['run', member('runId')],
      ['status', member('status')],
      ['trigger', member('trigger')],
      ['user', member('userId')],
      ['created', time('createdAt')],
      ['ended', time('endedAt')],
      ['error', ({ error }) => errorText(error)],
    ],
  };
}

/** Returns the sentence of an error in a record. */
export function errorText(error: unknown): string {
  const { message, error: sentence } = asObject(error);
  return textOf(message ?? sentence ?? error);
}

const PAGE = 50;

/** A part of a list: the most records, and where it begins as the query has it. */
export interface ListPart {
  limit: number;
  start?: Filters;
}

/** The first records of a list, the last answer of REST, and the query of the next page if there is one. */
interface FoundRecords {
  records: JsonObject[];
  answer: JsonObject;
  next: Filters | undefined;
}

/** Returns a part of a list, in as many requests as it needs. */
export async function recordsOf(
  service: Service,
  kind: Pick<Kind, 'path' | 'hasToken'>,
  {
    filters = {},
    limit,
    start = {},
    showToken,
  }: ListPart & { filters?: Filters; showToken?: boolean | undefined },
): Promise<FoundRecords> {
  const path = kind.path(filters);
  // The path names the user of credentials, and their route wants the user in a header too.
  const { userId, ...others } = filters;
  const query = { ...(kind === CREDENTIALS ? others : filters), ...tokenQuery(kind, showToken) };
  const skipped = Number(start['offset'] ?? 0);
  const records: JsonObject[] = [];
  let position = start;
  for (;;) {
    const wanted = Math.min(PAGE, limit - records.length);
    const answer = asObject(
      await service.request({
        path,
        ...(kind === CREDENTIALS ? { userId } : {}),
        query: { ...query, ...position, limit: String(wanted) },
      }),
    );
    const { found, after } = pageOf(answer, skipped + records.length);
    records.push(...found);
    if (after === undefined || records.length >= limit) return { records, answer, next: after };
    position = after;
  }
}

/** Returns the query of a request that gets no access token unless it is wanted. */
export function tokenQuery({ hasToken }: Pick<Kind, 'hasToken'>, showToken = false): Filters {
  return hasToken ? { token: String(showToken) } : {};
}

/** Yields all pages of a list. */
export async function* pagesOf(service: Service, kind: Kind, filters: Filters): AsyncGenerator<JsonObject[]> {
  let next: Filters | undefined = {};
  while (next) {
    const query: Filters = { ...filters, ...next, limit: String(PAGE) };
    const answer = asObject(await service.request({ path: kind.path(filters), query }));
    const { found, after } = pageOf(answer, 0);
    yield found;
    next = after;
  }
}

/** Returns the records of a page, and the query of the next one. Lists of servers have a count in place of a cursor. */
function pageOf(answer: JsonObject, before: number): { found: JsonObject[]; after: Filters | undefined } {
  const { data, servers, count, pagination } = answer;
  const found = listOf(data ?? servers).map(asObject);
  if (typeof count === 'number') {
    const offset = before + found.length;
    return { found, after: offset < count && found.length > 0 ? { offset: String(offset) } : undefined };
  }
  const { hasMore, nextCursor, nextOffset } = asObject(pagination);
  if (hasMore !== true) return { found, after: undefined };
  return {
    found,
    after: nextCursor === undefined ? { offset: textOf(nextOffset) } : { cursor: textOf(nextCursor) },
  };
}

function listOf(value: Json | undefined): Json[] {
  return Array.isArray(value) ? value : [];
}

const MOST_NAMED = 10_000;

/**
 * Returns the id of a record that is named by its id or by its name.
 * @throws CommandError where none or several have the name.
 */
export async function idOf(service: Service, kind: Kind, named: string): Promise<string> {
  const { id, label } = kind;
  if (label === undefined || /^[a-z]{2,4}_[A-Za-z0-9]{22}$/.test(named)) return named;
  const filters = kind === USERS ? { username: named } : {};
  const { records } = await recordsOf(service, kind, { filters, limit: MOST_NAMED });
  const found = records.filter((record) => same(record[label], named));
  const [only] = found;
  if (found.length === 1 && only) return textOf(only[id]);
  const what = kind.name.slice(0, -1);
  throw new CommandError(
    found.length === 0
      ? `There is no ${what} "${named}". \`gatehouse ${kind.name} list\` shows them.`
      : `${found.length} ${kind.name} are called "${named}". Name one by its id: ${found.map((one) => textOf(one[id])).join(', ')}.`,
  );
}

function same(value: Json | undefined, named: string): boolean {
  return typeof value === 'string' && value.toLowerCase() === named.toLowerCase();
}

/** Options that every command of records has. */
export interface Output {
  json?: boolean;
}

/** Runs `gatehouse <kind> list`. As JSON it prints the answer of REST with all the records. */
export async function listRecords(
  service: Service,
  kind: Kind,
  {
    filters = {},
    page,
    json,
    showToken,
  }: Output & { filters?: Filters; page: ListPart; showToken?: boolean | undefined },
): Promise<number> {
  const { records, answer, next } = await recordsOf(service, kind, { filters, ...page, showToken });
  if (json) {
    const member = 'servers' in answer ? 'servers' : 'data';
    process.stdout.write(`${JSON.stringify({ ...answer, [member]: records })}\n`);
    return 0;
  }
  if (records.length > 0)
    process.stdout.write(tableOf(kind.columns, await withNames(service, records, kind.named)));
  else process.stderr.write(`There are no ${kind.name} to list.\n`);
  const [option] = Object.entries(next ?? {});
  if (option) process.stderr.write(`There are more. The next page: --${option.join(' ')}\n`);
  return 0;
}

/** Sends a request and prints the record of its answer, as lines or as JSON. */
export async function showRecord(service: Service, request: Request, { json }: Output): Promise<number> {
  const record = await service.request(request);
  process.stdout.write(json ? `${JSON.stringify(record)}\n` : membersOf(asObject(record)));
  return 0;
}
