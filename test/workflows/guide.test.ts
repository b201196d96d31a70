import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { expect, test } from 'vitest';
import { parseJson, valueAt } from '../../src/lib/json.ts';
import { startWorkflows } from '../support/workflows.ts';

const GUIDE = readFileSync(resolve(import.meta.dirname, '../../docs/workflows.md'), 'utf8');

test('the definition of the guide runs on a unified order', async () => {
  const service = await startWorkflows();
  try {
    const [, text = ''] = /```json\n(.*?)```/s.exec(GUIDE) ?? [];
    const workflowId = await service.define(parseJson(text));
    const installed = await service.install(workflowId, { recipient: 'me@example.com', least: 0 });
    expect(installed.at('trigger')).toEqual({ type: 'event', listening: true });
    const orders = await service.call(
      'GET',
      `/2023-03/one/commerce/orders?connectionId=${service.credentialId}&limit=1`,
    );
    const run = await service.run(workflowId, valueAt(orders.body, 'data.0') ?? null);
    expect(run.at('error')).toBeUndefined();
    expect(run.text('steps.1.input.text')).toMatch(/^\w+ .+ ordered for \d+\.\d\d$/);
  } finally {
    await service.stop();
  }
});

test('the guide names every starter and every step member', async () => {
  const service = await startWorkflows();
  try {
    const listed = await service.call('GET', '/workflow-starters');
    const data = listed.at('data');
    for (const one of Array.isArray(data) ? data : [])
      expect(GUIDE).toContain(String(valueAt(one, 'starterId')));
    const api = await service.call('GET', '/openapi.json');
    const schema = JSON.stringify(valueAt(api.body, 'components.schemas'));
    for (const member of ['forEach', 'onError', 'allowedHosts', 'configurableFields', 'timeZone']) {
      expect(schema).toContain(member);
      expect(GUIDE).toContain(member);
    }
  } finally {
    await service.stop();
  }
});
