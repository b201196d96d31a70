import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { until } from '../support/until.ts';
import { startReceiver, verified, type Receiver } from '../support/receiver.ts';
import { STORE_KINDS } from '../support/stores.ts';
import { manual, startWorkflows, type WorkflowService } from '../support/workflows.ts';

const fails = (status = 422) => ({
  stepId: 'bad',
  connectorId: 'sandbox',
  actionId: 'fail',
  input: { status },
});

describe.each(STORE_KINDS)('runs over all workflows on %s', (kind) => {
  let service: WorkflowService;
  let operator: Receiver;
  let secret: string;
  beforeAll(async () => {
    service = await startWorkflows({ kind });
    operator = await startReceiver();
    const settings = await service.call('PUT', '/api/settings', { body: { eventsAddress: operator.url } });
    secret = settings.text('eventsSecret');
  });
  afterAll(async () => {
    await service.stop();
    await operator[Symbol.asyncDispose]();
  });

  /** Returns the notifications that the operator received about a run. */
  const toldOf = (runId: string) =>
    operator.received
      .map((one): { type: string; data: { runId?: string } } =>
        JSON.parse(String(JSON.stringify(verified(secret, one)))),
      )
      .filter(({ data }) => data.runId === runId);

  test('workflow runs are listed by workflow, user and status, in pages', async () => {
    const bob = await service.newUser('bob');
    const good = await service.define(manual([{ stepId: 'one', map: '1' }]));
    const bad = await service.define(manual([fails()]));
    for (const userId of [service.userId, bob.userId])
      for (const workflowId of [good, bad]) await service.install(workflowId, {}, userId);
    const ids: Record<string, string> = {};
    for (const [name, workflowId, userId] of [
      ['ada good', good, service.userId],
      ['ada bad', bad, service.userId],
      ['bob good', good, bob.userId],
      ['bob bad', bad, bob.userId],
    ] as const)
      ids[(await service.run(workflowId, {}, userId)).text('runId')] = name;

    const list = async (query = '') => {
      const answer = await service.call('GET', `/runs${query}`);
      expect(answer.status).toBe(200);
      return (
        JSON.stringify(answer.body)
          .match(/run_\w+/g)
          ?.map((id) => ids[id]) ?? []
      );
    };
    expect(await list()).toEqual(['bob bad', 'bob good', 'ada bad', 'ada good']);
    expect(await list(`?workflowId=${bad}`)).toEqual(['bob bad', 'ada bad']);
    expect(await list(`?userId=${service.userId}`)).toEqual(['ada bad', 'ada good']);
    expect(await list('?status=failed')).toEqual(['bob bad', 'ada bad']);
    expect(await list(`?status=failed&userId=${bob.userId}&workflowId=${good}`)).toEqual([]);

    const first = await service.call('GET', '/runs?limit=3');
    expect(first.at('pagination')).toMatchObject({ hasMore: true, nextOffset: 3 });
    const cursor = first.text('pagination.nextCursor');
    expect(await list(`?limit=3&cursor=${cursor}`)).toEqual(['ada good']);
    expect((await service.call('GET', '/runs?limit=51')).status).toBe(400);
    expect((await service.call('GET', '/runs?status=lost')).status).toBe(400);

    const production = await service.call('GET', '/runs', { bearer: service.productionKey });
    expect(production.at('data')).toEqual([]);
    const token = await service.call('GET', `/2023-12/user/${bob.userId}/token`);
    const bearer = token.text('token');
    const own = await service.call('GET', '/runs', { bearer });
    expect(own.at('data.2')).toBeUndefined();
    expect(own.at('data.0.userId')).toBe(bob.userId);
    const foreign = await service.call('GET', `/runs?userId=${service.userId}`, { bearer });
    expect(foreign.status).toBe(403);
  });

  test('workflow runs that fail are reported once, and once they recover', async () => {
    const workflowId = await service.define(
      manual([
        {
          stepId: 'bad',
          connectorId: 'sandbox',
          actionId: 'fail',
          input: { status: '=user.metadata.status' },
        },
      ]),
      `reported ${kind}`,
    );
    const path = `/users/${service.userId}`;
    await service.call('PUT', path, { body: { metadata: { status: 422 } } });
    await service.install(workflowId);
    const run = await service.run(workflowId);
    const runId = run.text('runId');
    await until(() => toldOf(runId).length === 1);
    expect(toldOf(runId)[0]).toEqual({
      type: 'run.failed',
      timestamp: expect.any(String),
      data: {
        runId,
        workflowId,
        workflowName: `reported ${kind}`,
        installationId: run.at('installationId'),
        userId: service.userId,
        version: 1,
        trigger: 'manual',
        stepId: 'bad',
        code: 'upstream_rejected',
        reason: run.at('error.error'),
      },
    });

    const retry = async () => {
      await service.call('POST', `/workflows/${workflowId}/runs/${runId}/retry`);
      return (await service.ended(workflowId, runId)).at('status');
    };
    // Its input is stored, so that it fails again.
    expect(await retry()).toBe('failed');
    await service.context.db.deleteFrom('workflow_steps').where('run_id', '=', runId).execute();
    await service.call('PUT', path, { body: { metadata: { status: 200 } } });
    expect(await retry()).toBe('succeeded');
    await until(() => toldOf(runId).length === 2);
    expect(toldOf(runId).map(({ type }) => type)).toEqual(['run.failed', 'run.recovered']);
  });

  test('workflow runs that succeed at once are not reported', async () => {
    const workflowId = await service.define(manual([{ stepId: 'one', map: '1' }]));
    const failing = await service.define(manual([fails()]));
    await service.install(workflowId);
    await service.install(failing);
    const good = await service.run(workflowId);
    const bad = await service.run(failing);
    await until(() => toldOf(bad.text('runId')).length === 1);
    expect(toldOf(good.text('runId'))).toEqual([]);
  });
});
