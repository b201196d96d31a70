import { randomUUID } from 'node:crypto';
import { readConfig } from '../config.ts';
import type { OpenContext } from '../context.ts';
import { rotateApiKey } from '../identity/api-keys.ts';
import {
  createNamedKey,
  keyNotFound,
  keyView,
  listKeys,
  revokeNamedKey,
  rotateNamedKey,
  type KeyMaker,
  type KeyRecord,
} from '../identity/named-keys.ts';
import { isScope, KEY_SCOPES } from '../identity/scopes.ts';
import { isoTime, SECOND } from '../lib/clock.ts';
import { openStarted } from './started.ts';
import { shortTime, tableOf, type Column } from './table.ts';
import { ENVIRONMENTS, type Environment } from '../store/environments.ts';

const PAGE = 50;
/** The operator of the store may grant every scope. */
const OPERATOR: KeyMaker = { scopes: 'all' };

export function isEnvironment(text: string): text is Environment {
  return ENVIRONMENTS.some((environment) => environment === text);
}

/**
 * Runs `gatehouse keys rotate` with an environment. It prints only the new key on standard output.
 * @throws CommandError before the first start, which makes the keys of both environments and shows them.
 */
export function rotate(environment: Environment): Promise<number> {
  return withStore(async (context) => {
    const key = await rotateApiKey(context, environment);
    await audit(context, { environment, operation: 'rotateKey', target: undefined });
    process.stdout.write(`${key}\n`);
    process.stderr.write(
      `The ${environment} API key is new; the old one has ended. It is not shown again.\n`,
    );
  });
}

/** Runs `gatehouse keys rotate` with the id of a named key. @throws GatehouseError as rotateNamedKey(). */
export function rotateNamed(keyId: string, overlapSeconds: number): Promise<number> {
  return withStore(async (context) => {
    const environment = await environmentOf(context, keyId);
    const overlapMs = overlapSeconds * SECOND;
    const { key, name } = await rotateNamedKey(context, OPERATOR, { environment, keyId, overlapMs });
    await audit(context, { environment, operation: 'rotateNamedKey', target: keyId });
    process.stdout.write(`${key}\n`);
    const end = overlapSeconds === 0 ? 'has ended' : `ends in ${overlapSeconds} seconds`;
    process.stderr.write(`The API key "${name}" is new; the old one ${end}. It is not shown again.\n`);
  });
}

/** The options of `gatehouse keys create`. */
export interface CreateOptions {
  name: string;
  scopes: string;
  expiresDays?: string;
  environment: string;
}

type KeyInput = Parameters<typeof createNamedKey>[2];

/** Returns the checked options of `gatehouse keys create`, or a message about the wrong one. */
export function readCreateOptions(options: CreateOptions): KeyInput | string {
  const { environment } = options;
  const name = options.name.trim();
  if (!isEnvironment(environment)) return '--environment must be development or production';
  if (name === '' || name.length > 100) return '--name must be 1 to 100 characters';
  const scopes = options.scopes.split(',').map((scope) => scope.trim());
  const unknown = scopes.filter((scope) => !KEY_SCOPES.some((one) => one === scope));
  if (unknown.length > 0)
    return `--scopes has no scope '${unknown.join(', ')}'. The scopes are: ${KEY_SCOPES.join(', ')}`;
  const days = options.expiresDays === undefined ? undefined : Number(options.expiresDays);
  if (days !== undefined && !(Number.isInteger(days) && days >= 1 && days <= 3650))
    return '--expires-days must be a whole number from 1 to 3650';
  return { environment, name, scopes: scopes.filter(isScope), expiresInDays: days };
}

/** Runs `gatehouse keys create`. It prints only the key on standard output. @throws as createNamedKey(). */
export function create(wanted: KeyInput): Promise<number> {
  return withStore(async (context) => {
    const { key, keyId, environment, name, expiresAt } = await createNamedKey(context, OPERATOR, wanted);
    await audit(context, { environment, operation: 'createKey', target: keyId });
    process.stdout.write(`${key}\n`);
    const end = expiresAt === null ? 'It does not expire' : `It expires at ${isoTime(expiresAt)}`;
    process.stderr.write(
      `The ${environment} API key "${name}" is ${keyId}. ${end}. It is not shown again.\n`,
    );
  });
}

/** Runs `gatehouse keys revoke`. @throws GatehouseError as revokeNamedKey(). */
export function revoke(keyId: string): Promise<number> {
  return withStore(async (context) => {
    const environment = await environmentOf(context, keyId);
    await revokeNamedKey(context, environment, keyId);
    await audit(context, { environment, operation: 'revokeKey', target: keyId });
    process.stderr.write('The API key is revoked.\n');
  });
}

/** Runs `gatehouse keys list`: prints the keys of one environment, or of both. */
export function list(environment: Environment | undefined, { json }: { json: boolean }): Promise<number> {
  return withStore(async (context) => {
    const keys: KeyRecord[] = [];
    for (const one of environment ? [environment] : ENVIRONMENTS) keys.push(...(await keysOf(context, one)));
    if (json)
      process.stdout.write(
        `${JSON.stringify({ data: keys.map(keyView), pagination: { hasMore: false } })}\n`,
      );
    else process.stdout.write(tableOf(COLUMNS, keys.map(keyView)));
  });
}

async function keysOf(context: OpenContext, environment: Environment): Promise<KeyRecord[]> {
  const all: KeyRecord[] = [];
  for (let offset = 0; ; offset += PAGE) {
    const { keys, hasMore } = await listKeys(context, environment, { limit: PAGE, offset });
    all.push(...keys);
    if (!hasMore) return all;
  }
}

const COLUMNS: readonly Column<ReturnType<typeof keyView>>[] = [
  ['key', ({ keyId }) => keyId],
  ['environment', ({ environment }) => environment],
  ['name', ({ name }) => name],
  ['status', ({ status }) => status],
  ['last used', ({ lastUsedAt }) => shortTime(lastUsedAt)],
  ['scopes', ({ kind, scopes }) => (kind === 'environment' ? 'all' : scopes.join(','))],
];

/** Returns the environment of a key. @throws GatehouseError `key_not_found` */
async function environmentOf({ db }: OpenContext, keyId: string): Promise<Environment> {
  const row = await db
    .selectFrom('api_keys')
    .select('environment')
    .where('key_id', '=', keyId)
    .executeTakeFirst();
  if (!row) throw keyNotFound(keyId);
  return row.environment;
}

async function audit(
  context: OpenContext,
  act: { environment: Environment; operation: string; target: string | undefined },
): Promise<void> {
  await context.audit.record({ ...act, requestId: randomUUID(), caller: 'cli', status: 200 });
}

async function withStore(work: (context: OpenContext) => Promise<void>): Promise<number> {
  const context = await openStarted(readConfig());
  try {
    await work(context);
    return 0;
  } finally {
    await context.close();
  }
}
