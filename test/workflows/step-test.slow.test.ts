import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { STORE_KINDS } from '../support/stores.ts';
import { manual, message, startWorkflows, type WorkflowService } from '../support/workflows.ts';

/* The test of one step of a draft: POST /workflows/{workflowId}/versions/{version}/try with `stepId`. */

const listProducts = {
  stepId: 'products',
  connectorId: 'sandbox',
  actionId: 'list_products',
  input: { limit: 2 },
};
const fails = (status: number) => ({ connectorId: 'sandbox', actionId: 'fail', input: { status } });

describe.each(STORE_KINDS)('the test of a step, over %s', (kind) => {
  let service: WorkflowService;
  let workflowId: string;
  beforeAll(async () => {
    service = await startWorkflows({ kind });
    workflowId = await service.define(manual([{ stepId: 'one', map: '1' }]));
  });
  afterAll(() => service.stop());

  /** Stores a draft and tests one step of it, or all of them. */
  const tryStep = async (definition: unknown, body: object, userId = service.userId) => {
    const stored = await service.call('POST', `/workflows/${workflowId}/versions`, {
      body: { definition, draft: true },
    });
    const path = `/workflows/${workflowId}/versions/${String(stored.at('version'))}/try?userId=${userId}`;
    return service.call('POST', path, { body });
  };
  const tested = async (definition: unknown, body: object) => {
    const started = await tryStep(definition, body);
    expect([started.status, started.at('code')]).toEqual([202, undefined]);
    return service.ended(workflowId, started.text('runId'));
  };
  const messages = async () => JSON.stringify(await service.act('list_messages', { limit: 50 }));

  test('the test of a step runs that step alone, with the given result of an earlier one', async () => {
    const text = `given ${Math.random()}`;
    const definition = manual([
      listProducts,
      message('send', `='${text}: ' & steps.products.data[0].name`),
      message('later', `${text} later`),
    ]);
    const given = { products: { data: [{ name: 'Lamp' }] } };
    const run = await tested(definition, { stepId: 'send', given });
    expect(run.body).toMatchObject({ status: 'succeeded', stepId: 'send', installationId: null });
    expect(run.at('steps')).toMatchObject([
      { stepId: 'products', status: 'given', attempts: 0, output: given.products },
      { stepId: 'send', status: 'succeeded', input: { text: `${text}: Lamp` } },
    ]);
    expect(run.at('steps.2')).toBeUndefined();
    const sent = await messages();
    expect(sent).toContain(`${text}: Lamp`);
    expect(sent).not.toContain(`${text} later`);
  });

  test('the test of a step uses results, trigger and configuration of an earlier run', async () => {
    const definition = manual(
      [
        listProducts,
        {
          stepId: 'sum',
          map: "steps.products.data[0].id & ' ' & trigger.input.note & ' ' & config.key",
        },
      ],
      {
        configurableFields: { properties: { key: { type: 'string', writeOnly: true } }, required: ['key'] },
      },
    );
    const whole = await tested(definition, { config: { key: 'canary-5519' }, input: { note: 'hello' } });
    const first = await tested(definition, { stepId: 'sum', fromRunId: whole.text('runId') });
    expect(first.text('steps.1.output.data')).toMatch(/^prd_\d+ hello \[secret\]$/);
    const given = { products: { data: [{ id: 'other' }] } };
    const again = { stepId: 'sum', fromRunId: first.text('runId'), given, input: { note: 'bye' } };
    expect((await tested(definition, again)).text('steps.1.output.data')).toBe('other bye [secret]');
    const row = await service.context.db
      .selectFrom('workflow_steps')
      .select('output_sealed')
      .where('run_id', '=', first.text('runId'))
      .where('step_id', '=', 'sum')
      .executeTakeFirstOrThrow();
    expect(row.output_sealed).not.toBeNull();
  });

  test('the test of a step passes on an exact result whose log hides a secret', async () => {
    const definition = manual(
      [
        { stepId: 'key', map: "'is ' & config.key" },
        { stepId: 'length', map: '$length(steps.key.data)' },
      ],
      { configurableFields: { properties: { key: { type: 'string', writeOnly: true } } } },
    );
    const whole = await tested(definition, { config: { key: 'canary-with-a-long-tail' } });
    expect(whole.at('steps.0.output.data')).toBe('is [secret]');
    const run = await tested(definition, { stepId: 'length', fromRunId: whole.text('runId') });
    expect(run.at('steps.1.output.data')).toBe('is canary-with-a-long-tail'.length);
    expect(run.at('steps.0.output.data')).toBe('is [secret]');
  });

  test('the test of a step checks a condition and computes a wait without waiting', async () => {
    const definition = manual([
      { stepId: 'off', map: '1', when: 'trigger.input.on' },
      { stepId: 'pause', wait: 'P3D' },
      { stepId: 'after', map: '2' },
    ]);
    const skipped = await tested(definition, { stepId: 'off', input: { on: false } });
    expect(skipped.at('steps')).toMatchObject([{ stepId: 'off', status: 'skipped' }]);
    const ran = await tested(definition, { stepId: 'off', input: { on: true } });
    expect(ran.at('steps')).toMatchObject([{ stepId: 'off', status: 'succeeded', output: { data: 1 } }]);
    const paused = await tested(definition, { stepId: 'pause' });
    const until = Date.parse(paused.text('steps.0.output.until'));
    expect(until - Date.parse(paused.text('startedAt'))).toBeGreaterThan(2 * 24 * 60 * 60 * 1000);
    expect(paused.at('steps')).toMatchObject([{ stepId: 'pause', status: 'succeeded' }]);
  });

  test('a for-each runs its first item alone', async () => {
    const text = `item ${Math.random()}`;
    const definition = manual([
      message('each', `='${text} ' & item`, { forEach: "['a', 'b', 'c']", onError: 'continue' }),
    ]);
    const run = await tested(definition, { stepId: 'each' });
    expect(run.at('steps.0')).toMatchObject({ input: { items: 3, tested: 1 }, output: { succeeded: 1 } });
    const sent = await messages();
    expect(sent).toContain(`${text} a`);
    expect(sent).not.toContain(`${text} b`);
  });

  test.each([
    ['continue', 'continue'],
    ['retries', { retry: 3 }],
  ])('the test of a step ends at its first failure, although it names %s', async (_, onError) => {
    const definition = manual([
      { stepId: 'bad', ...fails(422), onError },
      { stepId: 'after', map: '1' },
    ]);
    const run = await tested(definition, { stepId: 'bad' });
    expect(run.body).toMatchObject({ status: 'failed', error: { stepId: 'bad', code: 'upstream_rejected' } });
    expect(run.at('steps')).toMatchObject([{ stepId: 'bad', status: 'failed', attempts: 1 }]);
  });

  test('wrong input fails with the field, and a retry runs the same step alone', async () => {
    const definition = manual([message('send', '=trigger.input.none'), { stepId: 'after', map: '1' }]);
    const run = await tested(definition, { stepId: 'send' });
    expect(run.at('steps.0.error')).toMatchObject({ code: 'expression_failed' });
    expect(JSON.stringify(run.at('steps.0.error.details.faults'))).toContain('text');
    await service.call('POST', `/workflows/${workflowId}/runs/${run.text('runId')}/retry`);
    const retried = await service.ended(workflowId, run.text('runId'));
    expect(retried.at('steps')).toMatchObject([{ stepId: 'send', status: 'failed' }]);
  });

  test('the test of a step needs the account of its own app alone', async () => {
    const made = await service.call('POST', '/users', { body: { username: `bare ${Math.random()}` } });
    const userId = made.text('userId');
    const definition = manual([{ stepId: 'sum', map: '1 + 1' }, listProducts]);
    const calls = await tryStep(definition, { stepId: 'products' }, userId);
    expect([calls.status, calls.at('code')]).toEqual([409, 'credential_required']);
    const computes = await tryStep(definition, { stepId: 'sum' }, userId);
    expect(computes.status).toBe(202);
    expect((await service.ended(workflowId, computes.text('runId'))).at('steps.0.output.data')).toBe(2);
  });

  const TWO = manual([listProducts, { stepId: 'sum', map: 'steps.products.data' }]);
  test.each([
    ['an unknown step', { stepId: 'nope' }, 'stepId'],
    ['a missing result', { stepId: 'sum' }, 'given.products'],
    ['the result of a later step', { stepId: 'products', given: { sum: { data: 1 } } }, 'given.sum'],
    ['results without a step', { given: { products: { data: [] } } }, 'given'],
    ['a run without a step', { fromRunId: 'run_0000000000000000000000' }, 'fromRunId'],
    ['a result that is no object', { stepId: 'sum', given: { products: 1 } }, 'given.products'],
  ])('the test of a step refuses %s by field', async (_, body, field) => {
    const answer = await tryStep(TWO, body);
    expect([answer.status, answer.at('details.faults.0.field')]).toEqual([400, field]);
  });

  test('the test of a step takes nothing from the run of another user', async () => {
    const whole = await tested(TWO, {});
    const { userId } = await service.newUser(`other${String(Math.random()).slice(2)}`);
    const answer = await tryStep(TWO, { stepId: 'sum', fromRunId: whole.text('runId') }, userId);
    expect([answer.status, answer.at('code')]).toEqual([404, 'run_not_found']);
  });
});
