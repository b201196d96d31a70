import { afterAll, beforeAll, expect, test } from 'vitest';
import { startLedger, type Ledger } from '../support/ledger.ts';
import { manual, type WorkflowService } from '../support/workflows.ts';
import { startService } from '../support/service.ts';
import { until } from '../support/until.ts';

const FULL = process.env['PROOF'] === 'full';
const MANY = FULL ? 10_000 : 1_000;

let ledger: Ledger;
let service: Pick<WorkflowService, 'call' | 'stop' | 'context'>;
let userId: string;
beforeAll(async () => {
  ledger = await startLedger();
  service = await startService({ catalogFolder: ledger.catalogFolder });
  userId = (await service.call('POST', '/users', { body: { username: 'ada' } })).text('userId');
});
afterAll(async () => {
  await service.stop();
  await ledger[Symbol.asyncDispose]();
});

async function runOf(definition: unknown) {
  const made = await service.call('POST', '/workflows', { body: { name: `w ${Math.random()}`, definition } });
  const workflowId = made.text('workflowId');
  await service.call('POST', `/workflows/${workflowId}/install?userId=${userId}`, { body: {} });
  const started = await service.call('POST', `/workflows/${workflowId}/run?userId=${userId}`);
  const path = `/workflows/${workflowId}/runs/${started.text('runId')}`;
  let run = await service.call('GET', path);
  await until(
    async () => {
      run = await service.call('GET', path);
      return ['succeeded', 'failed'].includes(run.text('status'));
    },
    { withinMs: 600_000 },
  );
  return run;
}

const each = (to: number) =>
  manual([
    { stepId: 'numbers', map: `[1..${to}]` },
    {
      stepId: 'each',
      connectorId: 'ledger',
      actionId: 'post_entry',
      input: { n: '=item', text: '="entry " & $string(item)' },
      forEach: 'steps.numbers.data',
    },
    { stepId: 'after', map: '$count(steps.each.data)' },
  ]);

test(`a run ends with ${MANY} items in a for-each`, { timeout: 900_000 }, async () => {
  const before = performance.now();
  const memory = process.memoryUsage().rss;
  const run = await runOf(each(MANY));
  const perItem = (performance.now() - before) / MANY;
  const grown = Math.round((process.memoryUsage().rss - memory) / 1e6);
  process.stdout.write(`${MANY} items: ${perItem.toFixed(2)} ms each, ${grown} MB more\n`);
  expect(run.at('error')).toBeUndefined();
  expect(run.at('steps.1.itemCounts')).toEqual({ succeeded: MANY });
  expect(run.at('steps.2.output.data')).toBe(MANY);
  expect(ledger.count).toBe(MANY);
});

test('one item above the limit fails the run before anything is sent', async () => {
  const count = ledger.count;
  const run = await runOf(each(10_001));
  expect([run.at('status'), run.at('error.stepId')]).toEqual(['failed', 'each']);
  expect(run.text('error.error')).toContain('at most 10000');
  expect(ledger.count).toBe(count);
});
