import { setImmediate as nextTurn } from 'node:timers/promises';
import { sql } from 'kysely';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { deleteOldRows } from '../../src/actions/execution-retention.ts';
import { DAY } from '../../src/lib/clock.ts';
import { createRunSweep } from '../../src/workflows/run-retention.ts';
import { STORE_KINDS } from '../support/stores.ts';
import { manual, message, startWorkflows, type WorkflowService } from '../support/workflows.ts';

/* Deletions of old rows run in steps, and other statements run between them. */

const MANY = 3000;

describe.each(STORE_KINDS)('on %s', (kind) => {
  let service: WorkflowService;
  beforeAll(async () => {
    service = await startWorkflows({ kind });
  });
  afterAll(() => service.stop());

  test('expired idempotency keys are deleted in steps', async () => {
    const { db, clock } = service.context;
    await sql`with recursive numbers(n) as (select 1 union all select n + 1 from numbers where n < ${sql.lit(MANY)})
      insert into idempotency (key_hash, request_hash, state, lease_until, expires_at)
      select 'key ' || n, '', 'done', 0, 0 from numbers`.execute(db);
    const seen = await countsDuring('idempotency', deleteOldRows(db, clock.now()));
    expect(seen.at(-1)).toBe(0);
    expect(seen.filter((count) => count > 0 && count < MANY)).not.toEqual([]);
  });

  test('page positions whose key is two columns are deleted in steps', async () => {
    const { db, clock } = service.context;
    await sql`with recursive numbers(n) as (select 1 union all select n + 1 from numbers where n < ${sql.lit(MANY)})
      insert into page_positions (list_hash, credential_id, item_offset, position, expires_at)
      select 'list', 'crd_1', n, '', 0 from numbers`.execute(db);
    const seen = await countsDuring('page_positions', deleteOldRows(db, clock.now()));
    expect(seen.at(-1)).toBe(0);
    expect(seen.filter((count) => count > 0 && count < MANY)).not.toEqual([]);
  });

  test('the steps of one old run are deleted in steps', async () => {
    const { db, clock } = service.context;
    const workflowId = await service.define(manual([message('a', 'hello')]));
    await service.install(workflowId);
    const runId = (await service.run(workflowId)).text('runId');
    await sql`with recursive numbers(n) as (select 1 union all select n + 1 from numbers where n < ${sql.lit(MANY)})
      insert into workflow_steps (run_id, position, item, step_id, status, started_at)
      select ${runId}, 0, n, 'a', 'succeeded', 0 from numbers`.execute(db);
    const later = { now: () => clock.now() + 31 * DAY };
    const seen = await countsDuring('workflow_steps', createRunSweep()({ db, clock: later }));
    expect(seen.at(-1)).toBe(0);
    expect(seen.filter((count) => count > 1 && count < MANY)).not.toEqual([]);
    const gone = await service.call('GET', `/workflows/${workflowId}/runs/${runId}`);
    expect(gone.status).toBe(404);
  });

  /** Counts the rows of a table as statements see them during a deletion and after it. */
  async function countsDuring(table: string, deletion: Promise<void>): Promise<number[]> {
    const count = async () => {
      const { rows } = await sql<{ left: number }>`select count(*) as left from ${sql.table(table)}`.execute(
        service.context.db,
      );
      return Number(rows[0]?.left);
    };
    const counts: number[] = [];
    const over = new AbortController();
    const ended = deletion.finally(() => over.abort());
    while (!over.signal.aborted) {
      counts.push(await count());
      await nextTurn();
    }
    await ended;
    return [...counts, await count()];
  }
});
