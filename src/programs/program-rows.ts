import type { ExpressionBuilder, ExpressionWrapper, SqlBool } from 'kysely';
import { z } from 'zod';
import type { Base } from '../base.ts';
import { MINUTE } from '../lib/clock.ts';
import { GatehouseError } from '../lib/errors.ts';
import type { Environment } from '../store/environments.ts';
import type { Tables } from '../store/schema.ts';
import { boundTo } from '../store/sealed-columns.ts';

/** How long a program waits for its user. Its confirmation tokens are valid for the same time. */
const WAITS_MS = 10 * MINUTE;
/** Programs of one user of a server that wait at the same time. */
const MAX_WAITING = 20;

type RowContext = Pick<Base, 'db' | 'clock' | 'keys'>;

/** The parties that a program is bound to. */
export interface ProgramOwner {
  environment: Environment;
  serverId: string;
  userId: string | undefined;
  caller: string;
}

const call = z.object({
  connectorId: z.string(),
  actionId: z.string(),
  outcome: z.enum(['succeeded', 'failed', 'denied']),
  executionId: z.string(),
});
/** A call that a program made. */
export type ProgramCallRecord = z.infer<typeof call>;

const question = z.object({
  /** The engine's id of the question. */
  id: z.string(),
  text: z.string(),
  /** Lets exactly this call run once. */
  token: z.string(),
  expiresAt: z.string(),
  /** The remaining `details` of the error that asked for the agreement. */
  facts: z.record(z.string(), z.json()),
});
/** A call of a program that its user has to agree to. */
export type ProgramQuestion = z.infer<typeof question>;

const continuation = z.object({
  source: z.string(),
  /** The engine's journal: the answers to all calls so far, and the seeds of clock and random numbers. */
  state: z.string(),
  calls: z.array(call),
  questions: z.array(question),
  /** The header x-credential-id of the request that began the program. */
  credentialHeader: z.string().nullable(),
});
/** The values with which any process can resume a program. */
export type Continuation = z.infer<typeof continuation>;

/**
 * Stores a program that waits for its user, sealed. A program that waits again replaces its row.
 * @throws GatehouseError `limit_reached`
 */
export async function storeWaiting(
  { db, clock, keys }: RowContext,
  owner: ProgramOwner,
  { programId, ...value }: Continuation & { programId: string },
): Promise<void> {
  const now = clock.now();
  const row = { ...columnsOf(owner), program_id: programId };
  const changes = {
    status: 'waiting' as const,
    sealed: keys.sealJson(value, boundTo('programs.sealed', row)),
    expires_at: now + WAITS_MS,
  };
  const { count } = await db
    .selectFrom('programs')
    .select((e) => e.fn.countAll<number>().as('count'))
    .where(isOf(owner))
    .where('status', '=', 'waiting')
    .where('expires_at', '>', now)
    .executeTakeFirstOrThrow();
  if (Number(count) >= MAX_WAITING)
    throw new GatehouseError(
      'limit_reached',
      `${MAX_WAITING} programs of this user wait for an agreement, which is the limit.`,
      { details: { limit: MAX_WAITING } },
    );
  await db
    .insertInto('programs')
    .values({ ...row, ...changes, created_at: now })
    .onConflict((c) => c.column('program_id').doUpdateSet(changes))
    .execute();
}

/**
 * Returns a program that waits.
 * @throws GatehouseError `program_not_found`, also for the program of another user; `program_not_waiting`
 */
export async function readWaiting(
  { db, clock, keys }: RowContext,
  owner: ProgramOwner,
  programId: string,
): Promise<Continuation> {
  const row = await db
    .selectFrom('programs')
    .select(['environment', 'server_id', 'program_id', 'status', 'sealed'])
    .where('program_id', '=', programId)
    .where(isOf(owner))
    .where('expires_at', '>', clock.now())
    .executeTakeFirst();
  if (!row) throw programNotFound(programId);
  if (row.status !== 'waiting' || row.sealed === null) throw notWaiting();
  return keys.openJson(continuation, row.sealed, boundTo('programs.sealed', row));
}

/** Returns whether this program of the owner waits. */
export async function isWaiting(
  { db, clock }: Pick<Base, 'db' | 'clock'>,
  owner: ProgramOwner,
  programId: string,
): Promise<boolean> {
  const row = await db
    .selectFrom('programs')
    .select('program_id')
    .where('program_id', '=', programId)
    .where('status', '=', 'waiting')
    .where('expires_at', '>', clock.now())
    .where(isOf(owner))
    .executeTakeFirst();
  return row !== undefined;
}

/**
 * Claims a program that waits, for one request among all processes.
 * @throws GatehouseError `program_not_waiting` for all others.
 */
export async function claimWaiting(
  { db, clock }: RowContext,
  owner: ProgramOwner,
  programId: string,
): Promise<void> {
  const claimed = await db
    .updateTable('programs')
    .set({ status: 'running' })
    .where('program_id', '=', programId)
    .where('status', '=', 'waiting')
    .where('expires_at', '>', clock.now())
    .where(isOf(owner))
    .returning('program_id')
    .executeTakeFirst();
  if (!claimed) throw notWaiting();
}

/** Returns a claimed program to the state `waiting`, when nothing of it was run. */
export async function releaseProgram({ db }: Pick<Base, 'db'>, programId: string): Promise<void> {
  await db
    .updateTable('programs')
    .set({ status: 'waiting' })
    .where('program_id', '=', programId)
    .where('status', '=', 'running')
    .execute();
}

/** Ends a program. Its row stays until it expires, so that a second attempt to resume it gets `program_not_waiting`. */
export async function endProgram({ db }: Pick<Base, 'db'>, programId: string): Promise<void> {
  await db
    .updateTable('programs')
    .set({ status: 'ended', sealed: null })
    .where('program_id', '=', programId)
    .execute();
}

export function programNotFound(programId: string): GatehouseError {
  return new GatehouseError(
    'program_not_found',
    `There is no program "${programId.slice(0, 64)}" of this user here. A program waits for ten minutes.`,
  );
}

function notWaiting(): GatehouseError {
  return new GatehouseError(
    'program_not_waiting',
    'This program no longer waits, because it was already resumed. This call ran nothing.',
  );
}

function columnsOf({ environment, serverId, userId, caller }: ProgramOwner) {
  return { environment, server_id: serverId, user_id: userId ?? null, caller };
}

function isOf({ environment, serverId, userId, caller }: ProgramOwner) {
  return (e: ExpressionBuilder<Tables, 'programs'>): ExpressionWrapper<Tables, 'programs', SqlBool> =>
    e.and([
      e('environment', '=', environment),
      e('server_id', '=', serverId),
      userId === undefined ? e('user_id', 'is', null) : e('user_id', '=', userId),
      e('caller', '=', caller),
    ]);
}
