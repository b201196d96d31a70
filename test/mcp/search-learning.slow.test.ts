import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { DAY, MINUTE, SECOND } from '../../src/lib/clock.ts';
import { asObject } from '../../src/lib/json.ts';
import { manualClock } from '../support/clock.ts';
import { rpc, shop } from '../support/mcp.ts';
import { startService, type Service } from '../support/service.ts';
import { STORE_KINDS } from '../support/stores.ts';

describe.each(STORE_KINDS)('a search that learns from two processes over %s', (kind) => {
  const clock = manualClock();
  let first: Service;
  let second: Service;
  beforeAll(async () => {
    first = await startService({ kind, clock });
    second = await startService({ env: first.env, clock });
  });
  afterAll(async () => {
    await second.stop();
    await first.stop();
  });

  type Made = Awaited<ReturnType<typeof shop>>;
  const tool = (one: Made, name: string, args: object, service: Service) => {
    clock.advance(SECOND);
    return rpc(one.accessUrl.replace(first.url, service.url), 'tools/call', { name, arguments: args });
  };
  const search = async (one: Made, query: string, service = first): Promise<unknown[]> => {
    const found = await tool(one, 'search_actions_svc', { query }, service);
    const actions = found.at('result.structuredContent.actions');
    return Array.isArray(actions) ? actions.map((action) => asObject(action)['actionId']) : [];
  };
  const execute = async (one: Made, actionId: string, service = first) => {
    const ran = await tool(
      one,
      'execute_action_svc',
      { connectorId: 'sandbox', actionId, parameters: {} },
      service,
    );
    expect(ran.at('result.isError')).not.toBe(true);
    // The row of the call is written within 50 ms. The other process reads it.
    await service.context.executions.flush();
  };
  /** Searches and executes, in the two processes in turn. */
  const teach = async (one: Made, query: string, { actionId = 'list_orders', times = 5 } = {}) => {
    for (let time = 0; time < times; time++) {
      await search(one, query, time % 2 === 0 ? first : second);
      await execute(one, actionId, time % 2 === 0 ? second : first);
    }
  };
  const fruitless = async (service = first) => {
    const { body } = await service.call('GET', '/api/search/fruitless', {
      bearer: first.developmentKey,
    });
    return asObject(body)['data'];
  };
  /** Returns an unused word that no action has, because what one test teaches holds for the others. */
  let words = 0;
  const word = () => `zor${'bcdfghjklm'.charAt(words++)}qua`;

  test('a word that five executions followed finds their action', async () => {
    const one = await shop(first);
    const unknown = word();
    expect(await search(one, unknown)).toEqual([]);
    await teach(one, unknown, { times: 4 });
    expect(await search(one, unknown)).toEqual([]);
    await teach(one, unknown, { times: 1 });
    expect(await search(one, unknown, second)).toEqual(['list_orders']);
  });

  test('an action ranks higher for words that executions of it followed', async () => {
    const one = await shop(first);
    const query = 'list messages about customers';
    const before = await search(one, query);
    const actionId = 'list_customers';
    expect(before.indexOf(actionId)).toBeGreaterThan(0);
    await teach(one, query, { actionId });
    expect((await search(one, query)).indexOf(actionId)).toBeLessThan(before.indexOf(actionId));
  });

  test('one user alone does not change the ranking of others, and three do', async () => {
    const users = [await shop(first), await shop(first), await shop(first)];
    const other = await shop(first);
    const unknown = word();
    for (const [at, one] of users.entries()) {
      expect(await search(other, unknown)).toEqual([]);
      await teach(one, unknown, { times: at === 0 ? 8 : 2 });
      // The next search of the same user counts the last execution.
      await search(one, 'orders');
    }
    expect(await search(other, unknown)).toEqual(['list_orders']);
  });

  test('a learned action that a server hides stays hidden', async () => {
    const one = await shop(first);
    const unknown = word();
    await teach(one, unknown);
    expect(await search(one, unknown)).toEqual(['list_orders']);
    await first.call('PUT', `/api/servers/${one.serverId}`, {
      body: { restrictions: { actions: { mode: 'blocklist', blockedActions: ['sandbox.list_orders'] } } },
    });
    expect(await search(one, unknown)).toEqual([]);
  });

  test('an execution ten minutes after a search teaches nothing', async () => {
    const one = await shop(first);
    const unknown = word();
    for (let time = 0; time < 6; time++) {
      await search(one, unknown);
      clock.advance(10 * MINUTE);
      await execute(one, 'list_orders');
    }
    expect(await search(one, unknown)).toEqual([]);
  });

  test('counts are used for 90 days', async () => {
    const one = await shop(first);
    const unknown = word();
    await teach(one, unknown);
    clock.advance(88 * DAY);
    expect(await search(one, unknown)).toEqual(['list_orders']);
    clock.advance(3 * DAY);
    expect(await search(one, unknown)).toEqual([]);
  });

  test('a setting turns counting and ranking off', async () => {
    const one = await shop(first);
    const unknown = word();
    await teach(one, unknown);
    await first.call('PUT', '/api/settings', { body: { searchLearning: 'off' } });
    expect(await search(one, unknown)).toEqual([]);
    await teach(one, `${unknown}x`);
    await first.call('PUT', '/api/settings', { body: { searchLearning: 'on' } });
    expect(await search(one, unknown)).toEqual(['list_orders']);
    expect(await search(one, `${unknown}x`)).toEqual([]);
  });

  test('queries that led to no execution are listed once they were asked twice', async () => {
    const one = await shop(first);
    await search(one, 'Reconcile the Ledger of ada@example.com, order 4711 or ord_5001!');
    await search(one, 'only once');
    await search(one, 'list of sales orders');
    await execute(one, 'list_orders');
    clock.advance(11 * MINUTE);
    expect(JSON.stringify(await fruitless())).not.toContain('ledger');
    await search(one, 'reconcile the ledger of  order or', second);
    await search(one, 'list of sales orders');
    await execute(one, 'list_orders');
    clock.advance(11 * MINUTE);
    const listed = await fruitless(second);
    expect(listed).toContainEqual({
      query: 'reconcile the ledger of order or',
      count: 2,
      lastAt: expect.stringMatching(/^2026-/),
    });
    expect(JSON.stringify(listed)).not.toMatch(/once|list of sales orders|ada|4711/);
    const other = await first.call('GET', '/api/search/fruitless', { bearer: first.productionKey });
    expect(other.at('data')).toEqual([]);
  });

  test('a query that leads to an execution leaves the list', async () => {
    const one = await shop(first);
    const query = 'fathom the abyss';
    for (let time = 0; time < 2; time++) {
      await search(one, query);
      clock.advance(11 * MINUTE);
    }
    expect(JSON.stringify(await fruitless())).toContain(query);
    await search(one, query);
    await execute(one, 'list_orders');
    await search(one, 'orders');
    expect(JSON.stringify(await fruitless())).not.toContain(query);
  });

  test('a caller that floods the search fills neither the list nor the counts', async () => {
    const one = await shop(first);
    for (let at = 0; at < 30; at++) {
      const letters = String.fromCodePoint(97 + Math.floor(at / 5), 97 + (at % 5));
      await search(one, `flood ${letters}`);
      await search(one, `flood ${letters}`);
    }
    clock.advance(11 * MINUTE);
    const listed = JSON.stringify(await fruitless());
    expect(listed.match(/flood/g)).toHaveLength(10);
  });
});
