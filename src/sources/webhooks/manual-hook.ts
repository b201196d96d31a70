import { randomBytes } from 'node:crypto';
import { z } from 'zod';
import type { Selectable } from 'kysely';
import type { Connector } from '../../connectors/catalog.ts';
import type { Webhooks } from '../../connectors/format/events-format.ts';
import type { Context } from '../../credentials/context.ts';
import type { Credential } from '../../credentials/credential.ts';
import { connectorOf } from '../../credentials/credential-records.ts';
import { hashToken, newRandomToken } from '../../crypto/tokens.ts';
import { DAY } from '../../lib/clock.ts';
import { invalidRequest } from '../../lib/errors.ts';
import type { DbOrTx, Tables } from '../../store/schema.ts';
import { boundTo } from '../../store/sealed-columns.ts';
import { canVerify } from './hook-keys.ts';
import { hookPath } from './hook.ts';
import { secretRule } from './verify.ts';

/* Webhooks that a person sets up at an app for one connection: the address, and the secret. */

/** How long the previous secret stays valid after a rotation. */
const PREVIOUS_VALID_MS = DAY;
/** Start of the tokens of these addresses. Other tokens have no hyphen. */
const TOKEN_START = 'manual-';

const values = z.object({
  token: z.string(),
  secret: z.string(),
  previous: z.object({ secret: z.string(), until: z.number() }).optional(),
});
/** Token and secrets of an address. */
export type ManualValues = z.infer<typeof values>;
type Row = Selectable<Tables['manual_hooks']>;
export type ManualContext = Pick<
  Context,
  'db' | 'clock' | 'keys' | 'hashKey' | 'catalog' | 'credentialMemory' | 'store'
>;

/** The webhooks of a connection as they are shown. */
export interface ManualHook {
  /** Address to enter at the app; undefined before it is made. */
  path: string | undefined;
  state: 'none' | 'waiting' | 'registered';
  /** Time of the last genuine webhook, epoch ms; null before the first. */
  lastAt: number | null;
  help: string;
  secretFrom: 'gatehouse' | 'app';
}

export function isManualToken(token: string): boolean {
  return token.startsWith(TOKEN_START);
}

export function openManual({ keys }: Pick<Context, 'keys'>, row: Row): ManualValues {
  return keys.openJson(values, row.sealed, binding(row.credential_id));
}

/**
 * Returns the webhooks of a connection.
 * @throws GatehouseError `invalid_request` when its app has none that are set up by hand.
 */
export async function readManualHook(context: ManualContext, credential: Credential): Promise<ManualHook> {
  const { connector, manual } = await requireManual(context, credential);
  const row = await rowOf(context.db, credential);
  return shown(context, { connector, manual, row });
}

/**
 * Makes the address of a connection, or replaces its secret. The address stays, and the previous secret is valid for a day.
 * @returns the secret when Gatehouse made it.
 * @throws GatehouseError `invalid_request` for a secret that is missing, unusable or not wanted, and as readManualHook().
 */
export async function setUpManualHook(
  context: ManualContext,
  credential: Credential,
  given: string | undefined,
): Promise<{ hook: ManualHook; secret: string | undefined; isNew: boolean }> {
  const { connector, manual, verify } = await requireManual(context, credential);
  if (manual.secret === 'given' && given === undefined)
    throw invalidRequest([{ field: 'secret', rule: `is required: ${connector.name} shows it` }]);
  if (manual.secret === 'made' && given !== undefined)
    throw invalidRequest([{ field: 'secret', rule: 'is made by Gatehouse, so it cannot be given' }]);
  const rule = given === undefined ? undefined : secretRule(verify, given);
  if (rule !== undefined) throw invalidRequest([{ field: 'secret', rule }]);
  const secret = given ?? randomBytes(32).toString('hex');
  const { row, isNew } = await storeSecret(context, credential, secret);
  const hook = shown(context, { connector, manual, row });
  return { hook, isNew, secret: manual.secret === 'made' ? secret : undefined };
}

async function storeSecret(
  context: ManualContext,
  credential: Credential,
  secret: string,
): Promise<{ row: Row; isNew: boolean }> {
  const { db, clock, hashKey, keys, store } = context;
  const { credentialId, environment } = credential;
  const now = clock.now();
  const seal = (value: ManualValues) => keys.sealJson(value, binding(credentialId));
  const stored = await db.transaction().execute(async (tx) => {
    const token = `${TOKEN_START}${newRandomToken()}`;
    const row = await tx
      .insertInto('manual_hooks')
      .values({
        credential_id: credentialId,
        environment,
        hook_hash: hashToken(hashKey, token),
        sealed: seal({ token, secret }),
        last_at: null,
        created_at: now,
        updated_at: now,
      })
      .onConflict((c) => c.column('credential_id').doNothing())
      .returningAll()
      .executeTakeFirst();
    if (row) return { row, isNew: true };
    const found = await tx
      .selectFrom('manual_hooks')
      .selectAll()
      .where('credential_id', '=', credentialId)
      .$if(store.kind === 'postgres', (query) => query.forUpdate())
      .executeTakeFirst();
    if (!found) return undefined;
    const { token: known, secret: before } = openManual(context, found);
    const previous = { secret: before, until: now + PREVIOUS_VALID_MS };
    const changed = await tx
      .updateTable('manual_hooks')
      .set({ sealed: seal({ token: known, secret, previous }), updated_at: now })
      .where('credential_id', '=', credentialId)
      .returningAll()
      .executeTakeFirstOrThrow();
    return { row: changed, isNew: false };
  });
  // The address was deleted between the two statements, so the next attempt makes one.
  return stored ?? storeSecret(context, credential, secret);
}

/**
 * Deletes the address of a connection. Its sources are polled as before.
 * @throws GatehouseError as readManualHook().
 */
export async function endManualHook(context: ManualContext, credential: Credential): Promise<void> {
  const { credentialId } = credential;
  await requireManual(context, credential);
  const now = context.clock.now();
  await context.db.transaction().execute(async (tx) => {
    await tx.deleteFrom('manual_hooks').where('credential_id', '=', credentialId).execute();
    await tx
      .updateTable('sources')
      .set({ kind: 'polling', hook_state: 'none', next_poll_at: now, updated_at: now })
      .where('credential_id', '=', credentialId)
      .where('hook_state', '=', 'manual')
      .execute();
  });
}

async function requireManual(
  context: ManualContext,
  credential: Credential,
): Promise<{ connector: Connector; manual: NonNullable<Webhooks['manual']>; verify: Webhooks['verify'] }> {
  const connector = connectorOf(context, credential);
  const { manual, verify } = connector.definition.webhooks ?? {};
  if (manual && verify && (await canVerify(context, connector, { credential })))
    return { connector, manual, verify };
  const rule = manual
    ? `is of the type ${credential.type} or lacks values, so webhooks of ${connector.name} cannot be verified`
    : `is of ${connector.name}, whose webhooks are not set up by hand`;
  throw invalidRequest([{ field: 'credentialId', rule }]);
}

function rowOf(db: DbOrTx, { credentialId }: Credential): Promise<Row | undefined> {
  return db
    .selectFrom('manual_hooks')
    .selectAll()
    .where('credential_id', '=', credentialId)
    .executeTakeFirst();
}

function shown(
  context: ManualContext,
  {
    connector,
    manual,
    row,
  }: { connector: Connector; manual: NonNullable<Webhooks['manual']>; row: Row | undefined },
): ManualHook {
  const arrived = row?.last_at === null ? 'waiting' : 'registered';
  return {
    path: row && hookPath(connector.connectorId, openManual(context, row).token),
    state: row ? arrived : 'none',
    lastAt: row?.last_at ?? null,
    help: manual.help,
    secretFrom: manual.secret === 'made' ? 'gatehouse' : 'app',
  };
}

function binding(credentialId: string): string {
  return boundTo('manual_hooks.sealed', { credential_id: credentialId });
}
