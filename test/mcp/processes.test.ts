import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { rpc, shop } from '../support/mcp.ts';
import { modern } from '../support/modern.ts';
import { startService, type Service } from '../support/service.ts';

/*
 * Two processes on one store, behind a load balancer that knows nothing of clients.
 */
const home = mkdtempSync(join(tmpdir(), 'gatehouse-processes-'));
const env = { GATEHOUSE_HOME: home, GATEHOUSE_TEST_CONNECTORS: '1' };
let first: Service;
let second: Service;
let path: string;
beforeAll(async () => {
  first = await startService({ env });
  second = await startService({ env });
  const one = await shop(first, {
    toolMode: 'direct',
    restrictions: { connectors: { allowedIds: ['everything'] } },
  });
  path = new URL(one.accessUrl).pathname;
});
afterAll(async () => {
  await second.stop();
  await first.stop();
  rmSync(home, { recursive: true, force: true });
});

test('a question of one process can be answered at the other', async () => {
  const call = (service: Service, more: object = {}) =>
    modern(
      service.url + path,
      'tools/call',
      { name: 'test_input_required_result_multi_round', arguments: {}, ...more },
      { capabilities: { elicitation: {} } },
    );
  const given = (key: string, content: object, state: unknown) => ({
    inputResponses: { [key]: { action: 'accept', content } },
    requestState: state,
  });
  const asked = await call(first);
  const again = await call(second, given('step1', { name: 'Ada' }, asked.at('result.requestState')));
  expect(again.at('result.inputRequests')).toHaveProperty('step2');
  const done = await call(first, given('step2', { color: 'blue' }, again.at('result.requestState')));
  expect(done.at('result.content.0.text')).toBe('Multi-round complete for Ada who likes blue');
});

test('a session is unknown to the other process, so its client initializes again', async () => {
  const opened = await rpc(first.url + path, 'initialize', { protocolVersion: '2025-11-25' });
  const headers = { 'mcp-session-id': opened.headers.get('mcp-session-id') ?? '' };
  const elsewhere = await rpc(second.url + path, 'ping', undefined, { headers });
  expect([elsewhere.status, elsewhere.at('error.code')]).toEqual([404, -32001]);
});
