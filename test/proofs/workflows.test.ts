import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { z } from 'zod';
import { newApiKey } from '../../src/crypto/tokens.ts';
import { ensureKeys } from '../../src/identity/api-keys.ts';
import { openContext } from '../../src/context.ts';
import { readConfig } from '../../src/config.ts';
import { createLog } from '../../src/log.ts';
import { openStore } from '../../src/store/open-database.ts';
import { parseJson, valueAt, type Json } from '../../src/lib/json.ts';
import { LEASE_MS } from '../../src/workflows/step-rows.ts';
import { until } from '../support/until.ts';
import { startLedger, type Ledger } from '../support/ledger.ts';
import { freshDatabase, type StoreKind } from '../support/stores.ts';
import type { Serving } from '../support/workflow-process.ts';

/** Kills of processes (SIGKILL) during runs of ten steps, in `npm run proof:workflows`, and with `PROOF=short`. */
const KILLS = {
  short: { sqlite: 4, postgres: 2 },
  full: { sqlite: 300, postgres: 60 },
};
const kills = KILLS[z.enum(['short', 'full']).catch('short').parse(process.env['PROOF'])];
const STEPS = 10;
/** Longer than a lease, so that a process whose clock is ahead by this may continue the runs of a dead one. */
const APART_MS = 2 * LEASE_MS;
/** A dead process's runs count as running until their lease expires; the other runs therefore use other users. */
const USERS = 12;
const children: ChildProcess[] = [];
afterEach(() => {
  for (const child of children.splice(0)) child.kill('SIGKILL');
});

interface World {
  ledger: Ledger;
  /** Starts a serving process, with its clock ahead by this much, and waits until it is up. */
  serve(aheadMs?: number): Promise<{ child: ChildProcess; call: Call }>;
  db: Awaited<ReturnType<typeof openStore>>['db'];
  close(): Promise<void>;
}
type Call = (method: string, path: string, body?: unknown) => Promise<Json>;

async function openWorld(kind: StoreKind): Promise<World> {
  const ledger = await startLedger();
  const { database, remove } = await freshDatabase(kind);
  const home = mkdtempSync(join(tmpdir(), 'gatehouse-crashes-'));
  const key = newApiKey('development');
  const env = {
    GATEHOUSE_HOME: home,
    PORT: '0',
    GATEHOUSE_ALLOW_PRIVATE_NETWORK: '1',
    DATABASE_URL: database.kind === 'sqlite' ? `sqlite:${database.path}` : database.url,
  };
  const { catalogFolder } = ledger;
  const context = await openContext(readConfig(env), { log: createLog('silent'), catalogFolder });
  await ensureKeys(context, { development: key, production: newApiKey('production') });
  await context.close();
  const store = await openStore(database);
  /** With many kills the next process is loaded while the current one works. */
  const load = async (): Promise<ChildProcess> => {
    const program = join(import.meta.dirname, '../support/workflow-process.ts');
    const child = fork(program, [JSON.stringify({ env, catalogFolder })], { execArgv: [] });
    children.push(child);
    // The end of a test kills a child that still loads.
    await Promise.race([once(child, 'message'), once(child, 'exit')]);
    return child;
  };
  let next: Promise<ChildProcess> | undefined;
  return {
    ledger,
    db: store.db,
    async serve(aheadMs = 0) {
      const child = await (next ?? load());
      next = kills.sqlite > 1 ? load() : undefined;
      child.send(aheadMs);
      const [message]: Serving[] = await once(child, 'message');
      return { child, call: caller(message?.url ?? '', key) };
    },
    async close() {
      (await next)?.kill('SIGKILL');
      await store.close();
      await remove();
      await ledger[Symbol.asyncDispose]();
      rmSync(home, { recursive: true, force: true });
    },
  };
}

function caller(url: string, key: string): Call {
  return async (method, path, body) => {
    const response = await fetch(url + path, {
      method,
      headers: {
        authorization: `Bearer ${key}`,
        'x-api-version': '2025-09',
        'content-type': 'application/json',
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const answer = parseJson(await response.text());
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${JSON.stringify(answer)}`);
    return answer;
  };
}

async function kill(child: ChildProcess): Promise<void> {
  const gone = once(child, 'exit');
  child.kill('SIGKILL');
  await gone;
  children.splice(children.indexOf(child), 1);
}

const text = (value: Json, path: string): string => String(valueAt(value, path));

test.each<[StoreKind, number]>([
  ['sqlite', kills.sqlite],
  ['postgres', kills.postgres],
])(
  'workflow runs on %s end after %i kills, and no finished step runs twice',
  { timeout: 3_600_000 },
  async (kind, count) => {
    const world = await openWorld(kind);
    const { ledger, db } = world;
    try {
      let { child, call } = await world.serve();
      const users: string[] = [];
      for (let n = 0; n < USERS; n++)
        users.push(text(await call('POST', '/users', { username: `user ${n}` }), 'userId'));
      const steps = Array.from({ length: STEPS }, (_, step) => ({
        stepId: `s${step}`,
        connectorId: 'ledger',
        actionId: 'post_entry',
        input: { n: '=trigger.input.n', step },
      }));
      const definition = { trigger: { type: 'manual' }, steps, concurrency: 20 };
      const made = await call('POST', '/workflows', { name: 'ten', definition });
      const workflowId = text(made, 'workflowId');
      for (const userId of users) await call('POST', `/workflows/${workflowId}/install?userId=${userId}`, {});

      /** Calls that may have been sent but not recorded when a process was killed, with their count. */
      const inFlight = new Map<string, number>();
      let started = 0;
      let killed = 0;
      while (killed < count) {
        const deadline = new Promise<void>((resolve) => {
          const after = ledger.count + 1 + Math.floor(Math.random() * 60);
          const late = Math.random() < 0.4;
          ledger.onCall = async () => {
            await new Promise((next) => setTimeout(next, Math.random() * 15));
            if (!late && ledger.count >= after) resolve();
          };
          ledger.onAnswered = () => {
            if (late && ledger.count >= after) resolve();
          };
        });
        const waiting = await db
          .selectFrom('workflow_runs')
          .select((e) => e.fn.countAll<number>().as('count'))
          .where('status', '=', 'queued')
          .executeTakeFirstOrThrow();
        const more = Math.max(0, 20 - Number(waiting.count));
        const starts = Array.from({ length: more }, (_, n) =>
          call('POST', `/workflows/${workflowId}/run?userId=${users[n % USERS]}`, {
            input: { n: started + n },
          }).then(
            () => started++,
            // Killed during its answer: the table shows whether the run was made.
            () => {},
          ),
        );
        await deadline;
        await kill(child);
        await Promise.all(starts);
        killed += 1;
        if (killed % 50 === 0) process.stdout.write(`${kind}: ${killed} kills\n`);
        const open = await db
          .selectFrom('workflow_steps')
          .select(['run_id', 'position'])
          .where('status', '=', 'running')
          .execute();
        for (const { run_id: runId, position } of open) {
          const key = `${runId}.${position}`;
          inFlight.set(key, (inFlight.get(key) ?? 0) + 1);
        }
        ({ child, call } = await world.serve(killed * APART_MS));
      }
      ledger.onCall = async () => {};
      ledger.onAnswered = () => {};

      await until(
        async () => {
          const live = await db
            .selectFrom('workflow_runs')
            .select('run_id')
            .where('status', 'in', ['queued', 'running', 'waiting'])
            .execute();
          return live.length === 0;
        },
        { withinMs: 600_000 },
      );
      await kill(child);

      const runs = await db.selectFrom('workflow_runs').select(['run_id', 'status', 'error']).execute();
      const stranded = runs.filter(({ status }) => status !== 'succeeded');
      expect(stranded).toEqual([]);
      const wrong: string[] = [];
      let repeated = 0;
      for (const { run_id: runId } of runs) {
        for (let position = 0; position < STEPS; position++) {
          const key = `${runId}.${position}`;
          const times = ledger.calls.get(key) ?? 0;
          if (times > 1) repeated += 1;
          if (times < 1 || times > 1 + (inFlight.get(key) ?? 0)) wrong.push(`${key}: ${times} times`);
        }
      }
      expect(wrong).toEqual([]);
      // Each call carried the key of its own step.
      expect(ledger.calls.size).toBe(runs.length * STEPS);
      process.stdout.write(
        `${kind}: ${killed} kills, ${runs.length} runs of ${STEPS} steps, ${repeated} calls in flight sent again\n`,
      );
    } finally {
      for (const child of children.splice(0)) child.kill('SIGKILL');
      await world.close();
    }
  },
);

test('a call without idempotency keys is not repeated after its process died', async () => {
  const world = await openWorld('sqlite');
  const { ledger, db } = world;
  try {
    const first = await world.serve();
    const userId = text(await first.call('POST', '/users', { username: 'ada' }), 'userId');
    const plain = { stepId: 'plain', connectorId: 'ledger', actionId: 'post_plain', input: { n: 1 } };
    const made = await first.call('POST', '/workflows', {
      name: 'plain',
      definition: { trigger: { type: 'manual' }, steps: [plain] },
    });
    const workflowId = text(made, 'workflowId');
    await first.call('POST', `/workflows/${workflowId}/install?userId=${userId}`, {});
    const arrived = new Promise<void>((resolve) => {
      ledger.onCall = async () => {
        resolve();
        await new Promise(() => {});
      };
    });
    const run = await first.call('POST', `/workflows/${workflowId}/run?userId=${userId}`, {});
    await arrived;
    await kill(first.child);
    const second = await world.serve(APART_MS);
    const path = `/workflows/${workflowId}/runs/${text(run, 'runId')}`;
    let ended: Json = null;
    const has = (status: string) => async () => {
      ended = await second.call('GET', path);
      return valueAt(ended, 'status') === status;
    };
    await until(has('failed'));
    expect(ledger.count).toBe(1);
    expect(valueAt(ended, 'error.details.outcome')).toBe('unknown');
    // After a check of the app, the caller may retry the call.
    ledger.onCall = async () => {};
    await second.call('POST', `${path}/retry`);
    await until(has('succeeded'));
    expect(ledger.count).toBe(2);
    await kill(second.child);
    expect(await db.selectFrom('workflow_steps').select('attempts').execute()).toEqual([{ attempts: 1 }]);
  } finally {
    for (const child of children.splice(0)) child.kill('SIGKILL');
    await world.close();
  }
});

test('a call of a dead process in an ended run has an unknown outcome', async () => {
  const world = await openWorld('sqlite');
  const { ledger } = world;
  try {
    const first = await world.serve();
    const newUser = async (username: string) =>
      text(await first.call('POST', '/users', { username }), 'userId');
    const [ada, bob] = [await newUser('ada'), await newUser('bob')];
    const begin = async (userId: string, step: object) => {
      const definition = { trigger: { type: 'manual' }, steps: [{ stepId: 'entry', ...step }] };
      const made = await first.call('POST', '/workflows', {
        name: `of ${userId} ${JSON.stringify(step)}`.slice(0, 100),
        definition,
      });
      const path = `/workflows/${text(made, 'workflowId')}`;
      await first.call('POST', `${path}/install?userId=${userId}`, {});
      return `${path}/runs/${text(await first.call('POST', `${path}/run?userId=${userId}`, {}), 'runId')}`;
    };
    const arrived = new Promise<void>((resolve) => {
      ledger.onCall = async () => {
        if (ledger.count >= 3) resolve();
        await new Promise(() => {});
      };
    });
    const ledgers = { connectorId: 'ledger', input: { n: 1 } };
    const single = await begin(ada, { ...ledgers, actionId: 'post_entry' });
    const looped = await begin(ada, { ...ledgers, actionId: 'post_plain', forEach: '[1, 2]' });
    const orphan = await begin(bob, { ...ledgers, actionId: 'post_entry' });
    await arrived;
    // It runs before the other dies, because a slow start could outlast the leases of the dead.
    const { call, child } = await world.serve();
    for (const run of [single, looped]) await first.call('POST', `${run}/cancel`);
    await kill(first.child);
    // Other processes cannot know yet that its process died.
    expect(await call('GET', single)).toMatchObject({
      status: 'cancelled',
      steps: [{ status: 'running' }],
    });
    // Another process takes up this run and cannot continue it.
    await call('PUT', `/users/${bob}`, { enabled: false });
    child.send(APART_MS);
    const settled = async (run: string, status: string): Promise<Json> => {
      let answer: Json = null;
      await until(async () => {
        answer = await call('GET', run);
        return valueAt(answer, 'status') === status && valueAt(answer, 'steps.0.status') !== 'running';
      });
      return answer;
    };
    const unknown = {
      status: 'failed',
      endedAt: expect.any(String),
      error: {
        code: 'upstream_failed',
        error: expect.stringContaining('the call may have taken effect'),
        details: { outcome: 'unknown' },
      },
    };
    expect(valueAt(await settled(single, 'cancelled'), 'steps')).toMatchObject([unknown]);
    expect(valueAt(await settled(looped, 'cancelled'), 'steps')).toMatchObject([
      { ...unknown, itemCounts: { failed: 1 }, items: [unknown] },
    ]);
    const failed = await settled(orphan, 'failed');
    expect(failed).toMatchObject({ error: { code: 'forbidden' }, steps: [unknown] });
    expect(ledger.count).toBe(3);

    // The retried call keeps its key, so an app that knows the key runs it once.
    ledger.onCall = async () => {};
    await call('PUT', `/users/${bob}`, { enabled: true });
    await call('POST', `${orphan}/retry`);
    expect(valueAt(await settled(orphan, 'succeeded'), 'steps.0.error')).toBeUndefined();
    expect([...ledger.calls.values()].toSorted()).toEqual([1, 1, 2]);
    await kill(child);
  } finally {
    for (const child of children.splice(0)) child.kill('SIGKILL');
    await world.close();
  }
});
