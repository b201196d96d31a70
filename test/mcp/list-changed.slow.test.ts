import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { PassThrough } from 'node:stream';
import {
  PromptListChangedNotificationSchema,
  ResourceListChangedNotificationSchema,
  ToolListChangedNotificationSchema,
} from '@modelcontextprotocol/sdk/types.js';
import { sql } from 'kysely';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { MINUTE } from '../../src/lib/clock.ts';
import { parseJson, valueAt } from '../../src/lib/json.ts';
import { runStdio } from '../../src/mcp/transport/stdio.ts';
import { until } from '../support/until.ts';
import { startAuthorizationServer } from '../support/authorization-server.ts';
import { rpc, shop } from '../support/mcp.ts';
import { modernHeaders, modernParams } from '../support/modern.ts';
import { connectListener, polled, pollIntervals, pollsIn, recordReads } from '../support/polls.ts';
import { startService, type Service } from '../support/service.ts';
import { STORE_KINDS } from '../support/stores.ts';

const SOON = { interval: 20 };
const LISTEN = modernParams({
  notifications: { toolsListChanged: true, resourceSubscriptions: ['svc://events/commerce/customers'] },
});
type Shop = Awaited<ReturnType<typeof shop>>;

/* Two processes share a store. A change through one is reported by the other within a second. */
describe.each(STORE_KINDS)('over %s', (kind) => {
  let here: Service;
  let there: Service;
  beforeAll(async () => {
    here = await startService({ kind });
    there = await startService({ env: here.env });
  });
  afterAll(async () => {
    await there.stop();
    await here.stop();
  });

  /** Makes changes through the other process. */
  const change = (method: string, path: string, body?: unknown, headers: Record<string, string> = {}) =>
    there.call(method, path, { bearer: here.developmentKey, headers, ...(body ? { body } : {}) });
  const restrict = (one: Shop, restrictions: object) =>
    change('PUT', `/api/servers/${one.serverId}`, { restrictions });
  const addAccount = (one: Shop) =>
    change(
      'POST',
      `/users/${one.userId}/credentials`,
      { connectorId: 'sandbox', data: { apiKey: 'sandbox_more' } },
      { 'x-svc-userid': one.userId },
    );
  const newShop = () => shop(here, { toolMode: 'direct' });

  async function listening(url: string, headers: Record<string, string> = {}) {
    const client = await connectListener(here, url, headers);
    const heard = { tools: 0, resources: 0, prompts: 0 };
    client.setNotificationHandler(ToolListChangedNotificationSchema, () => void heard.tools++);
    client.setNotificationHandler(ResourceListChangedNotificationSchema, () => void heard.resources++);
    client.setNotificationHandler(PromptListChangedNotificationSchema, () => void heard.prompts++);
    return { client, heard };
  }

  test('changed restrictions, settings, accounts and approvals reach their listeners', async () => {
    const one = await newShop();
    const other = await newShop();
    const mine = await listening(one.accessUrl);
    const theirs = await listening(other.accessUrl);

    await restrict(one, { effects: { allowed: ['read'] } });
    await expect.poll(() => mine.heard, SOON).toEqual({ tools: 1, resources: 1, prompts: 1 });
    const { tools } = await mine.client.listTools();
    expect(tools.some(({ name }) => name === 'sandbox_delete_customer')).toBe(false);

    expect((await addAccount(one)).status).toBe(201);
    await expect.poll(() => mine.heard, SOON).toEqual({ tools: 2, resources: 2, prompts: 1 });
    expect(theirs.heard).toEqual({ tools: 0, resources: 0, prompts: 0 });

    await change('PUT', `/api/servers/${one.serverId}`, { description: 'nobody sees this' });
    await change('PUT', '/api/settings', { origins: ['https://app.example.com'] });
    await polled(here);
    expect(mine.heard).toEqual({ tools: 2, resources: 2, prompts: 1 });
    await mine.client.close();
    await theirs.client.close();
  });

  test('a client that is notified of a second account lists the choice of accounts', async () => {
    const one = await newShop();
    const { client } = await listening(one.accessUrl);
    const choosing = async () => {
      const { tools } = await client.listTools();
      return tools.find(({ name }) => name === 'sandbox_list_orders')?.inputSchema.properties ?? {};
    };
    const lists: ReturnType<typeof choosing>[] = [];
    client.setNotificationHandler(ToolListChangedNotificationSchema, () => void lists.push(choosing()));
    // The process that serves the client caches the accounts while its clock stands still.
    const now = Date.now();
    vi.spyOn(Date, 'now').mockReturnValue(now);
    try {
      expect(await choosing()).not.toHaveProperty('credentialId');
      expect((await addAccount(one)).status).toBe(201);
      await expect.poll(() => lists.length, SOON).toBe(1);
      expect(await lists[0]).toHaveProperty('credentialId');
    } finally {
      vi.restoreAllMocks();
    }
    await client.close();
  });

  test('a notification is sent by the next poll', async () => {
    const one = await newShop();
    const { client, heard } = await listening(one.accessUrl);
    const polls: number[] = [];
    for (let n = 1; n <= 4; n++) {
      await restrict(one, { actions: { blockedActions: [`none_${n}`] } });
      using reads = recordReads(here);
      await expect.poll(() => heard.tools, { interval: 1 }).toBe(n);
      polls.push(pollsIn(reads.tables.slice(0, reads.tables.indexOf('servers'))));
    }
    // The check that causes the notification follows the first poll that begins after the change.
    expect(polls.filter((count) => count > 1)).toEqual([]);
    await client.close();
  });

  test('a workflow that is installed or removed changes the tools of its user', async () => {
    const one = await newShop();
    const definition = {
      trigger: { type: 'manual' },
      steps: [{ stepId: 'list', connectorId: 'sandbox', actionId: 'list_products', input: { limit: 1 } }],
    };
    const body = { name: `flow ${Math.random()}`, definition };
    const workflowId = (await here.call('POST', '/workflows', { body })).text('workflowId');
    const { client, heard } = await listening(one.accessUrl);
    const install = `/workflows/${workflowId}/install?userId=${one.userId}`;
    expect((await change('POST', install, { config: {} })).status).toBe(201);
    await expect.poll(() => heard.tools, SOON).toBe(1);
    expect((await client.listTools()).tools.some(({ name }) => name.startsWith('run_'))).toBe(true);
    await change('DELETE', install);
    await expect.poll(() => heard.tools, SOON).toBe(2);
    await client.close();
  });

  test('a restriction set in one process soon applies in the other', async () => {
    const one = await newShop();
    const remove = async () =>
      (
        await rpc(one.accessUrl, 'tools/call', {
          name: 'execute_action_svc',
          arguments: {
            connectorId: 'sandbox',
            actionId: 'delete_customer',
            parameters: { customerId: 'cus_0' },
          },
        })
      ).at('result.structuredContent.error.code');
    expect(await remove()).toBe('upstream_rejected');
    const steps: [object, string][] = [
      [{ effects: { allowed: ['read', 'write'] } }, 'restricted'],
      [{ confirm: ['destructive'] }, 'confirmation_required'],
      [{}, 'upstream_rejected'],
    ];
    for (const [restrictions, code] of steps) {
      expect((await restrict(one, restrictions)).status).toBe(200);
      await expect.poll(remove, SOON).toBe(code);
    }
  });

  test('a session ends when it loses its rights', async () => {
    const endings: [string, (one: Shop) => Promise<unknown>][] = [
      ['switched off', (one) => change('PUT', `/api/servers/${one.serverId}`, { enabled: false })],
      ['token rotated', (one) => change('POST', `/api/servers/${one.serverId}/token`, {})],
      ['user refused', (one) => restrict(one, { users: { allowedIds: [] } })],
      ['server deleted', (one) => change('DELETE', `/api/servers/${one.serverId}`)],
      ['user deleted', (one) => change('DELETE', `/users/${one.userId}`)],
    ];
    const streams: { what: string; end: () => Promise<unknown>; closed: { done: boolean } }[] = [];
    for (const [what, end] of endings) {
      const one = await newShop();
      streams.push({ what, end: () => end(one), closed: await standingStream(here, one.accessUrl) });
    }
    for (const [index, { what, end, closed }] of streams.entries()) {
      await end();
      await expect.poll(() => closed.done, { ...SOON, message: what }).toBe(true);
      expect(streams.map((stream) => stream.closed.done)).toEqual(streams.map((_, at) => at <= index));
    }
  });

  test('a session of a user’s JWT ends with the JWT', async () => {
    const one = await newShop();
    const jwt = (await here.call('GET', `/2023-12/user/${one.userId}/token`)).text('token');
    const closed = await standingStream(here, one.url, { authorization: `Bearer ${jwt}` });
    await change('POST', `/users/${one.userId}/tokens/revoke`);
    await expect.poll(() => closed.done, SOON).toBe(true);
  });

  test('a listener of MCP 2026-07-28 and a client over stdio are notified too', async () => {
    const one = await newShop();
    const leave = new AbortController();
    const stream = collected(await listener(one.accessUrl, {}, leave.signal));

    const input = new PassThrough();
    const lines: string[] = [];
    const output = new PassThrough();
    output.on('data', (chunk) => lines.push(String(chunk)));
    const wish = { environment: 'development' as const, server: one.serverId, user: undefined };
    const stdio = runStdio(here.context, wish, { input, output });
    const params = {
      protocolVersion: '2025-11-25',
      capabilities: {},
      clientInfo: { name: 't', version: '1' },
    };
    input.write(`${JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'initialize', params })}\n`);
    await expect.poll(() => lines.join(''), SOON).toContain('"serverInfo"');
    // Both connections poll separately.
    await polled(here, 6);

    await restrict(one, { connectors: { allowedIds: [] } });
    const told = 'notifications/tools/list_changed';
    await expect.poll(() => stream.text, SOON).toContain(told);
    await expect.poll(() => lines.join(''), SOON).toContain(told);
    input.end();
    await stdio;
    leave.abort();
  });

  test('a process without listeners checks nothing, and quiet listeners share one check', async () => {
    // Listeners of earlier tests may still be leaving.
    await expect.poll(() => readInIntervals(here)).toEqual([]);
    const one = await newShop();
    const clients: Awaited<ReturnType<typeof listening>>[] = [];
    for (let n = 0; n < 5; n++) clients.push(await listening(one.accessUrl));
    // In some of their polls the rights of listeners are checked.
    const quiet = ['changes', 'changes', 'changes', 'changes'];
    await expect
      .poll(async () => (await polled(here, 3)).filter((table) => LOOKED_AT.has(table)))
      .toEqual(quiet);
    for (const { client } of clients) await client.close();
  });

  const hangUps: [string, (one: Shop) => Promise<unknown>][] = [
    [
      'a standing stream',
      async ({ accessUrl }) => {
        const session = { accept: 'text/event-stream', 'mcp-session-id': await newSession(accessUrl) };
        await hungUp(here, 'servers', (signal) => fetch(accessUrl, { headers: session, signal }));
      },
    ],
    [
      'a modern listener',
      async ({ accessUrl }) => {
        // The request must wait after its checks.
        await rpc(accessUrl, 'ping');
        await hungUp(here, 'sources', (signal) => listener(accessUrl, {}, signal));
      },
    ],
    [
      'a client over stdio',
      async ({ serverId }) => {
        const input = new PassThrough();
        const wish = { environment: 'development' as const, server: serverId, user: undefined };
        const stdio = runStdio(here.context, wish, { input, output: new PassThrough().resume() });
        for (const line of [
          { id: 1, method: 'subscriptions/listen', params: LISTEN },
          { method: 'notifications/cancelled', params: { requestId: 1 } },
        ])
          input.write(`${JSON.stringify({ jsonrpc: '2.0', ...line })}\n`);
        closing.push(async () => {
          input.end();
          await stdio;
        });
      },
    ],
  ];
  const closing: (() => Promise<void>)[] = [];

  test.each(hangUps)('%s that disconnects before it listens is removed', async (_, hangUp) => {
    await hangUp(await newShop());
    // A check that ran during the disconnect may run once more.
    await expect.poll(() => readInIntervals(here)).toEqual([]);
    for (const close of closing.splice(0)) await close();
  });
});

test('slow issuers of other JWTs do not delay a listener', async () => {
  await using issuer = await startAuthorizationServer('ada');
  let hangs = false;
  let hanging = 0;
  const keys = createServer(async (_req, res) => {
    if (hangs) {
      hanging++;
      res.once('close', () => hanging--);
    } else res.end(await (await fetch(`${issuer.issuer}/jwks`)).text());
  });
  await new Promise<void>((resolve) => keys.listen(0, '127.0.0.1', resolve));
  const jwksUrl = `http://127.0.0.1:${(keys.address() as AddressInfo).port}`;
  const trusted = { issuer: issuer.issuer, jwksUrl, audience: 'ours', environment: 'development' };
  await using service = await startService({
    env: { GATEHOUSE_JWT_ISSUERS: JSON.stringify([{ ...trusted, createUsers: true }]) },
  });
  try {
    const theirs = await shop(service);
    for (const name of ['one', 'other'])
      await listener(theirs.url, { authorization: `Bearer ${await issuer.token('ours', name, '2h')}` });
    const own = await shop(service);
    const stream = collected(await listener(own.accessUrl));
    await polled(service);

    // Keys are cached for ten minutes.
    const later = Date.now() + 11 * MINUTE;
    vi.spyOn(Date, 'now').mockImplementation(() => later);
    hangs = true;
    for (const { serverId } of [theirs, own])
      await service.call('PUT', `/api/servers/${serverId}`, {
        body: { restrictions: { connectors: { blockedIds: ['sandbox'] } } },
      });
    await expect.poll(() => stream.text, SOON).toContain('notifications/tools/list_changed');
    await expect.poll(() => hanging).toBeGreaterThan(0);
  } finally {
    vi.restoreAllMocks();
    keys.closeAllConnections();
    keys.close();
  }
});

const LOOKED_AT = new Set(['changes', 'servers', 'users', 'api_keys', 'settings']);

/** Returns these tables as often as the process reads them in some intervals of its polls. */
async function readInIntervals(service: Service): Promise<string[]> {
  using reads = recordReads(service);
  await pollIntervals();
  return reads.tables.filter((table) => LOOKED_AT.has(table));
}

/** Sends a request that waits for a table of the store, and disconnects before the answer. */
async function hungUp(
  service: Service,
  table: 'servers' | 'sources',
  send: (signal: AbortSignal) => Promise<unknown>,
): Promise<void> {
  const { context, app } = service;
  const leave = new AbortController();
  const closed = new Promise<void>((resolve) => {
    app.server.once('request', (_req, res) => {
      res.once('close', resolve);
    });
  });
  if (table === 'servers') context.servers.forget();
  await context.db.transaction().execute(async (tx) => {
    // SQLite has one connection, and this test holds it.
    if (context.store.kind === 'postgres')
      await sql`lock table ${sql.table(table)} in access exclusive mode`.execute(tx);
    using reads = recordReads(service);
    const lost = send(leave.signal).catch(String);
    await until(() => reads.tables.includes(table));
    leave.abort();
    expect(await lost).toContain('aborted');
    await closed;
  });
}

async function newSession(url: string, headers: Record<string, string> = {}): Promise<string> {
  const params = { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 't', version: '1' } };
  const opened = await rpc(url, 'initialize', params, { headers });
  return opened.headers.get('mcp-session-id') ?? '';
}

/** Opens the stream of a listener of MCP 2026-07-28. */
function listener(
  url: string,
  headers: Record<string, string> = {},
  signal?: AbortSignal,
): Promise<Response> {
  return fetch(url, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      accept: 'text/event-stream',
      ...headers,
      ...modernHeaders('subscriptions/listen', {}),
    },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'subscriptions/listen', params: LISTEN }),
    ...(signal ? { signal } : {}),
  });
}

/** Opens a session with its standing stream, and tracks whether the stream ended. */
async function standingStream(service: Service, url: string, headers: Record<string, string> = {}) {
  const sessionId = await newSession(url, headers);
  const stream = await fetch(url, {
    headers: { accept: 'text/event-stream', 'mcp-session-id': sessionId, ...headers },
  });
  if (stream.status !== 200) throw new Error(`no stream: ${stream.status}`);
  const closed = { done: false };
  void stream.text().then(
    () => (closed.done = true),
    () => (closed.done = true),
  );
  await polled(service);
  return closed;
}

/** Returns the methods of a stream’s messages so far, one a line. */
function collected(response: Response): { text: string } {
  const so = { text: '' };
  void (async () => {
    for await (const chunk of response.body ?? []) {
      const text = Buffer.from(chunk).toString();
      for (const match of text.matchAll(/^data: (.+)$/gm))
        so.text += `${String(valueAt(parseJson(match[1] ?? ''), 'method'))}\n`;
    }
  })().catch(() => undefined);
  return so;
}
