import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { DAY } from '../../src/lib/clock.ts';
import { manualClock } from '../support/clock.ts';
import { STORE_KINDS } from '../support/stores.ts';
import { manual, message, startWorkflows, type WorkflowService } from '../support/workflows.ts';

describe.each(STORE_KINDS)('starts of workflows on %s', (kind) => {
  const clock = manualClock();
  let service: WorkflowService;
  beforeAll(async () => {
    service = await startWorkflows({ kind, clock });
  });
  afterAll(() => service.stop());

  /** Returns the two ways to start a workflow with a key; each sends a body and returns a run. */
  async function ways() {
    const byHand = await service.define(manual([{ stepId: 'one', map: 'trigger.input' }]));
    await service.install(byHand);
    const called = await service.define({ trigger: { type: 'call' }, steps: [{ stepId: 'one', map: '1' }] });
    const hook = new URL((await service.install(called)).text('hookUrl'));
    return {
      'by hand': (key: string, a: number) =>
        service.call('POST', `/workflows/${byHand}/run?userId=${service.userId}`, {
          headers: { 'idempotency-key': key },
          body: { input: { a } },
        }),
      'by a call': (key: string, a: number) =>
        service.call('POST', hook.pathname, {
          bearer: null,
          headers: { 'idempotency-key': key },
          body: { a },
        }),
    };
  }

  test.each(['by hand', 'by a call'] as const)('a key with another body is rejected %s', async (how) => {
    const start = (await ways())[how];
    const first = await start('k1', 1);
    expect(first.status).toBe(202);
    const other = await start('k1', 2);
    expect([other.status, other.at('code')]).toEqual([409, 'idempotency_conflict']);
    expect((await start('k1', 1)).at('runId')).toBe(first.at('runId'));
    expect((await start('k2', 2)).status).toBe(202);

    const raced = await Promise.all([1, 2, 1, 2, 1, 2].map((a) => start('k3', a)));
    const runs = new Set(raced.filter(({ status }) => status === 202).map((one) => one.at('runId')));
    expect(runs.size).toBe(1);
    expect(raced.filter(({ status }) => status === 409)).toHaveLength(3);

    clock.advance(DAY);
    const later = await start('k1', 2);
    expect(later.status).toBe(202);
    expect(later.at('runId')).not.toBe(first.at('runId'));
    expect((await start('k1', 1)).status).toBe(409);
  });

  test('a disabled user starts nothing, and a retry is rejected too', async () => {
    const { userId } = await service.newUser('disabled');
    const byHand = await service.define(
      manual([{ stepId: 'bad', connectorId: 'sandbox', actionId: 'fail', input: { status: 422 } }]),
    );
    const called = await service.define({ trigger: { type: 'call' }, steps: [{ stepId: 'one', map: '1' }] });
    const other = await service.define(manual([{ stepId: 'one', map: '1' }]));
    await service.install(byHand, {}, userId);
    const hook = new URL((await service.install(called, {}, userId)).text('hookUrl'));
    const failed = await service.run(byHand, {}, userId);
    await service.call('PUT', `/users/${userId}`, { body: { enabled: false } });

    const refused = [
      await service.call('POST', `/workflows/${byHand}/run?userId=${userId}`, { body: {} }),
      await service.call('POST', `/workflows/${byHand}/versions/1/try?userId=${userId}`, { body: {} }),
      await service.call('POST', `/workflows/${byHand}/runs/${failed.text('runId')}/retry`),
      await service.call('POST', hook.pathname, { bearer: null, body: {} }),
      await service.install(other, {}, userId),
    ];
    expect(refused.map((answer) => [answer.status, answer.at('code')])).toEqual(
      refused.map(() => [403, 'forbidden']),
    );

    await service.call('PUT', `/users/${userId}`, { body: { enabled: true } });
    expect((await service.call('POST', hook.pathname, { bearer: null, body: {} })).status).toBe(202);
  });

  test('the schedule of a disabled user continues without runs', async () => {
    const { userId } = await service.newUser('asleep');
    const workflowId = await service.define({
      trigger: { type: 'schedule', cron: '0 * * * *' },
      steps: [{ stepId: 'one', map: '1' }],
    });
    await service.install(workflowId, {}, userId);
    const nextAt = async () => {
      const listed = await service.call('GET', `/workflows/${workflowId}/installations`);
      return Date.parse(listed.text('data.0.trigger.nextAt'));
    };
    await service.call('PUT', `/users/${userId}`, { body: { enabled: false } });
    clock.advance(DAY);
    service.context.runs.wake();
    await expect.poll(nextAt).toBeGreaterThan(clock.now());
    const runs = await service.call('GET', `/workflows/${workflowId}/runs`);
    expect(runs.at('data')).toEqual([]);
  });

  test('a run stops before its next step when its user is disabled', async () => {
    const { userId } = await service.newUser('leaving');
    const disable = `${service.url}/users/${userId}`;
    const workflowId = await service.define({
      ...manual([
        {
          stepId: 'disable',
          http: {
            method: 'PUT',
            url: '=trigger.input.url',
            headers: { authorization: '=trigger.input.key', 'x-api-version': '2025-09' },
            body: { enabled: false },
          },
        },
        message('never', 'x'),
      ]),
      allowedHosts: [new URL(service.url).host],
    });
    await service.install(workflowId, {}, userId);
    const key = `Bearer ${service.developmentKey}`;
    const run = await service.run(workflowId, { url: disable, key }, userId);
    expect(run.at('status')).toBe('failed');
    expect(run.at('error')).toMatchObject({ stepId: 'never', code: 'forbidden' });
    expect(run.at('steps')).toMatchObject([{ stepId: 'disable', status: 'succeeded' }]);

    await service.call('PUT', `/users/${userId}`, { body: { enabled: true } });
    await service.call('POST', `/workflows/${workflowId}/runs/${run.text('runId')}/retry`);
    expect((await service.ended(workflowId, run.text('runId'))).at('status')).toBe('succeeded');
  });

  test('a loop stops before its next item when its user is disabled', async () => {
    const { userId } = await service.newUser('looping');
    const workflowId = await service.define({
      ...manual([
        {
          stepId: 'each',
          forEach: '[1..3]',
          onError: 'continue',
          http: {
            method: 'PUT',
            url: '=trigger.input.url',
            headers: { authorization: '=trigger.input.key', 'x-api-version': '2025-09' },
            body: { enabled: false },
          },
        },
      ]),
      allowedHosts: [new URL(service.url).host],
    });
    await service.install(workflowId, {}, userId);
    const input = { url: `${service.url}/users/${userId}`, key: `Bearer ${service.developmentKey}` };
    const run = await service.run(workflowId, input, userId);
    expect([run.at('status'), run.at('error.code')]).toEqual(['failed', 'forbidden']);
    expect(run.at('steps.0.itemCounts')).toEqual({ succeeded: 1 });
  });
});
