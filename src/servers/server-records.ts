import type { Selectable } from 'kysely';
import type { Base } from '../base.ts';
import { hashToken, isAccessToken, newAccessToken } from '../crypto/tokens.ts';
import { DAY } from '../lib/clock.ts';
import { GatehouseError } from '../lib/errors.ts';
import { newId } from '../lib/ids.ts';
import { noteChange } from '../store/change-notes.ts';
import { memoByText } from '../lib/memo.ts';
import { isPostgres, perDatabase, runPrepared } from '../store/prepared.ts';
import { orExists } from '../store/open-database.ts';
import type { Db, DbOrTx, Tables } from '../store/schema.ts';
import type { Environment } from '../store/environments.ts';
import { budgetsSchema, circuitSchema, DEFAULT_CIRCUIT, type Budget, type Circuit } from './call-limits.ts';
import { assertCoherent, restrictionsSchema, type Restrictions } from './restrictions.ts';
import { boundTo } from '../store/sealed-columns.ts';

type ServerContext = Pick<Base, 'db' | 'clock' | 'keys' | 'hashKey'>;
export type DuplicateGuard = 'on' | 'off';
export type ToolMode = 'auto' | 'direct' | 'discovery';
export type CodeMode = 'auto' | 'on' | 'off';

/** An MCP server. Times are epoch milliseconds. */
export type McpServer = ReturnType<typeof toServer>;

export interface ServerFields {
  name: string;
  description?: string | undefined;
  customInstructions?: string | undefined;
  restrictions?: Restrictions | undefined;
  toolMode?: ToolMode | undefined;
  codeMode?: CodeMode | undefined;
  enabled?: boolean | undefined;
  pinTools?: boolean | undefined;
  budgets?: readonly Budget[] | undefined;
  duplicateGuard?: DuplicateGuard | undefined;
  circuit?: Circuit | null | undefined;
}

/** The limit of servers that the JWTs of one user may create. */
export const MAX_BOUND_SERVERS = 20;

/**
 * Creates a server and its access token, which is returned only here and stored sealed.
 * @throws GatehouseError `server_exists` when the name is taken (case-insensitive), `invalid_request`,
 * `limit_reached` when JWTs of the owner have created MAX_BOUND_SERVERS already.
 */
export async function createServer(
  context: ServerContext,
  fields: ServerFields & {
    environment: Environment;
    ownerUserId?: string | undefined;
    bound: boolean;
    tokenExpiresInDays?: number | undefined;
  },
): Promise<{ server: McpServer; accessToken: string }> {
  const { environment, restrictions = {} } = fields;
  assertCoherent(restrictions);
  const now = context.clock.now();
  const serverId = newId('srv');
  const token = tokenColumns(context, { environment, serverId, days: fields.tokenExpiresInDays });
  const row = {
    server_id: serverId,
    environment,
    name: fields.name,
    name_key: nameKey(fields.name),
    description: fields.description ?? '',
    custom_instructions: fields.customInstructions ?? '',
    restrictions: JSON.stringify(restrictions),
    tool_mode: fields.toolMode ?? 'auto',
    code_mode: fields.codeMode ?? 'auto',
    owner_user_id: fields.ownerUserId ?? null,
    bound: fields.bound ? 1 : 0,
    ...token.columns,
    enabled: fields.enabled === false ? 0 : 1,
    pin_tools: fields.pinTools ? 1 : 0,
    budgets: JSON.stringify(fields.budgets ?? []),
    duplicate_guard: fields.duplicateGuard ?? 'on',
    circuit: JSON.stringify(fields.circuit === undefined ? DEFAULT_CIRCUIT : fields.circuit),
    created_at: now,
    updated_at: now,
  };
  const insert = (db: DbOrTx) => rejectTakenName(db.insertInto('servers').values(row).execute(), fields.name);
  await (fields.bound ? withinLimit(context.db, row, insert) : insert(context.db));
  return { server: toServer(row), accessToken: token.accessToken };
}

/**
 * Runs `insert` unless the owner has reached MAX_BOUND_SERVERS. Concurrent calls for one owner wait for each other.
 */
async function withinLimit(
  db: Db,
  { environment, owner_user_id: owner }: Pick<Tables['servers'], 'environment' | 'owner_user_id'>,
  insert: (tx: DbOrTx) => Promise<unknown>,
): Promise<void> {
  await db.transaction().execute(async (tx) => {
    // SQLite has one writer; PostgreSQL locks the owner's row.
    if (isPostgres(db))
      await tx.selectFrom('users').select('user_id').where('user_id', '=', owner).forUpdate().execute();
    const { count } = await tx
      .selectFrom('servers')
      .select((e) => e.fn.countAll<number>().as('count'))
      .where('environment', '=', environment)
      .where('owner_user_id', '=', owner)
      .where('bound', '=', 1)
      .executeTakeFirstOrThrow();
    if (Number(count) >= MAX_BOUND_SERVERS) throw limitReached();
    await insert(tx);
  });
}

function limitReached(): GatehouseError {
  return new GatehouseError(
    'limit_reached',
    `JWTs of this user have created ${MAX_BOUND_SERVERS} MCP servers, which is the limit. Delete one first.`,
    { details: { limit: MAX_BOUND_SERVERS } },
  );
}

/** Prepared, because to build the statement takes longer than to run it. */
const serverById = perDatabase((db) =>
  db
    .selectFrom('servers')
    .selectAll()
    .where('server_id', '=', '')
    .where('environment', '=', 'development')
    .compile(),
);

export async function findServer(
  db: DbOrTx,
  environment: Environment,
  serverId: string,
): Promise<McpServer | undefined> {
  const { rows } = await runPrepared(db, serverById(db), [serverId, environment]);
  return rows[0] && toServer(rows[0]);
}

/** Finds a server by id, else by name (case-insensitive), for the command line. */
export async function findServerByIdOrName(
  db: DbOrTx,
  environment: Environment,
  idOrName: string,
): Promise<McpServer | undefined> {
  const row = await db
    .selectFrom('servers')
    .selectAll()
    .where('environment', '=', environment)
    .where((e) => e.or([e('server_id', '=', idOrName), e('name_key', '=', nameKey(idOrName))]))
    .orderBy((e) => e.case().when('server_id', '=', idOrName).then(0).else(1).end())
    .limit(1)
    .executeTakeFirst();
  return row && toServer(row);
}

/** Returns the server of an access token, expired or not. */
export async function findServerByToken(
  { db, hashKey }: Pick<Base, 'db' | 'hashKey'>,
  accessToken: string,
): Promise<McpServer | undefined> {
  if (!isAccessToken(accessToken)) return undefined;
  const row = await db
    .selectFrom('servers')
    .selectAll()
    .where('token_hash', '=', hashToken(hashKey, accessToken))
    .executeTakeFirst();
  return row && toServer(row);
}

/** Returns the id of the server that was created last; undefined without servers. */
export async function newestServerId(db: DbOrTx, environment: Environment): Promise<string | undefined> {
  const row = await db
    .selectFrom('servers')
    .select('server_id')
    .where('environment', '=', environment)
    .orderBy('created_at', 'desc')
    .orderBy('server_id', 'desc')
    .limit(1)
    .executeTakeFirst();
  return row?.server_id;
}

/** Prepared for each kind of filter, because to build the statements takes longer than to run them. */
const serverLists = perDatabase((db) =>
  memoByText(4, (filters) => {
    let query = db.selectFrom('servers').where('environment', '=', 'development');
    if (filters.includes('owner')) query = query.where('owner_user_id', '=', '');
    if (filters.includes('bound')) query = query.where('bound', '=', 0);
    // The walk up to a deep offset reads only the index; only rows of the page are read.
    const page = query.select('server_id').orderBy('created_at').orderBy('server_id').limit(1).offset(0);
    const rows = db.selectFrom('servers').selectAll().where('server_id', 'in', page);
    return {
      count: query.select((e) => e.fn.countAll<number>().as('count')).compile(),
      rows: rows.orderBy('created_at').orderBy('server_id').compile(),
    };
  }),
);

/**
 * Returns a page of servers in order of creation, and their total count. `bound` selects servers that JWTs created.
 */
export async function listServers(
  db: DbOrTx,
  environment: Environment,
  filter: { ownerUserId?: string | undefined; bound?: boolean; limit: number; offset: number },
): Promise<{ servers: McpServer[]; count: number }> {
  const { ownerUserId, bound } = filter;
  const filters = `${ownerUserId === undefined ? '' : 'owner '}${bound === undefined ? '' : 'bound'}`;
  const lists = serverLists(db)(filters);
  const values: unknown[] = [environment];
  if (ownerUserId !== undefined) values.push(ownerUserId);
  if (bound !== undefined) values.push(bound ? 1 : 0);
  const counted = await runPrepared(db, lists.count, values);
  const { rows } = await runPrepared(db, lists.rows, [...values, filter.limit, filter.offset]);
  return { servers: rows.map(toServer), count: counted.rows[0]?.count ?? 0 };
}

/** Changes the given fields; `restrictions` and `budgets` are replaced completely. @throws `server_exists`, `invalid_request` */
export async function updateServer(
  { db, clock }: ServerContext,
  server: McpServer,
  changes: Partial<ServerFields>,
): Promise<McpServer> {
  if (changes.restrictions) assertCoherent(changes.restrictions);
  const row = await rejectTakenName(
    db
      .updateTable('servers')
      .set({
        ...(changes.name !== undefined ? { name: changes.name, name_key: nameKey(changes.name) } : {}),
        ...(changes.description !== undefined ? { description: changes.description } : {}),
        ...(changes.customInstructions !== undefined
          ? { custom_instructions: changes.customInstructions }
          : {}),
        ...(changes.restrictions !== undefined ? { restrictions: JSON.stringify(changes.restrictions) } : {}),
        ...(changes.toolMode !== undefined ? { tool_mode: changes.toolMode } : {}),
        ...(changes.codeMode !== undefined ? { code_mode: changes.codeMode } : {}),
        ...(changes.enabled !== undefined ? { enabled: changes.enabled ? 1 : 0 } : {}),
        ...(changes.pinTools !== undefined ? { pin_tools: changes.pinTools ? 1 : 0 } : {}),
        ...(changes.budgets !== undefined ? { budgets: JSON.stringify(changes.budgets) } : {}),
        ...(changes.duplicateGuard !== undefined ? { duplicate_guard: changes.duplicateGuard } : {}),
        ...(changes.circuit !== undefined ? { circuit: JSON.stringify(changes.circuit) } : {}),
        updated_at: clock.now(),
      })
      .where('server_id', '=', server.serverId)
      .returningAll()
      .executeTakeFirst(),
    changes.name ?? '',
  );
  if (!row) throw serverNotFound(server.serverId);
  await noteServerChange({ db, clock }, server);
  return toServer(row);
}

/** Creates a new access token and revokes the old one. Without `tokenExpiresInDays` it does not expire. */
export async function rotateAccessToken(
  context: ServerContext,
  server: McpServer,
  tokenExpiresInDays: number | undefined,
): Promise<{ server: McpServer; accessToken: string }> {
  const { environment, serverId } = server;
  const token = tokenColumns(context, { environment, serverId, days: tokenExpiresInDays });
  const row = await context.db
    .updateTable('servers')
    .set({ ...token.columns, updated_at: context.clock.now() })
    .where('server_id', '=', serverId)
    .returningAll()
    .executeTakeFirst();
  if (!row) throw serverNotFound(serverId);
  await noteServerChange(context, server);
  return { server: toServer(row), accessToken: token.accessToken };
}

/** Deletes a server with its stored results. */
export async function deleteServer(context: Pick<Base, 'db' | 'clock'>, server: McpServer): Promise<void> {
  const { numDeletedRows } = await context.db
    .deleteFrom('servers')
    .where('server_id', '=', server.serverId)
    .executeTakeFirst();
  if (numDeletedRows === 0n) throw serverNotFound(server.serverId);
  await noteServerChange(context, server);
}

function noteServerChange({ db, clock }: Pick<Base, 'db' | 'clock'>, server: McpServer): Promise<void> {
  const { environment, serverId } = server;
  return noteChange(db, clock.now(), { environment, kind: 'server', subject: serverId });
}

/** Returns the access token, for callers that may see it. */
export function openAccessToken({ keys }: Pick<Base, 'keys'>, server: McpServer): string {
  return keys.open(server.tokenSealed, tokenBinding(server.environment, server.serverId));
}

export function serverNotFound(serverId: string): GatehouseError {
  return new GatehouseError('server_not_found', `There is no MCP server "${serverId}" in this environment.`);
}

function tokenColumns(
  { keys, hashKey, clock }: ServerContext,
  { environment, serverId, days }: { environment: Environment; serverId: string; days: number | undefined },
) {
  const accessToken = newAccessToken();
  return {
    accessToken,
    columns: {
      token_hash: hashToken(hashKey, accessToken),
      token_sealed: keys.seal(accessToken, tokenBinding(environment, serverId)),
      token_expires_at: days === undefined ? null : clock.now() + days * DAY,
    },
  };
}

function tokenBinding(environment: Environment, serverId: string): string {
  return boundTo('servers.token_sealed', { environment, server_id: serverId });
}

function nameKey(name: string): string {
  return name.trim().normalize('NFC').toLowerCase();
}

function rejectTakenName<T>(write: Promise<T>, name: string): Promise<T> {
  return orExists(write, 'server_exists', `An MCP server named "${name}" exists in this environment.`);
}

function toServer(row: Selectable<Tables['servers']>) {
  return {
    serverId: row.server_id,
    environment: row.environment,
    name: row.name,
    description: row.description,
    customInstructions: row.custom_instructions,
    restrictions: restrictionsSchema.parse(JSON.parse(row.restrictions)),
    toolMode: row.tool_mode,
    /** Whether programs are offered; `auto`: for many actions. */
    codeMode: row.code_mode,
    ownerUserId: row.owner_user_id,
    /** Created with a JWT: no other user may use it. */
    bound: row.bound === 1,
    enabled: row.enabled === 1,
    /** Whether it shows only definitions that the operator has approved. */
    pinTools: row.pin_tools === 1,
    budgets: budgetsSchema.parse(JSON.parse(row.budgets)),
    /** Whether a repeated write over MCP is held. */
    duplicateGuard: row.duplicate_guard,
    circuit: circuitSchema.parse(JSON.parse(row.circuit)),
    /** Expiry of its access token, epoch ms; null for never. */
    tokenExpiresAt: row.token_expires_at,
    /** The access token, sealed; see openAccessToken. */
    tokenSealed: row.token_sealed,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
  };
}
