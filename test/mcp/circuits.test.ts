import { createServer } from 'node:http';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { MINUTE, SECOND } from '../../src/lib/clock.ts';
import { manualClock } from '../support/clock.ts';
import { rpc, shop, type RpcAnswer } from '../support/mcp.ts';
import { startRemoteServer } from '../support/remote-server.ts';
import { startService, type Service } from '../support/service.ts';
import { STORE_KINDS } from '../support/stores.ts';

/** An app that answers every request with its status. */
async function startFailingApp() {
  const server = createServer((_req, res) => {
    res.writeHead(app.status, { 'content-type': 'application/json' }).end('{}');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  const app = {
    origin: `http://127.0.0.1:${address.port}`,
    status: 200,
    [Symbol.asyncDispose]: () => new Promise<void>((resolve) => server.close(() => resolve())),
  };
  return app;
}

/** Returns a connector file without authentication. */
const openFile = (id: string, baseUrl: string) => `id: ${id}
name: Open
description: An app of the tests.
categories: [data]
website: https://open.example.com
sources: [{title: The tests themselves, read: 2026-03-01}]
baseUrl: ${baseUrl}
authentication: [{type: none}]
actions:
  get_status:
    description: Reads the status.
    request: GET /status
`;

describe.each(STORE_KINDS)('circuits of two processes over %s', (kind) => {
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
  // Each test begins with what the processes have read from the store, not with what they read before.
  beforeEach(() => clock.advance(SECOND));

  type Made = Awaited<ReturnType<typeof shop>>;
  const made = (circuit?: object | null) => shop(first, circuit === undefined ? {} : { circuit });
  /** Calls the action that answers with the status that it is given. */
  const answer = (one: Made, status: number, service = first) =>
    rpc(one.accessUrl.replace(first.url, service.url), 'tools/call', {
      name: 'execute_action_svc',
      arguments: { connectorId: 'sandbox', actionId: 'fail', parameters: { status } },
    });
  const codeOf = (got: RpcAnswer) => got.at('result.structuredContent.error.code') ?? 'ran';
  const codes = async (one: Made, statuses: number[], service = first) => {
    const seen = [];
    for (const status of statuses) seen.push(codeOf(await answer(one, status, service)));
    return seen;
  };
  const openCircuits = async (one: Made) =>
    (await first.call('GET', `/api/circuits?userId=${one.userId}`)).at('data');

  test('after failures in a row, calls are refused until the time that the refusal says', async () => {
    const one = await made({ failures: 3, openSeconds: 60 });
    expect(await codes(one, [500, 500, 500])).toEqual(Array(3).fill('upstream_failed'));
    const refused = await answer(one, 500);
    const closesAt = new Date(clock.now() + MINUTE).toISOString();
    expect(refused.at('result.isError')).toBe(true);
    expect(refused.at('result.structuredContent.error')).toMatchObject({
      code: 'circuit_open',
      details: { closesAt },
      message:
        'The last 3 calls of sandbox.fail with this account failed at the app, so this one was not sent. ' +
        `The next one is possible at ${closesAt}, in 60 s.`,
    });
    expect(await openCircuits(one)).toEqual([
      {
        connectorId: 'sandbox',
        actionId: 'fail',
        credentialId: one.credentialId,
        userId: one.userId,
        failures: 3,
        failedAt: new Date(clock.now()).toISOString(),
        closesAt,
      },
    ]);
  });

  test('the metrics count open circuits and how often they opened', async () => {
    const one = await made({ failures: 1, openSeconds: 60 });
    await codes(one, [500, 500]);
    clock.advance(10 * SECOND);
    const page = String((await first.call('GET', '/metrics')).body);
    expect(page).toMatch(/^gatehouse_circuits_open [1-9]/m);
    expect(page).toMatch(/^gatehouse_circuits_opened_total\{connector="sandbox"\} [1-9]/m);
  });

  test('failures of one process stop the calls of the other', async () => {
    const one = await made({ failures: 4, openSeconds: 60 });
    expect(await codes(one, [500, 500])).toEqual(Array(2).fill('upstream_failed'));
    expect(await codes(one, [500, 500], second)).toEqual(Array(2).fill('upstream_failed'));
    clock.advance(SECOND);
    expect(await codes(one, [500])).toEqual(['circuit_open']);
    expect(await codes(one, [500], second)).toEqual(['circuit_open']);
  });

  test('after the time one call is tried, and its success lets all others through', async () => {
    const one = await made({ failures: 2, openSeconds: 30 });
    await codes(one, [500, 500]);
    clock.advance(30 * SECOND);
    expect(await codes(one, [200, 500], second)).toEqual(['ran', 'upstream_failed']);
    clock.advance(SECOND);
    expect(await codes(one, [200])).toEqual(['ran']);
    expect(await openCircuits(one)).toEqual([]);
  });

  test('a trial that fails stops the calls again', async () => {
    const one = await made({ failures: 2, openSeconds: 30 });
    await codes(one, [500, 500]);
    clock.advance(30 * SECOND);
    expect(await codes(one, [500, 200])).toEqual(['upstream_failed', 'circuit_open']);
    clock.advance(29 * SECOND);
    expect(await codes(one, [200])).toEqual(['circuit_open']);
    clock.advance(SECOND);
    expect(await codes(one, [200, 200])).toEqual(['ran', 'ran']);
  });

  test('one of many calls at once in two processes is the trial', async () => {
    const one = await made({ failures: 1, openSeconds: 30 });
    await codes(one, [500]);
    clock.advance(30 * SECOND);
    const answers = await Promise.all(
      Array.from({ length: 10 }, (_, at) => answer(one, 500, at % 2 === 0 ? first : second)),
    );
    expect(answers.map(codeOf).toSorted()).toEqual([...Array(9).fill('circuit_open'), 'upstream_failed']);
  });

  test('an answer with a 4xx is no failure and ends the row', async () => {
    const one = await made({ failures: 2, openSeconds: 60 });
    expect(await codes(one, [404, 422, 404])).toEqual(Array(3).fill('upstream_rejected'));
    expect(await codes(one, [500, 404, 500, 200])).toEqual([
      'upstream_failed',
      'upstream_rejected',
      'upstream_failed',
      'ran',
    ]);
  });

  test('an open circuit stops no other accounts and no other actions', async () => {
    const one = await made({ failures: 1, openSeconds: 60 });
    const other = await made({ failures: 1, openSeconds: 60 });
    await codes(one, [500]);
    expect(await codes(other, [200])).toEqual(['ran']);
    const read = await rpc(one.accessUrl, 'tools/call', {
      name: 'execute_action_svc',
      arguments: { connectorId: 'sandbox', actionId: 'list_products', parameters: {} },
    });
    expect(codeOf(read)).toBe('ran');
  });

  test.each(['without authentication', 'of a remote MCP server of type none'])(
    'one user of a shared server does not stop calls %s of another',
    async (kindOfApp) => {
      const connectorId = `open-${Math.random().toString(36).slice(2, 10)}`;
      await using app = await startFailingApp();
      await using remote = await startRemoteServer();
      const isRemote = kindOfApp.includes('remote');
      const body = isRemote
        ? { mcp: { connectorId, url: remote.url, authentication: { type: 'none' } } }
        : { definition: openFile(connectorId, app.origin) };
      expect((await first.call('POST', '/api/connectors', { body })).status).toBe(201);
      remote.instead = (_req, res) => Boolean(res.writeHead(app.status).end('{}'));
      const [alice, bob] = [await made(), await made()];
      const created = await first.call('POST', '/api/servers', {
        body: { name: `shared by ${connectorId}`, circuit: { failures: 2, openSeconds: 60 } },
      });
      const call = async ({ userId }: Made) => {
        const params = {
          name: 'execute_action_svc',
          arguments: { connectorId, actionId: isRemote ? 'who_am_i' : 'get_status', parameters: {} },
        };
        const headers = { 'x-svc-userid': userId, authorization: `Bearer ${first.developmentKey}` };
        return codeOf(await rpc(created.text('url'), 'tools/call', params, { headers }));
      };
      app.status = 500;
      expect([await call(alice), await call(alice), await call(alice)]).toEqual([
        'upstream_failed',
        'upstream_failed',
        'circuit_open',
      ]);
      app.status = 200;
      remote.instead = undefined;
      expect([await call(bob), await call(alice)]).toEqual(['ran', 'circuit_open']);
      clock.advance(MINUTE);
      expect(await call(alice)).toBe('ran');
    },
  );

  test('a refused call takes no budget', async () => {
    const one = await shop(first, {
      circuit: { failures: 1, openSeconds: 60 },
      budgets: [{ per: 'server', limit: 2, window: '1d' }],
    });
    expect(await codes(one, [500, 200, 200])).toEqual(['upstream_failed', 'circuit_open', 'circuit_open']);
    clock.advance(MINUTE);
    expect(await codes(one, [200, 200])).toEqual(['ran', 'budget_exceeded']);
  });

  test('a trial that a budget refuses leaves the trial to the next call', async () => {
    const one = await shop(first, {
      circuit: { failures: 1, openSeconds: 60 },
      budgets: [{ per: 'server', limit: 1, window: '1d' }],
    });
    await codes(one, [500]);
    clock.advance(MINUTE);
    expect(await codes(one, [200])).toEqual(['budget_exceeded']);
    await first.call('PUT', `/api/servers/${one.serverId}`, { body: { budgets: [] } });
    expect(await codes(one, [200])).toEqual(['ran']);
  });

  test('a server without a circuit sends every call', async () => {
    const one = await made(null);
    expect(await codes(one, Array(12).fill(500))).toEqual(Array(12).fill('upstream_failed'));
    const { body } = await first.call('GET', `/api/servers/${one.serverId}`);
    expect(body).toMatchObject({ circuit: null });
  });

  test('a server stops calls after ten failures for a minute by default', async () => {
    const one = await made();
    const { body } = await first.call('GET', `/api/servers/${one.serverId}`);
    expect(body).toMatchObject({ circuit: { failures: 10, openSeconds: 60 } });
    expect(await codes(one, Array(11).fill(500))).toEqual([
      ...Array(10).fill('upstream_failed'),
      'circuit_open',
    ]);
  });
});
