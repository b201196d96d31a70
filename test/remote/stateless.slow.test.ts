import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import {
  ElicitRequestSchema,
  LoggingMessageNotificationSchema,
  ResourceUpdatedNotificationSchema,
} from '@modelcontextprotocol/sdk/types.js';
import type { ServerResponse } from 'node:http';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { MINUTE, SECOND } from '../../src/lib/clock.ts';
import type { JsonObject } from '../../src/lib/json.ts';
import { modern } from '../support/modern.ts';
import { connectListener, polled } from '../support/polls.ts';
import { startRemoteServer } from '../support/remote-server.ts';
import { startService, type Service } from '../support/service.ts';
import { startStatelessServer, type StatelessServer } from '../support/stateless-server.ts';
import { STORE_KINDS, testOnce } from '../support/stores.ts';
import { until } from '../support/until.ts';

const NOTE = 'note://a';
const FORMS = { capabilities: { elicitation: { form: {} } } };

describe.each(STORE_KINDS)('remote servers of MCP 2026-07-28 over %s', (kind) => {
  const once = testOnce(kind);
  let service: Service;
  let remote: StatelessServer;
  /** A user without accounts. */
  let userId: string;
  let aheadMs = 0;
  let count = 0;
  let closing: (() => unknown)[] = [];
  beforeAll(async () => {
    service = await startService({ kind, clock: { now: () => Date.now() + aheadMs } });
    userId = (await service.call('POST', '/users', { body: { username: 'grace' } })).text('userId');
  });
  afterAll(() => service.stop());
  beforeEach(async () => {
    remote = await startStatelessServer();
  });
  afterEach(async () => {
    for (const close of closing.splice(0)) await close();
    await remote[Symbol.asyncDispose]();
  });

  const post = (connectorId: string, authentication: object = { type: 'none' }, url = remote.url) =>
    service.call('POST', '/api/connectors', { body: { mcp: { connectorId, url, authentication } } });
  const operator = { type: 'bearer', token: 'operator' };

  /** Adds the server as a connector, and an MCP server that shows it. */
  async function added(authentication: object = { type: 'none' }) {
    const connectorId = `notes${++count}`;
    expect((await post(connectorId, authentication)).status).toBe(201);
    const body = {
      name: connectorId,
      toolMode: 'direct',
      duplicateGuard: 'off',
      restrictions: { connectors: { allowedIds: [connectorId] } },
    };
    const url = (await service.call('POST', '/api/servers', { body })).text('accessUrl');
    return { connectorId, url, uri: `svc://remote/${connectorId}/${NOTE}` };
  }
  /** Adds a user with an account at the server. */
  async function person(connectorId: string) {
    const username = `person ${++count}`;
    const id = (await service.call('POST', '/users', { body: { username } })).text('userId');
    const token = `token_${count}_0123456789`;
    const headers = { 'x-svc-userid': id };
    const body = { connectorId, data: { token } };
    await service.call('POST', `/users/${id}/credentials`, { headers, body });
    return { token, headers };
  }
  const run = (
    connectorId: string,
    actionId: string,
    input: object = {},
    headers = { 'x-svc-userid': userId },
  ) =>
    service.call('POST', `/connectors/${connectorId}/actions/${actionId}/execute`, {
      headers,
      body: { input },
    });
  const methods = () => remote.heard.map(({ method }) => method);
  /** Answers a method by `answer`, and everything else as the server does. */
  function instead(method: string, answer: (id: unknown, res: ServerResponse) => void): void {
    remote.instead = (_req, res, body) => {
      if (!body.includes(`"${method}"`)) return false;
      answer(z.object({ id: z.unknown() }).parse(JSON.parse(body)).id, res);
      return true;
    };
  }
  const asJson = (res: ServerResponse, message: object, status = 200) =>
    void res.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(message));
  const result = (members: object) => (id: unknown, res: ServerResponse) =>
    asJson(res, { jsonrpc: '2.0', id, result: members });

  test('tools are listed and called without a session', async () => {
    const { connectorId } = await added(operator);
    const { headers } = await person(connectorId);
    expect(methods()).not.toContain('initialize');
    remote.heard.length = 0;
    const sum = await run(connectorId, 'add_numbers', { a: 2, b: 3 }, headers);
    expect([sum.status, sum.at('data.content.0.text')]).toEqual([200, '5']);
    await run(connectorId, 'add_numbers', { a: 1, b: 1 }, headers);
    // The stream of changes is opened at the same time.
    expect(methods().filter((method) => method !== 'subscriptions/listen')).toEqual([
      'tools/call',
      'tools/call',
    ]);
    const read = await run(connectorId, 'read_resource', { uri: NOTE }, headers);
    expect(read.at('data.contents.0.text')).toBe('note');
    const refused = await run(connectorId, 'read_resource', { uri: 'note://none' }, headers);
    expect([refused.status, refused.text('code')]).toEqual([422, 'upstream_rejected']);
  });

  once?.('an argument that the schema names is repeated in its header', async () => {
    const { connectorId, url } = await added();
    expect((await run(connectorId, 'route', { region: 'eu' })).at('data.content.0.text')).toBe('eu');
    // Clients of Gatehouse need not know of it.
    const params = { name: `${connectorId}_route`, arguments: { region: 'us' } };
    expect((await modern(url, 'tools/call', params)).at('result.content.0.text')).toBe('us');
  });

  once?.('the version is asked for once, and again after ten minutes', async () => {
    await using older = await startRemoteServer();
    await using both = await startStatelessServer({ older: true });
    await post('older', { type: 'none' }, older.url);
    await post('both', { type: 'none' }, both.url);
    const heard = () => [...older.heard, ...both.heard].map(({ method }) => method);
    expect(both.heard.map(({ method }) => method)).not.toContain('initialize');
    older.heard.length = both.heard.length = 0;
    const sums = async () => [
      (await run('older', 'add_numbers', { a: 1, b: 2 })).at('data.content.0.text'),
      (await run('both', 'add_numbers', { a: 1, b: 2 })).at('data.content.0.text'),
    ];
    expect(await sums()).toEqual(['3', '3']);
    expect(heard()).not.toContain('server/discover');
    aheadMs += 11 * MINUTE;
    expect(await sums()).toEqual(['3', '3']);
    expect(older.heard.map(({ method }) => method)).toContain('server/discover');
  });

  once?.('a server that speaks the newer version alone since an update is called', async () => {
    await using older = await startRemoteServer();
    await post('updated', { type: 'none' }, older.url);
    const passOn = async (headers: [string, string][], body: string, res: ServerResponse) => {
      const answer = await fetch(remote.url, { method: 'POST', headers, body });
      const type = answer.headers.get('content-type') ?? '';
      res.writeHead(answer.status, { 'content-type': type }).end(await answer.text());
    };
    older.instead = (req, res, body) => {
      const headers = Object.entries(req.headers).map(([name, value]): [string, string] => [
        name,
        String(value),
      ]);
      if (req.method === 'POST') passOn(headers, body, res).catch(() => res.destroy());
      return req.method === 'POST';
    };
    expect((await run('updated', 'add_numbers', { a: 3, b: 4 })).at('data.content.0.text')).toBe('7');
  });

  once?.('progress and log messages reach the client', async () => {
    const { url, connectorId } = await added();
    const client = await connectListener(service, url);
    closing.push(() => client.close());
    const [steps, logs]: [unknown[], unknown[]] = [[], []];
    client.setNotificationHandler(
      LoggingMessageNotificationSchema,
      ({ params }) => void logs.push(params.data),
    );
    const done = await client.callTool({ name: `${connectorId}_slow`, arguments: {} }, undefined, {
      onprogress: (progress) => void steps.push(progress),
    });
    expect(done.content).toMatchObject([{ text: 'done' }]);
    expect([steps, logs]).toEqual([[{ progress: 1, total: 2, message: 'half' }], ['slowly']]);
  });

  once?.('questions reach the user of a client, also several at once', async () => {
    const { url, connectorId } = await added();
    const asked: string[] = [];
    const client = new Client({ name: 'tests', version: '1' }, { capabilities: { elicitation: {} } });
    client.setRequestHandler(ElicitRequestSchema, ({ params }) => {
      asked.push(params.message);
      return { action: 'accept', content: { title: `note ${asked.length}` } };
    });
    await client.connect(new StreamableHTTPClientTransport(new URL(url)));
    closing.push(() => client.close());
    const answer = await client.callTool({ name: `${connectorId}_ask`, arguments: { times: 3 } });
    expect(answer.content).toMatchObject([{ text: 'note 1, note 2, note 3' }]);
    expect(asked).toEqual([1, 2, 3].map((n) => `${connectorId} asks: Which note? (${n})`));
  });

  test('questions reach the user of a client between its requests', async () => {
    const { url, connectorId } = await added();
    const ask = (more: JsonObject = {}) =>
      modern(url, 'tools/call', { name: `${connectorId}_ask`, arguments: { times: 2 }, ...more }, FORMS);
    let answer = await ask();
    for (const title of ['one', 'two']) {
      expect(answer.at('result.resultType')).toBe('input_required');
      answer = await ask({
        inputResponses: { question: { action: 'accept', content: { title } } },
        requestState: answer.at('result.requestState') ?? null,
      });
    }
    expect(answer.at('result.content.0.text')).toBe('one, two');
  });

  once?.('a question without end is cancelled, and so is one that no user can be asked', async () => {
    const { url, connectorId } = await added();
    const name = `${connectorId}_ask`;
    const mute = await modern(url, 'tools/call', { name, arguments: { times: 1 } });
    expect(mute.at('result.isError')).toBe(true);
    let answer = await modern(url, 'tools/call', { name, arguments: { times: 99 } }, FORMS);
    let asked = 0;
    while (answer.at('result.resultType') === 'input_required') {
      asked++;
      const again = {
        inputResponses: { question: { action: 'accept', content: { title: 'again' } } },
        requestState: answer.at('result.requestState') ?? null,
      };
      answer = await modern(url, 'tools/call', { name, arguments: { times: 99 }, ...again }, FORMS);
    }
    expect([asked, answer.at('result.isError')]).toEqual([10, true]);
  });

  once?.('a changed list of tools is read while an account is in use', async () => {
    const { connectorId } = await added(operator);
    const { headers } = await person(connectorId);
    await run(connectorId, 'add_numbers', { a: 1, b: 1 }, headers);
    await until(() => remote.listeners().length > 0);
    remote.tools = (server) =>
      void server.registerTool('fresh', { description: 'Is new.' }, () => ({ content: [] }));
    remote.notify.toolsChanged();
    await until(async () => {
      aheadMs += SECOND;
      const { body } = await service.call('GET', `/connectors/${connectorId}/actions`);
      return JSON.stringify(body).includes('"fresh"');
    });
  });

  test('a followed resource reports its changes to its user alone', async () => {
    const { connectorId, url, uri } = await added(operator);
    const [ada, bob] = [await person(connectorId), await person(connectorId)];
    const follow = async (who: typeof ada) => {
      const headers = { authorization: `Bearer ${service.developmentKey}`, ...who.headers };
      const client = await connectListener(service, url.replace(/(\/mcp\/[^/]+).*/, '$1'), headers);
      closing.push(() => client.close());
      const updates: string[] = [];
      client.setNotificationHandler(
        ResourceUpdatedNotificationSchema,
        (n) => void updates.push(n.params.uri),
      );
      return { client, updates };
    };
    const [one, other] = [await follow(ada), await follow(bob)];
    await one.client.subscribeResource({ uri });
    await until(() => remote.listeners().includes(ada.token));
    remote.notify.resourceUpdated('note://other');
    remote.notify.resourceUpdated(NOTE);
    await until(() => one.updates.length > 0);
    await polled(service);
    expect([one.updates, other.updates]).toEqual([[uri], []]);
    // A stream that breaks is opened again, with one update.
    remote.drop();
    await until(() => {
      aheadMs += 5 * SECOND;
      return one.updates.length > 1 && remote.listeners().includes(ada.token);
    });
    await one.client.unsubscribeResource({ uri });
    await until(() => {
      aheadMs += MINUTE;
      return !remote.listeners().includes(ada.token);
    });
  });

  once?.('a resource whose changes the server leaves out cannot be followed', async () => {
    const { url, uri } = await added();
    const client = await connectListener(service, url);
    closing.push(() => client.close());
    instead('subscriptions/listen', (id, res) => {
      const params = { notifications: {}, _meta: { 'io.modelcontextprotocol/subscriptionId': id } };
      const message = { jsonrpc: '2.0', method: 'notifications/subscriptions/acknowledged', params };
      res
        .writeHead(200, { 'content-type': 'text/event-stream' })
        .write(`data: ${JSON.stringify(message)}\n\n`);
    });
    await expect(client.subscribeResource({ uri })).rejects.toThrow('reports no changes');
  });

  once?.('a call that its client cancels ends at the server', async () => {
    const { url, connectorId } = await added();
    const left = new AbortController();
    const call = modern(
      url,
      'tools/call',
      { name: `${connectorId}_wait`, arguments: {} },
      { signal: left.signal },
    ).catch(() => undefined);
    await until(() => methods().includes('tools/call'));
    left.abort();
    await call;
    await until(() => remote.cancelled === 1);
  });

  once?.('a stream that ends before its answer is a broken connection', async () => {
    const { connectorId } = await added();
    instead('tools/call', (_id, res) =>
      res.writeHead(200, { 'content-type': 'text/event-stream' }).end('id: 1\ndata:\n\n'),
    );
    const broken = await run(connectorId, 'add_numbers', { a: 1, b: 2 });
    expect([broken.status, broken.at('details.reason')]).toEqual([502, 'reset']);
    remote.instead = undefined;
    expect((await run(connectorId, 'add_numbers', { a: 1, b: 2 })).status).toBe(200);
  });

  once?.('an error with a status of its own is a refusal with the words of the server', async () => {
    const { connectorId } = await added();
    instead('tools/call', (id, res) =>
      asJson(res, { jsonrpc: '2.0', id, error: { code: -32601, message: 'no such method' } }, 404),
    );
    const refused = await run(connectorId, 'add_numbers', { a: 1, b: 2 });
    expect([refused.status, refused.at('details.message')]).toEqual([422, 'no such method']);
    instead('tools/call', (_id, res) => res.writeHead(503).end());
    expect((await run(connectorId, 'add_numbers', { a: 1, b: 2 })).status).toBe(502);
  });

  once?.('a server that claims the version and does not speak it is not added', async () => {
    instead('tools/list', result({ tools: [] }));
    const untyped = await post('untyped');
    expect([untyped.status, untyped.at('details.reason')]).toEqual([502, 'protocol']);
    instead('tools/list', (_id, res) => asJson(res, { hello: 'world' }));
    expect((await post('stranger')).at('details.reason')).toBe('protocol');
    instead('tools/list', (_id, res) => res.writeHead(404).end());
    expect((await post('nothing')).status).toBeGreaterThanOrEqual(400);
    remote.instead = undefined;
    for (const id of ['untyped', 'stranger', 'nothing'])
      expect((await service.call('GET', `/api/connectors/${id}`)).status).toBe(404);
  });

  once?.('a server that wants input without end, or more than answers, fails its own call', async () => {
    const { connectorId } = await added();
    instead('tools/call', result({ resultType: 'input_required', requestState: 'more' }));
    const endless = await run(connectorId, 'add_numbers', { a: 1, b: 2 });
    expect([endless.status, endless.text('code')]).toEqual([502, 'upstream_failed']);
    const sampling = { method: 'sampling/createMessage', params: { messages: [], maxTokens: 5 } };
    instead('tools/call', result({ resultType: 'input_required', inputRequests: { x: sampling } }));
    const greedy = await run(connectorId, 'add_numbers', { a: 1, b: 2 });
    expect([greedy.text('code'), greedy.text('error')]).toEqual([
      'upstream_failed',
      expect.stringContaining('sampling/createMessage'),
    ]);
  });
});
