import type { ServerResponse } from 'node:http';
import { tmpdir } from 'node:os';
import {
  ResourceUpdatedNotificationSchema,
  SubscribeRequestSchema,
  UnsubscribeRequestSchema,
} from '@modelcontextprotocol/sdk/types.js';
import type { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { MINUTE, SECOND } from '../../src/lib/clock.ts';
import { MIB } from '../../src/lib/http/http-body.ts';
import { BIN, cliEnv } from '../support/cli.ts';
import { connectListener, polled, pollsIn, recordReads } from '../support/polls.ts';
import { startRemoteServer, type RemoteServer } from '../support/remote-server.ts';
import { startService, type Service } from '../support/service.ts';
import { STORE_KINDS, testOnce } from '../support/stores.ts';
import { listenTo } from '../support/modern.ts';
import { until } from '../support/until.ts';

const NOTE = 'note://a';

/** A session of a remote server, with the addresses that its client subscribed to. */
interface Theirs {
  server: McpServer;
  authorization: string | undefined;
  uris: Set<string>;
}

describe.each(STORE_KINDS)('subscriptions to resources of remote servers over %s', (kind) => {
  const once = testOnce(kind);
  let service: Service;
  let remote: RemoteServer;
  let sessions: Theirs[];
  let aheadMs = 0;
  let count = 0;
  let closing: (() => unknown)[];
  beforeAll(async () => {
    service = await startService({ kind, clock: { now: () => Date.now() + aheadMs } });
  });
  afterAll(() => service.stop());
  beforeEach(async () => {
    closing = [];
    sessions = [];
    remote = await startRemoteServer();
    remote.tools = addNotes;
  });
  afterEach(async () => {
    for (const close of closing) await close();
    await remote[Symbol.asyncDispose]();
  });

  /** Adds a note that clients subscribe to. */
  function addNotes(server: McpServer, authorization: string | undefined): void {
    const one: Theirs = { server, authorization, uris: new Set() };
    sessions.push(one);
    server.registerResource('note', NOTE, {}, () => ({ contents: [{ uri: NOTE, text: 'note' }] }));
    server.server.registerCapabilities({ resources: { subscribe: true } });
    server.server.setRequestHandler(SubscribeRequestSchema, ({ params }) => {
      one.uris.add(params.uri);
      return {};
    });
    server.server.setRequestHandler(UnsubscribeRequestSchema, ({ params }) => {
      one.uris.delete(params.uri);
      return {};
    });
    // A session ends with its subscriptions. A busy client may end it without a request to unsubscribe.
    Object.assign(server.server, { onclose: () => one.uris.clear() });
  }
  const subscribed = (token?: string) =>
    sessions.filter(
      ({ uris, authorization }) => uris.size > 0 && (!token || authorization === `Bearer ${token}`),
    );
  const report = async (token: string, uri = NOTE) => {
    for (const { server } of subscribed(token)) await server.server.sendResourceUpdated({ uri });
  };

  /** Adds the remote server as a connector, and an MCP server that shows it. */
  async function added() {
    const connectorId = `notes${++count}`;
    const mcp = { connectorId, url: remote.url, authentication: { type: 'bearer', token: 'operator' } };
    const made = await service.call('POST', '/api/connectors', { body: { mcp } });
    expect(made.status).toBe(201);
    const restrictions = { connectors: { allowedIds: [connectorId] } };
    const body = { name: connectorId, restrictions };
    const serverId = (await service.call('POST', '/api/servers', { body })).text('serverId');
    return {
      connectorId,
      serverId,
      mcp,
      restrictions,
      uri: `svc://remote/${connectorId}/${NOTE}`,
      url: `${service.url}/mcp/${serverId}`,
      restrict: (more: object) =>
        service.call('PUT', `/api/servers/${serverId}`, {
          body: { restrictions: { ...restrictions, ...more } },
        }),
    };
  }
  type Added = Awaited<ReturnType<typeof added>>;

  /** Adds a user with an account at the remote server. */
  async function person({ connectorId }: Added) {
    const name = `person ${++count}`;
    const userId = (await service.call('POST', '/users', { body: { username: name } })).text('userId');
    const token = `token_${count}`;
    const connect = async (data = { token }) => {
      const made = await service.call('POST', `/users/${userId}/credentials`, {
        headers: { 'x-svc-userid': userId },
        body: { connectorId, data },
      });
      return made.text('credentialId');
    };
    const credentialId = await connect();
    return { userId, token, credentialId, connect };
  }
  type Person = Awaited<ReturnType<typeof person>>;
  const headersOf = ({ userId }: Person) => ({
    authorization: `Bearer ${service.developmentKey}`,
    'x-svc-userid': userId,
  });

  /** Connects a client, and subscribes it. */
  async function subscriber({ url, uri }: Added, who: Person, uris = [uri]) {
    const client = await connectListener(service, url, headersOf(who));
    closing.push(() => client.close());
    const updates = updatesOf(client);
    for (const one of uris) await client.subscribeResource({ uri: one });
    return { client, updates };
  }
  function updatesOf(client: Client): string[] {
    const updates: string[] = [];
    client.setNotificationHandler(
      ResourceUpdatedNotificationSchema,
      ({ params }) => void updates.push(params.uri),
    );
    return updates;
  }

  test('all clients of a user hear a change once, and another user nothing', async () => {
    const notes = await added();
    const [ada, bob] = [await person(notes), await person(notes)];
    const one = await subscriber(notes, ada);
    const two = await subscriber(notes, ada);
    const heard = await listenTo(notes.url, [notes.uri], headersOf(ada));
    closing.push(heard.leave);
    const other = await subscriber(notes, bob);
    await until(() => heard.messages.length === 1);
    expect([subscribed(ada.token).length, subscribed(bob.token).length]).toEqual([1, 1]);
    for (const list of [one.updates, two.updates, other.updates]) list.splice(0);
    const before = heard.messages.length;
    await report(ada.token);
    await until(() => one.updates.length > 0 && two.updates.length > 0 && heard.messages.length > before);
    expect(JSON.stringify(heard.messages.at(-1))).toContain(notes.uri);
    await report(bob.token);
    await until(() => other.updates.length > 0);
    expect([one.updates, two.updates, other.updates]).toEqual([[notes.uri], [notes.uri], [notes.uri]]);
    const rows = await service.call(
      'GET',
      `/api/executions?connectorId=${notes.connectorId}&actionId=read_resource`,
    );
    expect(rows.at('data.0.outcome')).toBe('succeeded');
  });

  once?.('a client on standard input hears a change, and its end ends the subscription', async () => {
    const notes = await added();
    const ada = await person(notes);
    const client = new Client({ name: 'test', version: '1.0.0' });
    const more = { ...service.env, GATEHOUSE_ALLOW_PRIVATE_NETWORK: '1' };
    const env = cliEnv(service.env['GATEHOUSE_HOME'] ?? '', more);
    const args = [BIN, 'stdio', '--server', notes.serverId, '--user', ada.userId];
    await client.connect(new StdioClientTransport({ command: process.execPath, args, cwd: tmpdir(), env }));
    closing.push(() => client.close());
    const updates = updatesOf(client);
    await client.subscribeResource({ uri: notes.uri });
    await report(ada.token);
    await until(() => updates.length > 0);
    expect(updates).toEqual([notes.uri]);
    await client.close();
    await until(() => subscribed().length === 0);
  });

  once?.('a flood becomes one update for each poll, and other addresses none', async () => {
    const notes = await added();
    const ada = await person(notes);
    const { updates } = await subscriber(notes, ada);
    for (let n = 0; n < 1000; n++) await report(ada.token, `note://other${n}`);
    await polled(service, 4);
    expect(updates).toEqual([]);
    using reads = recordReads(service);
    for (let n = 0; n < 1000; n++) await report(ada.token);
    await until(() => updates.length > 0);
    await report(ada.token, `${NOTE}/part`);
    const seen = updates.length;
    await until(() => updates.length > seen);
    expect(updates.length).toBeLessThanOrEqual(pollsIn(reads.tables) + 1);
    expect(new Set(updates)).toEqual(new Set([notes.uri]));
  });

  once?.('ends when the client unsubscribes, and after the end of its session', async () => {
    const notes = await added();
    const ada = await person(notes);
    const { client } = await subscriber(notes, ada);
    await client.unsubscribeResource({ uri: notes.uri });
    await until(() => subscribed().length === 0);
    expect(remote.heard.map(({ method }) => method)).toContain('resources/unsubscribe');
    await client.subscribeResource({ uri: notes.uri });
    expect(subscribed(ada.token)).toHaveLength(1);
    await client.close();
    await until(() => {
      aheadMs += SECOND;
      return subscribed().length === 0;
    });
  });

  once?.('ends with the right to read, and begins again with it', async () => {
    const notes = await added();
    const ada = await person(notes);
    const { client, updates } = await subscriber(notes, ada);
    await notes.restrict({ actions: { blockedActions: [`${notes.connectorId}.read_resource`] } });
    await until(() => subscribed().length === 0);
    await expect(client.subscribeResource({ uri: notes.uri })).rejects.toMatchObject({ code: -32002 });
    updates.splice(0);
    await notes.restrict({});
    await until(() => subscribed(ada.token).length === 1 && updates.length > 0);
  });

  test('a remote subscription ends with the account, and begins again with another', async () => {
    const notes = await added();
    const ada = await person(notes);
    const { updates } = await subscriber(notes, ada);
    const path = `/users/${ada.userId}/credentials/${ada.credentialId}`;
    const removed = await service.call('DELETE', path, { headers: { 'x-svc-userid': ada.userId } });
    expect(removed.status).toBeLessThan(300);
    await until(() => subscribed().length === 0);
    await polled(service);
    updates.splice(0);
    await ada.connect({ token: 'token_second' });
    await until(() => subscribed('token_second').length === 1 && updates.length > 0);
  });

  once?.('ends at the old address of a connector, and begins at the new one', async () => {
    const notes = await added();
    const ada = await person(notes);
    const { updates } = await subscriber(notes, ada);
    await using other = await startRemoteServer();
    other.tools = addNotes;
    const moved = await service.call('PUT', `/api/connectors/${notes.connectorId}`, {
      body: { mcp: { ...notes.mcp, url: other.url } },
    });
    expect(moved.status).toBe(200);
    // Another origin does not get the old account.
    await until(() => subscribed().length === 0);
    const isFollowedThere = () => other.heard.some(({ method }) => method === 'resources/subscribe');
    expect(isFollowedThere()).toBe(false);
    await ada.connect();
    await until(() => isFollowedThere() && subscribed(ada.token).length === 1);
    updates.splice(0);
    await report(ada.token);
    await until(() => updates.length > 0);
    await service.call('DELETE', `/api/connectors/${notes.connectorId}`);
    await until(() => subscribed().length === 0);
  });

  once?.('is opened again after a server was gone, with one update', async () => {
    const notes = await added();
    const ada = await person(notes);
    const { updates } = await subscriber(notes, ada);
    remote.instead = (_req, res) => {
      res.writeHead(503).end();
      return true;
    };
    remote.forget();
    sessions = [];
    remote.drop();
    await polled(service, 4);
    expect(updates).toEqual([]);
    remote.instead = undefined;
    await until(() => {
      aheadMs += 5 * SECOND;
      return subscribed(ada.token).length === 1 && updates.length === 1;
    });
    await report(ada.token);
    await until(() => updates.length === 2);
  });

  once?.('is refused by a server without subscriptions or standing stream', async () => {
    remote.tools = (server) => {
      server.registerResource('note', NOTE, {}, () => ({ contents: [{ uri: NOTE, text: 'note' }] }));
    };
    const notes = await added();
    const ada = await person(notes);
    const client = await connectListener(service, notes.url, headersOf(ada));
    closing.push(() => client.close());
    const refused = () =>
      expect(client.subscribeResource({ uri: notes.uri })).rejects.toThrow('reports no changes');
    await refused();
    remote.tools = addNotes;
    const before = remote.openSessions();
    remote.instead = ({ method }, res) => {
      if (method !== 'GET') return false;
      res.writeHead(405).end();
      return true;
    };
    await refused();
    await until(() => remote.openSessions() <= before);
    const heard = await listenTo(notes.url, [notes.uri, 'svc://connectors'], headersOf(ada));
    closing.push(heard.leave);
    await until(() => heard.messages.length === 1);
    expect(JSON.stringify(heard.messages[0])).toContain('"resourceSubscriptions":["svc://connectors"]');
  });

  once?.('a stream that ends at once is opened again ever more seldom', async () => {
    const notes = await added();
    const ada = await person(notes);
    const { client, updates } = await subscriber(notes, ada);
    let opened = 0;
    const open = new Set<ServerResponse>();
    remote.instead = ({ method }, res, body) => {
      if (method === 'GET') {
        opened++;
        open.add(res.writeHead(200, { 'content-type': 'text/event-stream' }));
        res.flushHeaders();
        return true;
      }
      if (!body.includes('resources/subscribe')) return false;
      // The stream ends as soon as the subscription stands.
      res.on('finish', () => open.forEach((one) => one.end()));
      return false;
    };
    remote.drop();
    const step = async (ms: number) => {
      aheadMs += ms;
      await polled(service, 6);
    };
    for (let n = 0; n < 12; n++) await step(10 * SECOND);
    // Within two minutes: 1, 2, 4, 8, 16, 32 and 60 seconds apart, and as often for the stream about tools.
    expect(opened).toBeGreaterThan(2);
    expect(opened).toBeLessThan(20);
    expect(updates.length).toBeLessThanOrEqual(opened);
    remote.instead = undefined;
    await step(2 * MINUTE);
    await until(() => subscribed(ada.token).some(({ server }) => server.isConnected()));
    const { contents } = await client.readResource({ uri: notes.uri });
    expect(contents).toMatchObject([{ text: 'note' }]);
  });

  once?.('an endless stream of changes is ended, and others hear theirs', async () => {
    const notes = await added();
    const [ada, bob] = [await person(notes), await person(notes)];
    const good = await subscriber(notes, bob);
    const streams = new Set<ServerResponse>();
    let sent = 0;
    const flood = (res: ServerResponse) => {
      const message = { jsonrpc: '2.0', method: 'notifications/resources/updated', params: { uri: NOTE } };
      const text = `data: ${JSON.stringify(message)}\n\n`.repeat(100);
      const more = () => {
        while (!res.destroyed && res.write(text)) sent += text.length;
      };
      res.on('drain', more);
      more();
    };
    remote.instead = ({ method, headers }, res, body) => {
      if (headers.authorization !== `Bearer ${ada.token}`) return false;
      if (method === 'GET') {
        streams.add(res.writeHead(200, { 'content-type': 'text/event-stream' }));
        res.flushHeaders();
        return true;
      }
      if (body.includes('resources/subscribe')) res.on('finish', () => streams.forEach(flood));
      return false;
    };
    const { updates } = await subscriber(notes, ada);
    using reads = recordReads(service);
    const before = updates.length;
    await until(() => streams.size > 0 && [...streams].some(({ destroyed }) => destroyed));
    await report(bob.token);
    await until(() => good.updates.length > 0 && updates.length > 0);
    expect(updates.length - before).toBeLessThanOrEqual(pollsIn(reads.tables) + 1);
    expect(sent / streams.size).toBeLessThan(20 * MIB);
  });

  once?.('a user has at most 20, and another user has his own', async () => {
    const notes = await added();
    const [ada, bob] = [await person(notes), await person(notes)];
    const uris = Array.from({ length: 20 }, (_, n) => `${notes.uri}${n}`);
    const { client } = await subscriber(notes, ada, uris);
    await expect(client.subscribeResource({ uri: notes.uri })).rejects.toThrow('at most 20');
    await subscriber(notes, bob);
    await client.unsubscribeResource({ uri: String(uris[0]) });
    await client.subscribeResource({ uri: notes.uri });
    await until(() => subscribed(ada.token).length === 20);
  });

  test('a stop of Gatehouse ends all remote subscriptions', async () => {
    const own = await startService({ kind });
    const shared = service;
    try {
      service = own;
      const notes = await added();
      const ada = await person(notes);
      await subscriber(notes, ada);
      expect(remote.openSessions()).toBeGreaterThan(0);
    } finally {
      service = shared;
      await own.stop();
    }
    expect([remote.openSessions(), subscribed()]).toEqual([0, []]);
  });

  once?.('a stop of Gatehouse ends a session that the server has not answered yet', async () => {
    const own = await startService({ kind });
    const shared = service;
    let stopped: Promise<void> | undefined;
    const answer = Promise.withResolvers<void>();
    try {
      service = own;
      const notes = await added();
      const [ada, bob] = [await person(notes), await person(notes)];
      await subscriber(notes, bob);
      await subscriber(notes, ada);
      const path = `/users/${ada.userId}/credentials/${ada.credentialId}`;
      await service.call('DELETE', path, { headers: { 'x-svc-userid': ada.userId } });
      await until(() => subscribed(ada.token).length === 0);
      let begun = 0;
      remote.before = async (method, authorization) => {
        // The first session with the new account checks it, and the next one is for her subscription.
        if (method === 'initialize' && authorization === 'Bearer token_second' && ++begun > 1)
          await answer.promise;
      };
      await ada.connect({ token: 'token_second' });
      await until(() => begun > 1);
      stopped = own.stop();
      // The end of his session shows that hers is ended too.
      await until(() => subscribed(bob.token).length === 0);
    } finally {
      service = shared;
      answer.resolve();
      await (stopped ?? own.stop());
    }
    expect(remote.openSessions()).toBe(0);
  });
});
