import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { DAY, SECOND } from '../../src/lib/clock.ts';
import { LEASE_MS } from '../../src/workflows/step-rows.ts';
import { manualClock } from '../support/clock.ts';
import { holdAnswer, SLOW } from '../support/held-answers.ts';
import { startReceiver } from '../support/receiver.ts';
import { until } from '../support/until.ts';
import { startService } from '../support/service.ts';
import { freshDatabase } from '../support/stores.ts';
import { manual, message, startWorkflows, type WorkflowService } from '../support/workflows.ts';

let service: WorkflowService;
beforeAll(async () => {
  service = await startWorkflows();
});
afterAll(() => service.stop());

/** Defines and installs a workflow, and runs it. */
async function runOf(definition: unknown, input?: object, config = {}) {
  const workflowId = await service.define(definition);
  const installed = await service.install(workflowId, config);
  expect(installed.status).toBe(201);
  return {
    workflowId,
    run: await service.run(workflowId, JSON.parse(JSON.stringify(input ?? null)) ?? undefined),
  };
}

describe('a run', () => {
  test('a run executes its steps in order with the results of earlier ones', async () => {
    const { run } = await runOf(
      manual([
        { stepId: 'text', map: '"Hello " & trigger.input.name & " from " & user.username' },
        message('send', '=steps.text.data'),
        message('literal', '==not an expression'),
      ]),
      { name: 'Bob' },
    );
    expect(run.at('status')).toBe('succeeded');
    expect(run.at('steps')).toMatchObject([
      { stepId: 'text', status: 'succeeded', output: { data: 'Hello Bob from ada' } },
      {
        stepId: 'send',
        status: 'succeeded',
        input: { text: 'Hello Bob from ada' },
        output: { data: { to: 'bob@example.com' } },
      },
      { stepId: 'literal', output: { data: { text: '=not an expression' } } },
    ]);
  });

  test('a run started by a caller is manual and needs the userId of its user', async () => {
    const schedule = { type: 'schedule', cron: '0 9 * * *' };
    const { run } = await runOf({ ...manual([message('send', 'x')]), trigger: schedule });
    expect([run.at('trigger'), run.at('triggerValue.type')]).toEqual(['manual', 'schedule']);
    const path = `/workflows/${run.text('workflowId')}/runs/${run.text('runId')}`;
    const read = (userId: string) =>
      service.call('GET', `${path}?userId=${userId}`, { headers: { 'x-api-version': '2025-09' } });
    const [own, other] = [await read(run.text('userId')), await read('usr_0000000000000000000000')];
    expect([own.status, own.at('runId')]).toEqual([200, run.at('runId')]);
    expect([other.status, other.at('code')]).toEqual([404, 'run_not_found']);
  });

  test('a run skips a step whose when is false', async () => {
    const { run } = await runOf(
      manual([
        message('no', 'x', { when: 'trigger.input.n > 5' }),
        message('yes', 'x', { when: 'trigger.input.n < 5' }),
      ]),
      { n: 1 },
    );
    expect(run.at('steps')).toMatchObject([
      { stepId: 'no', status: 'skipped' },
      { stepId: 'yes', status: 'succeeded' },
    ]);
  });

  test('a run runs a step for each item, in order', async () => {
    const { run } = await runOf(
      manual([
        message('each', '="Item " & index & ": " & item.name', { forEach: 'trigger.input.items' }),
        { stepId: 'count', map: '$count(steps.each.data)' },
      ]),
      { items: [{ name: 'a' }, { name: 'b' }, { name: 'c' }] },
    );
    expect(run.at('steps.0')).toMatchObject({
      status: 'succeeded',
      itemCounts: { succeeded: 3 },
      output: { succeeded: 3, failed: 0 },
    });
    expect(run.at('steps.0.items.2.output.data.text')).toBe('Item 2: c');
    expect(run.at('steps.1.output.data')).toBe(3);
  });

  test('a run stops at a failure and reports the step and the reason', async () => {
    const { run } = await runOf(
      manual([
        { stepId: 'bad', connectorId: 'sandbox', actionId: 'fail', input: { status: 422 } },
        message('never', 'x'),
      ]),
    );
    expect(run.at('status')).toBe('failed');
    expect(run.at('error')).toMatchObject({ stepId: 'bad', code: 'upstream_rejected' });
    expect(run.at('steps')).toHaveLength(1);
  });

  test('a run continues after a failure if its step allows it', async () => {
    const { run } = await runOf(
      manual([
        {
          stepId: 'bad',
          connectorId: 'sandbox',
          actionId: 'fail',
          input: { status: 422 },
          onError: 'continue',
        },
        { stepId: 'told', map: 'steps.bad.error.code' },
      ]),
    );
    expect(run.at('status')).toBe('succeeded');
    expect(run.at('steps.1.output.data')).toBe('upstream_rejected');
  });

  test('a run with failing items continues or stops at the first', async () => {
    const step = {
      stepId: 'each',
      connectorId: 'sandbox',
      actionId: 'fail',
      input: { status: '=item' },
      forEach: 'trigger.input',
    };
    const { run } = await runOf(
      { trigger: { type: 'manual' }, steps: [{ ...step, onError: 'continue' }] },
      [204, 422, 204],
    );
    expect(run.at('steps.0.output')).toMatchObject({
      succeeded: 2,
      failed: 1,
      errors: [{ item: 1, error: { code: 'upstream_rejected' } }],
    });
    const stopped = await runOf({ trigger: { type: 'manual' }, steps: [step] }, [204, 422, 204]);
    expect(stopped.run.at('status')).toBe('failed');
    expect(stopped.run.at('steps.0.itemCounts')).toEqual({ succeeded: 1, failed: 1 });
  });

  test('a run holds no resources while it waits', async () => {
    const workflowId = await service.define(
      manual([{ stepId: 'pause', wait: 'PT1S' }, message('then', 'x')]),
    );
    await service.install(workflowId);
    const started = await service.call('POST', `/workflows/${workflowId}/run?userId=${service.userId}`);
    const waiting = await service.ended(workflowId, started.text('runId'), ['waiting']);
    expect(waiting.at('nextAt')).toEqual(expect.any(String));
    const run = await service.ended(workflowId, started.text('runId'));
    expect(run.at('status')).toBe('succeeded');
  });

  test('a run rejects input that does not match its trigger', async () => {
    const workflowId = await service.define({
      trigger: { type: 'manual', inputSchema: { properties: { n: { type: 'integer' } }, required: ['n'] } },
      steps: [message('a', 'x')],
    });
    await service.install(workflowId);
    const answer = await service.call('POST', `/workflows/${workflowId}/run?userId=${service.userId}`, {
      body: { input: { n: 'one' } },
    });
    expect(answer.status).toBe(400);
    expect(answer.at('details.faults.0.field')).toBe('input.n');
  });

  test('a run accepts additional input if the schema allows it', async () => {
    const start = async (more: object) => {
      const properties = { a: { type: 'integer' } };
      const trigger = { type: 'manual', inputSchema: { type: 'object', properties, ...more } };
      const workflowId = await service.define({
        trigger,
        steps: [{ stepId: 'sum', map: '$sum(trigger.input.*)' }],
      });
      await service.install(workflowId);
      const path = `/workflows/${workflowId}/run?userId=${service.userId}`;
      const started = await service.call('POST', path, { body: { input: { a: 1, more: 2 } } });
      return { workflowId, started };
    };
    const { workflowId, started } = await start({});
    const run = await service.ended(workflowId, started.text('runId'));
    expect(run.at('steps.0.output.data')).toBe(3);
    const closed = (await start({ additionalProperties: false })).started;
    expect([closed.status, closed.at('details.faults.0.field')]).toEqual([400, 'input.more']);
    const typed = (await start({ additionalProperties: { type: 'string' } })).started;
    expect([typed.status, typed.at('details.faults.0.field')]).toEqual([400, 'input.more']);
  });

  test('a run shows no secret of its configuration', async () => {
    const { run } = await runOf(
      manual([message('a', '="key " & config.key')], {
        configurableFields: { properties: { key: { type: 'string', writeOnly: true } } },
      }),
      undefined,
      { key: 'canary-8842' },
    );
    expect(run.at('status')).toBe('succeeded');
    expect(JSON.stringify(run.body)).not.toContain('canary-8842');
    expect(run.at('steps.0.input.text')).toBe('key [secret]');
    const sent = await service.act('list_messages', { limit: 1 });
    expect(sent).toMatchObject([{ text: 'key canary-8842' }]);
  });
});

describe('expressions have limits', () => {
  test.each([
    ['loops without end', '($f := function($n) { $f($n + 1) }; $f(0))'],
    ['backtracks without end', '$match("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!", /(a+)+$/)'],
    ['grows without end', '$pad("x", 200000000)'],
    ['makes a huge list', '[1..9999999]'],
  ])('an expression that %s fails the run and nothing else', async (_, expression) => {
    const { run } = await runOf(manual([{ stepId: 'bad', map: expression }]));
    expect(run.at('status')).toBe('failed');
    expect(run.at('error.code')).toBe('expression_failed');
    expect((await service.call('GET', '/health')).status).toBe(200);
  });
});

describe('a run in progress', () => {
  test('a run in progress is cancelled before its next step', async () => {
    const workflowId = await service.define(manual([{ stepId: 'long', wait: 'P3D' }, message('never', 'x')]));
    await service.install(workflowId);
    const started = await service.call('POST', `/workflows/${workflowId}/run?userId=${service.userId}`);
    const path = `/workflows/${workflowId}/runs/${started.text('runId')}`;
    await service.ended(workflowId, started.text('runId'), ['waiting']);
    expect((await service.call('POST', `${path}/cancel`)).at('status')).toBe('cancelled');
    const again = await service.call('POST', `${path}/cancel`);
    expect([again.status, again.text('code')]).toEqual([409, 'run_ended']);
    const retried = await service.call('POST', `${path}/retry`);
    expect([retried.status, retried.text('code')]).toEqual([409, 'run_not_failed']);
  });

  test('a run cancelled during a step records that step', async () => {
    const workflowId = await service.define(
      manual([
        { stepId: 'slow', connectorId: 'sandbox', actionId: 'slow', input: { milliseconds: 0 } },
        message('never', 'x'),
      ]),
    );
    await service.install(workflowId);
    const step = holdAnswer(service, SLOW);
    const started = await service.call('POST', `/workflows/${workflowId}/run?userId=${service.userId}`);
    const runId = started.text('runId');
    await step.asked;
    await service.call('POST', `/workflows/${workflowId}/runs/${runId}/cancel`);
    step.release();
    const path = `/workflows/${workflowId}/runs/${runId}`;
    await until(async () => (await service.call('GET', path)).at('steps.0.status') === 'succeeded');
    const run = await service.ended(workflowId, runId);
    expect(run.at('status')).toBe('cancelled');
    expect(run.at('steps')).toMatchObject([{ stepId: 'slow', status: 'succeeded' }]);
  });

  test('a run cancelled during a long step keeps its lease until the step has ended', async () => {
    const clock = manualClock();
    const own = await startWorkflows({ clock });
    const workflowId = await own.define(
      manual([{ stepId: 'slow', connectorId: 'sandbox', actionId: 'slow', input: { milliseconds: 0 } }]),
    );
    await own.install(workflowId);
    const step = holdAnswer(own, SLOW);
    const started = await own.call('POST', `/workflows/${workflowId}/run?userId=${own.userId}`);
    const path = `/workflows/${workflowId}/runs/${started.text('runId')}`;
    const status = async () => (await own.call('GET', path)).at('steps.0.status');
    await step.asked;
    await own.call('POST', `${path}/cancel`);
    clock.advance(8 * SECOND);
    const run = own.context.db.selectFrom('workflow_runs').select('next_at');
    const leaseUntil = async () => (await run.executeTakeFirstOrThrow()).next_at;
    await expect.poll(leaseUntil).toBe(clock.now() + LEASE_MS);
    clock.advance(8 * SECOND);
    expect(await status()).toBe('running');
    step.release();
    await until(async () => (await status()) === 'succeeded');
    await own.stop();
  });

  test('a run over items is cancelled before the next item', async () => {
    const slow = { stepId: 'slow', connectorId: 'sandbox', actionId: 'slow', input: { milliseconds: 0 } };
    const workflowId = await service.define(manual([{ ...slow, forEach: '[1, 2, 3]' }]));
    await service.install(workflowId);
    const item = holdAnswer(service, SLOW);
    const started = await service.call('POST', `/workflows/${workflowId}/run?userId=${service.userId}`);
    const path = `/workflows/${workflowId}/runs/${started.text('runId')}`;
    const steps = async () => (await service.call('GET', path)).at('steps');
    await item.asked;
    await service.call('POST', `${path}/cancel`);
    item.release();
    await until(async () => !JSON.stringify(await steps()).includes('running'));
    expect(await steps()).toMatchObject([
      { status: 'cancelled', itemCounts: { succeeded: 1 }, items: [{ status: 'succeeded' }] },
    ]);
  });

  test('a run over items is cancelled while it waits to retry an item', async () => {
    const busy = { stepId: 'busy', connectorId: 'sandbox', actionId: 'fail', input: { status: '=item' } };
    const workflowId = await service.define(
      manual([{ ...busy, onError: { retry: 3 }, forEach: '[204, 422]' }]),
    );
    await service.install(workflowId);
    const started = await service.call('POST', `/workflows/${workflowId}/run?userId=${service.userId}`);
    const runId = started.text('runId');
    await service.ended(workflowId, runId, ['waiting']);
    await service.call('POST', `/workflows/${workflowId}/runs/${runId}/cancel`);
    expect((await service.ended(workflowId, runId)).at('steps')).toMatchObject([
      { status: 'cancelled', itemCounts: { succeeded: 1, cancelled: 1 } },
    ]);
  });

  test('a run in progress ends with its workflow', async () => {
    const workflowId = await service.define(
      manual([
        { stepId: 'slow', connectorId: 'sandbox', actionId: 'slow', input: { milliseconds: 0 } },
        message('never', 'after deletion'),
      ]),
    );
    await service.install(workflowId);
    const step = holdAnswer(service, SLOW);
    const started = await service.call('POST', `/workflows/${workflowId}/run?userId=${service.userId}`);
    await step.asked;
    expect((await service.call('DELETE', `/workflows/${workflowId}`)).status).toBe(200);
    step.release();
    const isOver = (line: string) => line.includes(started.text('runId')) && line.includes('"overtaken"');
    await until(() => service.logged.some(isOver));
    const messages = await service.act('list_messages', { limit: 5 });
    expect(JSON.stringify(messages)).not.toContain('after deletion');
    expect((await service.call('GET', '/health')).status).toBe(200);
  });

  test('a run in progress counts toward the concurrency of its definition', async () => {
    const workflowId = await service.define(
      manual([{ stepId: 'slow', connectorId: 'sandbox', actionId: 'slow', input: { milliseconds: 50 } }], {
        concurrency: 2,
      }),
    );
    await service.install(workflowId);
    const step = holdAnswer(service, SLOW);
    const runs = await Promise.all(
      Array.from({ length: 6 }, () =>
        service.call('POST', `/workflows/${workflowId}/run?userId=${service.userId}`),
      ),
    );
    const ids = runs.map((one) => one.text('runId'));
    const ended = async () => {
      const answers = await Promise.all(
        ids.map((runId) => service.call('GET', `/workflows/${workflowId}/runs/${runId}`)),
      );
      return answers.filter((one) => one.at('status') === 'succeeded').length;
    };
    // The others run one after another next to the held one.
    await expect.poll(ended).toBe(5);
    step.release();
    for (const runId of ids) expect((await service.ended(workflowId, runId)).at('status')).toBe('succeeded');
    const steps = await service.context.db
      .selectFrom('workflow_steps')
      .select(['started_at', 'ended_at'])
      .where('run_id', 'in', ids)
      .execute();
    const most = Math.max(
      ...steps.map(
        ({ started_at: at }) =>
          steps.filter((one) => one.started_at <= at && (one.ended_at ?? 0) > at).length,
      ),
    );
    expect(most).toBe(2);
  });
});

test('a failed run continues from the failed step and repeats no finished step', async () => {
  const { userId, call } = service;
  const workflowId = await service.define(
    manual([
      message('first', 'retry-once'),
      {
        stepId: 'gate',
        connectorId: 'sandbox',
        actionId: 'create_order',
        input: { customerId: 'cus_1001', lines: [{ productId: 'prd_nothing', quantity: 1 }] },
      },
    ]),
  );
  await service.install(workflowId);
  const run = await service.run(workflowId);
  expect(run.at('status')).toBe('failed');
  const path = `/workflows/${workflowId}/runs/${run.text('runId')}`;
  expect((await call('POST', `${path}/retry`)).status).toBe(202);
  const again = await service.ended(workflowId, run.text('runId'));
  expect(again.at('status')).toBe('failed');
  expect(again.at('steps.0.attempts')).toBe(1);
  const messages = JSON.stringify(await service.act('list_messages', { limit: 50 }));
  expect(messages.split('retry-once')).toHaveLength(2);
  await call('DELETE', `/workflows/${workflowId}/install?userId=${userId}`);
  const gone = await call('POST', `${path}/retry`);
  expect([gone.status, gone.text('code')]).toEqual([404, 'installation_not_found']);
});

test('a process that stops hands its runs over at once', async () => {
  const { database, remove } = await freshDatabase('sqlite');
  const env = {
    DATABASE_URL: database.kind === 'sqlite' ? `sqlite:${database.path}` : database.url,
    GATEHOUSE_MASTER_KEY: Buffer.alloc(32, 'a key').toString('base64'),
  };
  // No lease expires, because the clock stands still. So only a handover lets the second process continue.
  const clock = manualClock();
  const first = await startWorkflows({ env, clock });
  // The app is outside of the process, because a step that begins during the stop could not reach the sandbox any more.
  await using app = await startReceiver();
  app.answer = (_, res) => void setTimeout(() => res.end('{}'), 200);
  const http = { method: 'GET', url: app.url };
  const steps = Array.from({ length: 8 }, (_, n) => ({ stepId: `s${n}`, http }));
  const workflowId = await first.define(manual(steps, { allowedHosts: [new URL(app.url).host] }));
  await first.install(workflowId);
  const started = await first.call('POST', `/workflows/${workflowId}/run?userId=${first.userId}`);
  const path = `/workflows/${workflowId}/runs/${started.text('runId')}`;
  await until(async () => (await first.call('GET', path)).at('steps.0.status') === 'succeeded');
  await first.stop();
  const second = await startService({ env, clock });
  const call = () => second.call('GET', path, { bearer: first.developmentKey });
  await until(async () => (await call()).at('status') === 'succeeded');
  const run = await call();
  expect(run.at('steps.7.status')).toBe('succeeded');
  expect(JSON.stringify(run.at('steps')).match(/"attempts":2/g)).toBeNull();
  await second.stop();
  await remove();
});

test('the same Idempotency-Key returns the run that it started', async () => {
  const workflowId = await service.define(manual([message('a', 'once by key')]));
  await service.install(workflowId);
  const start = () =>
    service.call('POST', `/workflows/${workflowId}/run?userId=${service.userId}`, {
      headers: { 'idempotency-key': 'order 7' },
    });
  const [one, two] = await Promise.all([start(), start()]);
  expect(two.text('runId')).toBe(one.text('runId'));
  await service.ended(workflowId, one.text('runId'));
  const messages = JSON.stringify(await service.act('list_messages', { limit: 50 }));
  expect(messages.split('once by key')).toHaveLength(2);
});

test('workflow runs are stored for 30 days after their end, waiting ones without limit', async () => {
  const clock = manualClock();
  const own = await startWorkflows({ clock });
  const short = await own.define(manual([{ stepId: 'a', map: '1' }]));
  const long = await own.define(manual([{ stepId: 'a', wait: 'P60D' }]));
  for (const workflowId of [short, long]) await own.install(workflowId);
  await own.run(short);
  const waiting = await own.call('POST', `/workflows/${long}/run?userId=${own.userId}`);
  await own.ended(long, waiting.text('runId'), ['waiting']);
  const count = async (workflowId: string) => {
    const listed = (await own.call('GET', `/workflows/${workflowId}/runs`)).at('data');
    return Array.isArray(listed) ? listed.length : -1;
  };
  clock.advance(29 * DAY);
  // Rounds of the runner, which delete old runs, also execute this one.
  await own.run(short);
  expect(await count(short)).toBe(2);
  clock.advance(2 * DAY);
  await until(async () => (await count(short)) === 1);
  expect(await count(long)).toBe(1);
  clock.advance(30 * DAY);
  expect((await own.ended(long, waiting.text('runId'))).at('status')).toBe('succeeded');
  await own.stop();
});

test('a draft is tried without installation', async () => {
  const workflowId = await service.define(manual([message('a', 'x')]));
  await service.call('POST', `/workflows/${workflowId}/versions`, {
    body: {
      definition: manual([{ stepId: 'm', map: 'config.n * 2' }], {
        configurableFields: { properties: { n: { type: 'integer' } } },
      }),
      draft: true,
    },
  });
  const started = await service.call(
    'POST',
    `/workflows/${workflowId}/versions/2/try?userId=${service.userId}`,
    {
      body: { config: { n: 21 } },
    },
  );
  expect(started.status).toBe(202);
  const run = await service.ended(workflowId, started.text('runId'));
  expect(run.at('steps.0.output.data')).toBe(42);
});
