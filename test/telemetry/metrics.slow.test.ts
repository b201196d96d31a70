import { request } from 'node:http';
import { networkInterfaces } from 'node:os';
import { sql } from 'kysely';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createCounter } from '../../src/telemetry/series.ts';
import { manualClock } from '../support/clock.ts';
import { created, startEvents, subscribe, type EventsService } from '../support/events.ts';
import { rpc, shop } from '../support/mcp.ts';
import { readMetrics } from '../support/metrics.ts';
import { startReceiver } from '../support/receiver.ts';
import { startService, type Service } from '../support/service.ts';
import { STORE_KINDS } from '../support/stores.ts';

/** More than the time for which values of the store are cached. */
const CACHED_MS = 6000;

describe.each(STORE_KINDS)('metrics on %s', (kind) => {
  const clock = manualClock();
  let service: EventsService;
  beforeAll(async () => {
    service = await startEvents({ kind, clock });
  });
  afterAll(() => service.stop());
  const read = () => {
    clock.advance(CACHED_MS);
    return readMetrics(service.url);
  };
  /** Reads until the store has answered in time, which it may not do on a busy machine. */
  const readWhole = async () => {
    for (;;) {
      const page = await read();
      if (page.value('gatehouse_store_up') === 1) return page;
    }
  };

  test('a call over MCP counts as request, call of a tool, action and attempt', async () => {
    const { accessUrl } = await shop(service);
    const before = await read();
    const args = { connectorId: 'sandbox', actionId: 'list_orders', parameters: { limit: 1 } };
    const params = { name: 'execute_action_svc', arguments: args };
    expect((await rpc(accessUrl, 'tools/call', params)).at('result.isError')).toBeUndefined();
    const bad = { ...params, arguments: { ...args, parameters: { limit: 'many' } } };
    expect((await rpc(accessUrl, 'tools/call', bad)).at('result.isError')).toBe(true);
    await rpc(accessUrl, 'no/such');
    const after = await read();
    const rise = (series: string) => after.value(series) - before.value(series);
    const route = 'route="/mcp/{serverId}/{accessToken}",method="POST"';
    expect(rise(`gatehouse_http_requests_total{${route},status="200"}`)).toBe(3);
    expect(rise(`gatehouse_http_request_duration_seconds_count{${route}}`)).toBe(3);
    expect(rise(`gatehouse_http_request_duration_seconds_bucket{le="+Inf",${route}}`)).toBe(3);
    expect(rise('gatehouse_mcp_requests_total{method="tools/call",outcome="succeeded"}')).toBe(1);
    expect(rise('gatehouse_mcp_requests_total{method="tools/call",outcome="tool_failed"}')).toBe(1);
    expect(rise('gatehouse_mcp_requests_total{method="unknown",outcome="failed"}')).toBe(1);
    const action = 'connector="sandbox",action="list_orders"';
    expect(rise(`gatehouse_actions_total{${action},outcome="succeeded"}`)).toBe(1);
    expect(rise(`gatehouse_actions_total{${action},outcome="failed"}`)).toBe(1);
    expect(rise('gatehouse_action_duration_seconds_count{connector="sandbox",outcome="succeeded"}')).toBe(1);
    expect(rise('gatehouse_action_errors_total{connector="sandbox",code="invalid_request"}')).toBe(1);
    expect(rise('gatehouse_upstream_attempts_total{connector="sandbox",status="200"}')).toBe(1);
    expect(after.text).not.toContain('gh_mcp_');
  });

  test('a session that is open counts until it ends', async () => {
    const { accessUrl } = await shop(service);
    const open = async () => (await read()).value('gatehouse_mcp_sessions_open');
    const before = await open();
    const params = {
      protocolVersion: '2025-11-25',
      capabilities: {},
      clientInfo: { name: 't', version: '1' },
    };
    const opened = await rpc(accessUrl, 'initialize', params);
    expect(await open()).toBe(before + 1);
    const headers = { 'mcp-session-id': opened.headers.get('mcp-session-id') ?? '' };
    await fetch(accessUrl, { method: 'DELETE', headers });
    expect(await open()).toBe(before);
  });

  test('requests without a route count, and their path is not in the labels', async () => {
    const before = await read();
    await service.call('GET', '/no/such/secret-path');
    await service.call('PUT', '/health');
    const after = await read();
    const rise = (series: string) => after.value(series) - before.value(series);
    expect(rise('gatehouse_http_requests_total{route="(none)",method="GET",status="404"}')).toBe(1);
    expect(rise('gatehouse_http_requests_total{route="/health",method="PUT",status="405"}')).toBe(1);
    expect(after.text).not.toContain('secret-path');
  });

  test('names that the catalogue does not have count as unknown', async () => {
    const headers = { 'x-svc-userid': service.userId };
    const path = '/connectors/invented/actions/made_up/execute';
    const answer = await service.call('POST', path, { headers, body: { input: {} } });
    expect(answer.status).toBe(404);
    const after = await read();
    const series = 'gatehouse_actions_total{connector="unknown",action="unknown",outcome="failed"}';
    expect(after.value(series)).toBe(1);
    expect(after.text).not.toMatch(/invented|made_up/);
  });

  test('a delivery counts, and a given up one is read from the store', async () => {
    await using receiver = await startReceiver();
    await subscribe(service, { address: receiver.url });
    await created(service, ['o1']);
    await receiver.arrived(1);
    const succeeded = 'gatehouse_delivery_attempts_total{outcome="succeeded"}';
    await expect.poll(async () => (await read()).value(succeeded)).toBe(1);
    const { db } = service.context;
    await db.updateTable('deliveries').set({ status: 'dead' }).execute();
    expect((await readWhole()).value('gatehouse_deliveries_dead')).toBe(1);
    // A disabled subscription keeps the dispatcher from sending it.
    await db.updateTable('subscriptions').set({ status: 'disabled' }).execute();
    const late90 = { status: 'waiting' as const, offered: 0 as const, next_at: clock.now() - 90_000 };
    await db.updateTable('deliveries').set(late90).execute();
    const late = await readWhole();
    expect(late.value('gatehouse_deliveries_waiting')).toBe(1);
    expect(late.value('gatehouse_oldest_due_delivery_age_seconds')).toBeGreaterThanOrEqual(90);
    expect(late.value('gatehouse_subscriptions_disabled')).toBeGreaterThan(0);
  });

  test('accounts that must be connected again are read from the store', async () => {
    const { credentialId } = await shop(service);
    await service.context.db
      .updateTable('credentials')
      .set({ state: 'needs_reconnect' })
      .where('credential_id', '=', credentialId)
      .execute();
    const after = await readWhole();
    expect(after.value('gatehouse_credentials_unusable{state="needs_reconnect"}')).toBe(1);
    expect(after.value('gatehouse_sources{status="active"}')).toBeGreaterThanOrEqual(0);
  });

  test('a store that fails leaves out its own metrics only', async () => {
    const { db } = service.context;
    await sql`alter table inbox rename to inbox_away`.execute(db);
    try {
      const page = await read();
      expect(page.status).toBe(200);
      expect(page.value('gatehouse_store_up')).toBe(0);
      expect(page.text).not.toContain('gatehouse_sources');
      expect(page.value('process_resident_memory_bytes')).toBeGreaterThan(0);
      expect(page.text).toContain('nodejs_eventloop_lag_p99_seconds');
      expect(page.text).toMatch(/gatehouse_build_info\{version="\d+\.\d+\.\d+",node="\d+/);
    } finally {
      await sql`alter table inbox_away rename to inbox`.execute(db);
    }
    expect((await readWhole()).text).toContain('gatehouse_sources');
  });

  test.runIf(kind === 'postgres')('a store that does not answer delays a scrape by 2 s at most', async () => {
    const { db } = service.context;
    await db.transaction().execute(async (tx) => {
      await sql`lock table jobs in access exclusive mode`.execute(tx);
      const page = await read();
      expect(page.status).toBe(200);
      expect(page.value('gatehouse_store_up')).toBe(0);
    });
    await expect.poll(async () => (await read()).value('gatehouse_store_up')).toBe(1);
  });
});

describe('access to the metrics', () => {
  const TOKEN = 'metrics-token-of-the-tests';
  let open: Service;
  let guarded: Service;
  beforeAll(async () => {
    [open, guarded] = await Promise.all([
      startService({ env: { HOST: '0.0.0.0', GATEHOUSE_SANDBOX: '0' } }),
      startService({ env: { GATEHOUSE_METRICS_TOKEN: TOKEN } }),
    ]);
  });
  afterAll(() => Promise.all([open.stop(), guarded.stop()]));

  test('metrics with a token set are readable only by its bearer', async () => {
    expect((await guarded.call('GET', '/metrics', { bearer: TOKEN })).status).toBe(200);
    for (const bearer of [null, guarded.developmentKey, `${TOKEN}x`]) {
      const answer = await guarded.call('GET', '/metrics', { bearer });
      expect(answer).toMatchObject({ status: 401, body: { code: 'unauthorized' } });
      expect(answer.text('error')).toContain('GATEHOUSE_METRICS_TOKEN');
      expect(answer.headers.get('www-authenticate')).toBe('Bearer');
    }
  });

  test('metrics without a token are readable by a program on the same machine', async () => {
    expect((await readMetrics(open.url)).status).toBe(200);
    const head = await fetch(`${open.url}/metrics`, { method: 'HEAD' });
    expect(head.headers.get('content-type')).toMatch(/^text\/plain; version=0\.0\.4/);
  });

  test.each([
    ['x-forwarded-for', '127.0.0.1'],
    ['forwarded', 'for=127.0.0.1'],
    ['x-real-ip', '127.0.0.1'],
  ])('metrics without a token answer a request with %s: %s by 404 with the remedy', async (name, value) => {
    const answer = await open.call('GET', '/metrics', { bearer: null, headers: { [name]: value } });
    expect(answer.status).toBe(404);
    expect(answer.text('error')).toContain('set GATEHOUSE_METRICS_TOKEN');
  });

  test('metrics without a token are 404 for a page that rebinds its name', async () => {
    const answers = ['localhost:3000', 'page.example.com:3000'].map(
      (host) =>
        // fetch() sets this header itself.
        new Promise<number | undefined>((resolve, reject) => {
          const asked = request(`${open.url}/metrics`, { headers: { host } }, (res) => {
            res.resume();
            resolve(res.statusCode);
          });
          asked.on('error', reject).end();
        }),
    );
    expect(await Promise.all(answers)).toEqual([200, 404]);
  });

  const outside = Object.values(networkInterfaces())
    .flatMap((addresses) => addresses ?? [])
    .find(({ family, internal }) => family === 'IPv4' && !internal)?.address;
  test.skipIf(outside === undefined)(
    'metrics without a token are 404 for a peer with another address',
    async () => {
      const url = new URL('/metrics', open.url);
      url.hostname = outside ?? '';
      expect((await fetch(url)).status).toBe(404);
      url.pathname = '/health';
      expect((await fetch(url)).status).toBe(200);
    },
  );
});

test('label values beyond the limit of series count as other', () => {
  const counter = createCounter({ name: 'n', help: 'h', labels: ['one', 'two'], maxSeries: 2 });
  for (const value of ['a', 'b', 'c', 'd', 'a']) counter.count(value, 'x');
  const seen = [...counter.series()].map(({ labels, value }) => [...labels, value]);
  expect(seen).toEqual([
    ['a', 'x', 2],
    ['b', 'x', 1],
    ['other', 'other', 2],
  ]);
});
