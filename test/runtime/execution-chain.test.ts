import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { deleteOldRows } from '../../src/actions/execution-retention.ts';
import { DAY } from '../../src/lib/clock.ts';
import { writeCheckpoint } from '../../src/runtime/audit-checkpoints.ts';
import { verifyAudit } from '../../src/runtime/audit-verify.ts';
import { rpc, shop } from '../support/mcp.ts';
import { startService, type Service } from '../support/service.ts';
import { STORE_KINDS } from '../support/stores.ts';

const CALLS = 5;

describe.each(STORE_KINDS)('the record of calls on %s', (kind) => {
  let service: Service;
  let url: string;
  beforeAll(async () => {
    service = await startService({ kind });
    url = (await shop(service, { toolMode: 'direct' })).accessUrl;
    // Each call is flushed alone, so that it is a batch of its own.
    for (let made = 0; made < CALLS; made++) {
      await call();
      await service.context.executions.flush();
    }
    await writeCheckpoint(service.context);
  });
  afterAll(() => service.stop());

  const call = () => rpc(url, 'tools/call', { name: 'sandbox_list_customers', arguments: { limit: 1 } });
  const executions = () =>
    service.context.db.selectFrom('executions').selectAll().orderBy('execution_id').execute();
  const batchOf = (id: string) =>
    service.context.db.selectFrom('execution_batches').selectAll().where('executions', 'like', `%${id}%`);
  const broken = async (context = service.context) => (await verifyAudit(context)).broken;

  /** Runs a change of the database, checks the record, and undoes the change. */
  async function tampered(change: () => Promise<unknown>, checks: () => Promise<unknown>): Promise<void> {
    const { db } = service.context;
    const rows = await executions();
    const batches = await db.selectFrom('execution_batches').selectAll().execute();
    await change();
    await checks();
    await db.deleteFrom('executions').execute();
    await db.deleteFrom('execution_batches').execute();
    await db.insertInto('executions').values(rows).execute();
    await db.insertInto('execution_batches').values(batches).execute();
    expect(await broken()).toBeNull();
  }

  test('a changed call is found', async () => {
    const { execution_id: id } = (await executions())[2]!;
    const { db } = service.context;
    await tampered(
      () => db.updateTable('executions').set({ caller: 'stdio' }).where('execution_id', '=', id).execute(),
      async () => expect(await broken()).toEqual({ row: id, reason: 'it was changed' }),
    );
  });

  test('a removed call is found', async () => {
    const { execution_id: id } = (await executions())[1]!;
    await tampered(
      () => service.context.db.deleteFrom('executions').where('execution_id', '=', id).execute(),
      async () => expect(await broken()).toEqual({ row: id, reason: 'it was removed' }),
    );
  });

  test('a call that is removed with its batch is found by the call after it', async () => {
    const { db } = service.context;
    const [, second, third] = await executions();
    const { sequence } = await batchOf(second!.execution_id).executeTakeFirstOrThrow();
    await tampered(
      async () => {
        await db.deleteFrom('executions').where('execution_id', '=', second!.execution_id).execute();
        await db.deleteFrom('execution_batches').where('sequence', '=', sequence).execute();
      },
      async () =>
        expect(await broken()).toEqual({
          row: third!.execution_id,
          reason: 'executions before it were removed',
        }),
    );
  });

  test('an inserted call is found', async () => {
    const row = (await executions()).at(-1)!;
    const forged = { ...row, execution_id: 'exe_forged', at: row.at + 1 };
    await tampered(
      () => service.context.db.insertInto('executions').values(forged).execute(),
      async () =>
        expect(await broken()).toEqual({
          row: 'exe_forged',
          reason: 'it was inserted, because it belongs to no chain',
        }),
    );
  });

  test('a batch whose time was changed to look expired is found', async () => {
    const { db } = service.context;
    await tampered(
      () => db.updateTable('execution_batches').set({ first_at: 0 }).where('sequence', '=', 2).execute(),
      async () =>
        expect(await broken()).toMatchObject({ reason: 'the record of its chain was changed or inserted' }),
    );
  });

  test('a removed end is found by the checkpoint that names it', async () => {
    const { db } = service.context;
    const { execution_id: id } = (await executions()).at(-1)!;
    const { sequence, chain_id } = await batchOf(id).executeTakeFirstOrThrow();
    await tampered(
      async () => {
        await db.deleteFrom('executions').where('execution_id', '=', id).execute();
        await db.deleteFrom('execution_batches').where('sequence', '=', sequence).execute();
      },
      async () =>
        expect(await broken()).toEqual({
          row: 'checkpoint 1',
          reason: `batch of executions ${sequence} of chain ${chain_id}, which it names, was removed`,
        }),
    );
  });

  test('calls that are deleted after 90 days leave the record whole', async () => {
    const { db, clock } = service.context;
    const then = clock.now() + 91 * DAY;
    await tampered(
      () => deleteOldRows(db, then),
      async () => {
        expect(await executions()).toEqual([]);
        expect(await broken({ ...service.context, clock: { now: () => then } })).toBeNull();
      },
    );
  });

  test('calls that were written in one batch are in the chain', async () => {
    await Promise.all(Array.from({ length: 20 }, call));
    await service.context.executions.flush();
    expect(await verifyAudit(service.context)).toMatchObject({ executions: CALLS + 20, broken: null });
  });
});
