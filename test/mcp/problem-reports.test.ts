import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { DAY, HOUR } from '../../src/lib/clock.ts';
import { deleteOldRows } from '../../src/actions/execution-retention.ts';
import { rpc, shop } from '../support/mcp.ts';
import { startService, type Service } from '../support/service.ts';
import { STORE_KINDS } from '../support/stores.ts';

describe.each(STORE_KINDS)('a problem that an agent reports, on %s', (kind) => {
  let ahead = 0;
  let service: Service;
  let one: Awaited<ReturnType<typeof shop>>;
  beforeAll(async () => {
    service = await startService({ kind, clock: { now: () => Date.now() + ahead } });
    one = await shop(service);
  });
  afterAll(() => service.stop());

  const report = async (args: object, url = one.accessUrl) => {
    const answer = await rpc(url, 'tools/call', { name: 'report_problem_svc', arguments: args });
    return answer.at('result.structuredContent');
  };
  const listed = (query = '', bearer = service.developmentKey) =>
    service.call('GET', `/api/reports${query}`, { bearer });

  test('a reported problem is listed to the operator with the call that it names', async () => {
    await rpc(one.accessUrl, 'tools/call', {
      name: 'execute_action_svc',
      arguments: { connectorId: 'sandbox', actionId: 'list_orders' },
    });
    await service.context.executions.flush();
    const calls = await service.call('GET', `/api/executions?userId=${one.userId}`);
    const executionId = calls.text('data.0.executionId');
    expect(
      await report({ message: 'The text says cents.', tool: 'sandbox.list_orders', executionId }),
    ).toEqual({
      reported: true,
    });
    expect((await listed()).at('data')).toEqual([
      {
        reportId: expect.stringMatching(/^rep_/),
        at: expect.any(String),
        serverId: one.serverId,
        userId: one.userId,
        caller: `token:${one.serverId}`,
        tool: 'sandbox.list_orders',
        executionId,
        message: 'The text says cents.',
      },
    ]);
    expect((await listed('', service.productionKey)).at('data')).toEqual([]);

    const other = await shop(service);
    const refused = await report({ message: 'Mine.', executionId }, other.accessUrl);
    expect(refused).toMatchObject({
      error: { code: 'invalid_request', details: { faults: [{ field: 'executionId' }] } },
    });
  });

  test('a problem report is refused without words, and beyond 20 of a caller an hour', async () => {
    expect(await report({ message: '' })).toMatchObject({ error: { code: 'invalid_request' } });
    const two = await shop(service);
    for (let at = 0; at < 20; at++)
      expect(await report({ message: `Problem ${at}` }, two.accessUrl)).toEqual({ reported: true });
    expect(await report({ message: 'One more' }, two.accessUrl)).toMatchObject({
      error: { code: 'rate_limited' },
    });
    ahead += HOUR;
    expect(await report({ message: 'An hour later' }, two.accessUrl)).toEqual({ reported: true });
    const page = await listed('?limit=2');
    expect(page.at('data.0.message')).toBe('An hour later');
    const next = await listed(`?limit=2&cursor=${page.text('pagination.nextCursor')}`);
    expect(next.at('data.0.message')).toBe('Problem 18');
  });

  test('a reported problem is deleted with its user, and after 90 days', async () => {
    const two = await shop(service);
    await report({ message: 'Of a user who leaves.' }, two.accessUrl);
    await service.call('DELETE', `/users/${two.userId}`);
    expect(JSON.stringify((await listed()).body)).not.toContain('who leaves');
    await deleteOldRows(service.context.db, service.context.clock.now() + 91 * DAY);
    expect((await listed()).at('data')).toEqual([]);
  });
});
