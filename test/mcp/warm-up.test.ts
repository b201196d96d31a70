import { expect, test } from 'vitest';
import { createMcpCore } from '../../src/mcp/server/server.ts';
import { warmUp } from '../../src/mcp/server/warm-up.ts';
import { shop } from '../support/mcp.ts';
import { readMetrics } from '../support/metrics.ts';
import { startService } from '../support/service.ts';
import { until } from '../support/until.ts';

/* The call that a service answers for itself after its start. */

test('a warm-up calls a tool of the newest server in each environment', async () => {
  await using service = await startService();
  await shop(service, {});
  const newest = await shop(service, {});
  const bearer = service.productionKey;
  const user = await service.call('POST', '/users', { bearer, body: { username: 'user' } });
  const inProduction = await service.call('POST', '/api/servers', {
    bearer,
    headers: { 'x-svc-userid': user.text('userId') },
    body: { name: 'server' },
  });
  const core = await createMcpCore(service.context);
  const calls: object[] = [];
  await warmUp(service.context, async (request, call) => {
    const answer = await core.answer(request, call);
    calls.push({ serverId: call.grant.live.server.serverId, answer });
    return answer;
  });
  await core.close();
  const answer = expect.objectContaining({
    failed: false,
    result: expect.stringContaining('"connectors":[]'),
  });
  expect(calls).toEqual([
    { serverId: newest.serverId, answer },
    { serverId: inProduction.text('serverId'), answer },
  ]);
});

test('a warm-up counts as no request and records nothing', async () => {
  await using service = await startService();
  await shop(service, {});
  await until(() => service.logged.some((line) => line.includes('warm-up done')));
  const { text } = await readMetrics(service.url);
  expect(text).not.toContain('gatehouse_mcp_requests_total{');
  const { count } = await service.context.db
    .selectFrom('executions')
    .select((e) => e.fn.countAll<number>().as('count'))
    .executeTakeFirstOrThrow();
  expect(Number(count)).toBe(0);
});
