import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { asObject, type JsonObject } from '../../src/lib/json.ts';
import { MAX_CHAIN } from '../../src/workflows/chains.ts';
import type { Answer } from '../support/service.ts';
import { STORE_KINDS } from '../support/stores.ts';
import { until } from '../support/until.ts';
import { startWorkflows, type WorkflowService } from '../support/workflows.ts';

/* Workflows whose steps cause the events that start them. */

const CREATED = { type: 'event', connectorId: 'sandbox', scope: 'commerce/customers' };
const createCustomer = {
  stepId: 'create',
  connectorId: 'sandbox',
  actionId: 'create_customer',
  input: { name: 'Copy', email: '="c" & $substring($string($random()), 2) & "@example.com"' },
};

function rowsIn(list: Answer): JsonObject[] {
  const data = list.at('data');
  return Array.isArray(data) ? data.map(asObject) : [];
}

describe.each(STORE_KINDS)('with %s', (kind) => {
  let service: WorkflowService;
  beforeAll(async () => {
    service = await startWorkflows({ kind, env: { GATEHOUSE_ALLOW_PRIVATE_NETWORK: 'true' } });
  });
  afterAll(() => service.stop());

  /** Returns the runs of workflows once one of them has failed and none is left to run. */
  async function runsAfterStop(workflowIds: string[]) {
    let runs: JsonObject[] = [];
    await until(async () => {
      const lists = await Promise.all(
        workflowIds.map((id) => service.call('GET', `/workflows/${id}/runs?limit=50`)),
      );
      runs = lists.flatMap((list) => rowsIn(list));
      const isOver = (run: JsonObject) => ['succeeded', 'failed'].includes(String(run['status']));
      return runs.some((run) => run['status'] === 'failed') && runs.every(isOver);
    });
    return runs;
  }
  const createOne = () =>
    service.act('create_customer', { name: 'Ada', email: `a${Math.random()}@example.com` });

  test('a workflow that starts itself is stopped, and its last run says why', async () => {
    const workflowId = await service.define({ trigger: CREATED, steps: [createCustomer] });
    await service.install(workflowId);
    await createOne();
    const runs = await runsAfterStop([workflowId]);
    const failed = runs.filter((run) => run['status'] === 'failed');
    expect([runs.length, failed.length]).toEqual([MAX_CHAIN + 2, 1]);
    const run = await service.call('GET', `/workflows/${workflowId}/runs/${String(failed[0]?.['runId'])}`);
    expect(run.at('error')).toMatchObject({
      code: 'workflow_loop',
      error: expect.stringContaining('start themselves'),
    });
    expect(run.at('steps')).toEqual([]);
    await service.call('DELETE', `/workflows/${workflowId}`);
  });

  test('records that others create at a high rate start runs without a limit', async () => {
    const contact = {
      stepId: 'contact',
      connectorId: 'sandbox',
      actionId: 'upsert_contact',
      input: { email: '=trigger.data.email' },
    };
    const workflowId = await service.define({ trigger: CREATED, steps: [contact] });
    await service.install(workflowId);
    const count = MAX_CHAIN * 2;
    for (let made = 0; made < count; made++) await createOne();
    await until(async () => {
      const list = await service.call('GET', `/workflows/${workflowId}/runs?limit=50`);
      return rowsIn(list).filter((run) => run['status'] === 'succeeded').length === count;
    });
    const failed = await service.call('GET', `/runs?workflowId=${workflowId}&status=failed`);
    expect(rowsIn(failed)).toEqual([]);
    await service.call('DELETE', `/workflows/${workflowId}`);
  });

  test('a workflow that calls its own address is stopped', async () => {
    const host = new URL(service.url).host;
    const workflowId = await service.define({
      trigger: { type: 'call' },
      allowedHosts: [host],
      configurableFields: { properties: { url: { type: 'string' } } },
      steps: [{ stepId: 'again', http: { method: 'POST', url: '=config.url', body: { a: 1 } } }],
    });
    const address = (await service.install(workflowId, { url: service.url })).text('hookUrl');
    await service.call('PUT', `/workflows/${workflowId}/install?userId=${service.userId}`, {
      body: { config: { url: address } },
    });
    await service.call('POST', new URL(address).pathname, { body: {} });
    const runs = await runsAfterStop([workflowId]);
    expect(runs).toHaveLength(MAX_CHAIN + 2);
    await service.call('DELETE', `/workflows/${workflowId}`);
  });
});
