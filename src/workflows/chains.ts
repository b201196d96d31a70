import type { Base } from '../base.ts';
import { effectOfCall } from '../connectors/effects.ts';
import { callableAction } from '../connectors/catalog.ts';
import { DAY, SECOND } from '../lib/clock.ts';
import { GatehouseError } from '../lib/errors.ts';
import { isJsonObject, type Json, type JsonObject } from '../lib/json.ts';
import { sha256 } from '../lib/sha256.ts';
import type { DbOrTx } from '../store/schema.ts';
import type { RunRow } from './begin.ts';
import type { CallStep } from './perform.ts';

/*
 * Chains of runs: a step writes a record, the record's event starts a run, and that run writes again. Each write
 * remembers the ids of its records with the place of its run in the chain. An event of such a record continues the
 * chain, and a run beyond its end fails before its first step.
 * The header of http steps does the same for call triggers.
 */

/** Runs that may follow each other, each started by a write of the one before. */
export const MAX_CHAIN = 8;
/** How long a written record waits for its event, because polled sources report late. */
const WRITE_KEPT_MS = DAY;
/** How long the event of a write may be repeated. Later events of the record have other causes. */
const REPEATED_MS = 2 * SECOND;
/** Ids of one call that are remembered. */
const MAX_IDS = 50;
const MAX_ID_CHARS = 200;
const MAX_DEPTH = 5;
/** Names of members that hold the id of a record. */
const ID_NAME = /^(id|key|uuid|guid|gid|number|name)$|([a-z0-9]I|_i|-i|^I)[dD]$|ID$/;
/** Stands for the app of http steps, which is not known. */
const ANY_APP = '';

type ChainContext = Pick<Base, 'db' | 'clock'>;

/** The record of an event. */
export interface EventRecord {
  userId: string;
  connectorId: string;
  remoteId: Json | undefined;
}

/**
 * Returns the place in a chain of a run that an event starts: 0 where no step wrote the record. `before`: only writes that
 * had begun at this time could cause the event, epoch ms.
 */
export async function chainOfEvent(
  db: DbOrTx,
  { clock }: Pick<Base, 'clock'>,
  { userId, connectorId, remoteId, before }: EventRecord & { before: number },
): Promise<number> {
  const id = idIn(remoteId ?? null);
  if (id === undefined) return 0;
  const now = clock.now();
  const hashes = [connectorId, ANY_APP].map((app) => hashOf(userId, app, id));
  const rows = await db
    .selectFrom('workflow_writes')
    .select(['record_hash', 'chain', 'expires_at'])
    .where('record_hash', 'in', hashes)
    .where('expires_at', '>', now)
    .where('began_at', '<=', before)
    .execute();
  const fresh = rows.filter((row) => row.expires_at > now + REPEATED_MS).map((row) => row.record_hash);
  if (fresh.length > 0)
    await db
      .updateTable('workflow_writes')
      .set({ expires_at: now + REPEATED_MS })
      .where('record_hash', 'in', fresh)
      .execute();
  return Math.max(0, ...rows.map((row) => row.chain));
}

/** @throws GatehouseError `workflow_loop` for a run beyond the end of its chain. */
export function assertNoLoop(chain: number): void {
  if (chain <= MAX_CHAIN) return;
  throw new GatehouseError(
    'workflow_loop',
    `This run made no call, because ${MAX_CHAIN} runs before it started each other: the workflows start themselves. ` +
      'Change the trigger, or add a `when` that skips the records that the workflow wrote.',
    { details: { runs: MAX_CHAIN } },
  );
}

/** Remembers the records that a step wrote, while the user has a workflow that events of this app start. */
export async function rememberWrites(
  context: ChainContext & Pick<Base, 'catalog'>,
  { run, chain }: { run: RunRow; chain: number },
  {
    step,
    input,
    output,
    beganAt,
  }: { step: CallStep; input: JsonObject; output: JsonObject; beganAt: number },
): Promise<void> {
  const { db, clock } = context;
  const app = 'connectorId' in step ? step.connectorId : ANY_APP;
  if (!isWrite(context, run, { step, input }) || !(await listens(db, run.user_id, app))) return;
  const ids = [...idsIn(output['data'] ?? null), ...idsIn(input), ...idsOfLink(input['url'])];
  const rows = [...new Set(ids)].slice(0, MAX_IDS).map((id) => ({
    record_hash: hashOf(run.user_id, app, id),
    chain: chain + 1,
    began_at: beganAt,
    expires_at: clock.now() + WRITE_KEPT_MS,
  }));
  if (rows.length === 0) return;
  // In one order, so that two processes that write the same records never wait for each other.
  rows.sort((a, b) => (a.record_hash < b.record_hash ? -1 : 1));
  await db
    .insertInto('workflow_writes')
    .values(rows)
    .onConflict((c) =>
      c.column('record_hash').doUpdateSet((e) => ({
        chain: e.ref('excluded.chain'),
        began_at: e.ref('excluded.began_at'),
        expires_at: e.ref('excluded.expires_at'),
      })),
    )
    .execute();
}

function isWrite(
  { catalog }: Pick<Base, 'catalog'>,
  { environment }: RunRow,
  { step, input }: { step: CallStep; input: JsonObject },
): boolean {
  if ('http' in step) return !['GET', 'HEAD'].includes(String(input['method']));
  const connector = catalog.connector(environment, step.connectorId);
  const action = connector && callableAction(connector, step.actionId);
  return action === undefined || effectOfCall(action, input) !== 'read';
}

/** Returns whether events of an app start a workflow of the user. */
async function listens(db: DbOrTx, userId: string, app: string): Promise<boolean> {
  const found = await db
    .selectFrom('workflow_installations')
    .innerJoin('sources', 'sources.source_id', 'workflow_installations.source_id')
    .select('workflow_installations.installation_id')
    .where('workflow_installations.user_id', '=', userId)
    .where('workflow_installations.enabled', '=', 1)
    .$if(app !== ANY_APP, (query) => query.where('sources.connector_id', '=', app))
    .limit(1)
    .executeTakeFirst();
  return found !== undefined;
}

function idsIn(value: Json, depth = 0): string[] {
  if (depth > MAX_DEPTH) return [];
  if (Array.isArray(value)) return value.slice(0, MAX_IDS).flatMap((one) => idsIn(one, depth + 1));
  if (!isJsonObject(value)) return [];
  return Object.entries(value).flatMap(([name, member]) =>
    isJsonObject(member) || Array.isArray(member)
      ? idsIn(member, depth + 1)
      : ID_NAME.test(name)
        ? (idIn(member) ?? [])
        : [],
  );
}

/** Returns the last part of an address, which an update names its record by. */
function idsOfLink(url: Json | undefined): string[] {
  if (typeof url !== 'string' || !URL.canParse(url)) return [];
  return [idIn(new URL(url).pathname) ?? []].flat();
}

/** Returns an id in the form that is compared: apps write `gid://shop/Customer/1` and `1` for one record. */
function idIn(value: Json): string | undefined {
  if (typeof value !== 'string' && typeof value !== 'number') return undefined;
  const id = String(value).replace(/\/+$/, '').split('/').pop() ?? '';
  return id === '' || id.length > MAX_ID_CHARS ? undefined : id;
}

function hashOf(userId: string, app: string, id: string): string {
  return sha256(JSON.stringify([userId, app, id]));
}
