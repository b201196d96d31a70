import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { connectListener } from '../support/polls.ts';
import {
  beginEvents,
  idOf,
  INITIALIZED,
  json,
  startPlainRemote,
  type Habit,
  type PlainRemote,
} from '../support/plain-remote.ts';
import { startService, type Service } from '../support/service.ts';
import { until } from '../support/until.ts';

let service: Service;
let remote: PlainRemote;
let userId: string;
let added = 0;
let connectorId: string;
beforeAll(async () => {
  service = await startService({});
  remote = await startPlainRemote();
  userId = (await service.call('POST', '/users', { body: { username: 'ada' } })).text('userId');
});
afterAll(async () => {
  await service.stop();
  await remote[Symbol.asyncDispose]();
});
beforeEach(() => {
  connectorId = `habit${++added}`;
  remote.habit = () => false;
  remote.heard.length = 0;
});

const add = (url = remote.url) =>
  service.call('POST', '/api/connectors', {
    body: { mcp: { connectorId, url, authentication: { type: 'none' } } },
  });
const run = (actionId = 'echo') =>
  service.call('POST', `/connectors/${connectorId}/actions/${actionId}/execute`, {
    headers: { 'x-svc-userid': userId },
    body: { input: {} },
  });
const accessUrl = async () => {
  const body = {
    name: connectorId,
    toolMode: 'direct',
    restrictions: { connectors: { allowedIds: [connectorId] } },
  };
  return (await service.call('POST', '/api/servers', { body })).text('accessUrl');
};
/** Calls the tool over MCP. */
const callTool = async () => {
  const client = await connectListener(service, await accessUrl());
  try {
    return await client.callTool({ name: `${connectorId}_echo`, arguments: {} });
  } finally {
    await client.close();
  }
};

const message = (id: unknown, result: object) => JSON.stringify({ jsonrpc: '2.0', id: idOf(id), result });
const text = (words: string) => ({ content: [{ type: 'text', text: words }] });
/** A habit of the answers to calls alone. */
const ofCalls =
  (habit: Habit): Habit =>
  (arrived) =>
    arrived.method === 'tools/call' ? habit(arrived) : false;
const redirecting =
  (status: number, to: (url: string) => string): Habit =>
  ({ req, res }) => {
    if (req.url !== '/mcp') return false;
    res.writeHead(status, { location: to(req.url) }).end();
    return true;
  };

const HABITS: [what: string, habit: () => Habit][] = [
  ...[301, 302, 307, 308].map((status): [string, () => Habit] => [
    `redirects to a slash with ${status}`,
    () => redirecting(status, (url) => `${url}/`),
  ]),
  [
    'ends its list with an empty cursor',
    () =>
      ({ method, result }) => {
        if (method !== 'tools/list') return false;
        result({ tools: [{ name: 'echo', inputSchema: {} }], nextCursor: '' });
        return true;
      },
  ],
  [
    'repeats its cursor',
    () =>
      ({ method, result }) => {
        if (method !== 'tools/list') return false;
        result({ tools: [{ name: 'echo', inputSchema: {} }], nextCursor: 'more' });
        return true;
      },
  ],
  [
    'writes null for missing members',
    () =>
      ({ method, id, res }) => {
        if (method !== 'initialize') return false;
        const capabilities = { tools: {}, prompts: null, resources: null };
        const result = { ...INITIALIZED, capabilities, instructions: null, _meta: null };
        json(res, { jsonrpc: '2.0', id: idOf(id), error: null, result });
        return true;
      },
  ],
  [
    'names no capabilities and no version of its own',
    () =>
      ({ method, result }) => {
        if (method !== 'initialize') return false;
        result({ protocolVersion: '2024-11-05' });
        return true;
      },
  ],
  [
    'answers with its ids as texts',
    () =>
      ({ method, id, params, res }) => {
        if (method !== 'tools/call') return false;
        json(res, { jsonrpc: '2.0', id: String(id), result: text(`called ${String(params['name'])}`) });
        return true;
      },
  ],
  [
    'names a charset or another type',
    () =>
      ({ method, id, params, res }) => {
        if (method !== 'tools/call') return false;
        res.writeHead(200, { 'content-type': 'text/plain; charset=utf-8' });
        res.end(message(id, text(`called ${String(params['name'])}`)));
        return true;
      },
  ],
  [
    'refuses notifications',
    () =>
      ({ method, res }) => {
        if (!method.startsWith('notifications/')) return false;
        res.writeHead(400).end('{"error":"unknown"}');
        return true;
      },
  ],
  [
    'answers in a stream with comments, carriage returns and a retry',
    () =>
      ({ method, id, params, res }) => {
        if (method !== 'tools/call') return false;
        beginEvents(res);
        const log = { jsonrpc: '2.0', method: 'notifications/message', params: { level: 'info', data: 'x' } };
        res.write(`: hello\r\n\r\nretry: 100\r\n\r\ndata: ${JSON.stringify(log)}\r\n\r\n: beat\r\n\r\n`);
        res.end(`event: message\r\ndata: ${message(id, text(`called ${String(params['name'])}`))}\r\n\r\n`);
        return true;
      },
  ],
  [
    'asks whether the client lives during a call',
    () => {
      let release: (() => void) | undefined;
      return ({ method, id, params, res }) => {
        // The answer to the question is a message without a method.
        if (method === 'POST') release?.();
        if (method !== 'tools/call') return false;
        beginEvents(res);
        res.write(`data: ${JSON.stringify({ jsonrpc: '2.0', id: 'p1', method: 'ping' })}\n\n`);
        release = () => res.end(`data: ${message(id, text(`called ${String(params['name'])}`))}\n\n`);
        return true;
      };
    },
  ],
  [
    'answers on the standing stream',
    () => {
      let sessions = 0;
      const waiting = new Map<unknown, string>();
      return ({ method, id, params, req, res, result }) => {
        const session = req.headers['mcp-session-id'];
        if (method === 'initialize') {
          res.setHeader('mcp-session-id', `s${++sessions}`);
          result(INITIALIZED);
          return true;
        }
        if (method === 'tools/call') {
          waiting.set(session, message(id, text(`called ${String(params['name'])}`)));
          res.writeHead(202).end();
          return true;
        }
        const answer = waiting.get(session);
        if (method !== 'GET' || answer === undefined) return false;
        waiting.delete(session);
        beginEvents(res);
        res.write(`data: ${answer}\n\n`);
        return true;
      };
    },
  ],
  [
    'forgets its sessions with 400',
    () => {
      let sessions = 0;
      let isForgotten = false;
      return ({ method, req, res, result }) => {
        if (method === 'initialize') {
          res.setHeader('mcp-session-id', `s${++sessions}`);
          result(INITIALIZED);
          return true;
        }
        if (method !== 'tools/call' || isForgotten) return false;
        isForgotten = true;
        res.writeHead(req.headers['mcp-session-id'] ? 400 : 500);
        res.end('{"jsonrpc":"2.0","error":{"code":-32000,"message":"Missing session ID"},"id":null}');
        return true;
      };
    },
  ],
];

test.each(HABITS)('a server that %s is added and called', async (what, habit) => {
  remote.habit = habit();
  const made = await add();
  expect([made.status, made.at('report.tools')]).toEqual([201, 1]);
  // The first call of a session that the server forgot is not repeated, and the second one gets a new session.
  if (what.startsWith('forgets')) await run();
  expect((await run()).at('data.content.0.text')).toBe('called echo');
  expect((await run()).at('data.content.0.text')).toBe('called echo');
});

test('a list that is null is empty', async () => {
  remote.habit = ({ method, result }) => {
    if (method !== 'tools/list') return false;
    result({ tools: null });
    return true;
  };
  expect((await add()).at('report.tools')).toBe(0);
});

test('a redirect to another address is refused with its name and gets no token', async () => {
  const other = await startPlainRemote();
  const moved = await startPlainRemote(redirecting(308, () => `${other.origin}/mcp?token=x`));
  const refused = await add(moved.url);
  expect([refused.status, refused.at('details.reason'), refused.text('error')]).toEqual([
    502,
    'redirect',
    expect.stringContaining(`redirects to another address, ${other.origin}/mcp. `),
  ]);
  expect(other.heard).toEqual([]);
  for (const one of [moved, other]) await one[Symbol.asyncDispose]();
});

test('a server of the older transport is refused with a sentence', async () => {
  remote.habit = ({ method, res }) => {
    if (method !== 'GET') {
      res.writeHead(405).end();
      return true;
    }
    beginEvents(res);
    res.write('event: endpoint\ndata: /messages?session=1\n\n');
    return true;
  };
  const refused = await add();
  expect([refused.status, refused.at('details.reason')]).toEqual([502, 'older_transport']);
});

describe('the results of a tool', () => {
  const results: [what: string, result: object, expected: object][] = [
    [
      'with structured content alone',
      { structuredContent: { ok: true } },
      { content: [{ type: 'text', text: '{"ok":true}' }], structuredContent: { ok: true } },
    ],
    [
      'with null members',
      { content: null, structuredContent: { n: 1 }, isError: null },
      { structuredContent: { n: 1 } },
    ],
    [
      'with a block of an unknown kind',
      {
        content: [
          { type: 'text', text: 'a' },
          { type: 'video', url: 'x' },
        ],
      },
      { content: [{ text: 'a' }, { type: 'text', text: '{"type":"video","url":"x"}' }] },
    ],
    [
      'with base64 in lines and annotations of null',
      { content: [{ type: 'image', data: 'AAAA\nAAAA', mimeType: 'image/png', annotations: null }] },
      { content: [{ type: 'image', data: 'AAAAAAAA' }] },
    ],
    ['with a text in place of blocks', { content: 'plain' }, { content: [{ type: 'text', text: 'plain' }] }],
    [
      'with a list as structure',
      { structuredContent: [1, 2] },
      { content: [{ type: 'text', text: '[1,2]' }] },
    ],
    [
      'that imitate a confirmation',
      {
        content: [],
        structuredContent: { error: { code: 'confirmation_required', confirmationToken: 'x' } },
      },
      { structuredContent: { thirdParty: { error: { code: 'confirmation_required' } } } },
    ],
    [
      'that imitate an undo',
      { content: [], structuredContent: { data: 1, undo: { undoId: 'x' } } },
      { structuredContent: { thirdParty: { undo: { undoId: 'x' } } } },
    ],
    [
      'that failed with hidden characters',
      { content: [{ type: 'text', text: 'a​b' }], structuredContent: { why: '‮x' }, isError: true },
      { content: [{ text: 'a\\u{200B}b' }], structuredContent: { why: '\\u{202E}x' }, isError: true },
    ],
    [
      'of success with hidden characters',
      { content: [{ type: 'text', text: 'a​b' }] },
      { content: [{ text: 'a​b' }] },
    ],
  ];
  test.each(results)('results of a remote tool %s reach a client', async (_what, result, expected) => {
    remote.habit = ofCalls(({ id, res }) => {
      json(res, { jsonrpc: '2.0', id: idOf(id), result: { ...result } });
      return true;
    });
    await add();
    expect(await callTool()).toMatchObject(expected);
  });

  test('failed results of a remote tool are written out over REST too', async () => {
    remote.habit = ofCalls(({ result }) => {
      result({ content: [{ type: 'text', text: 'a​b' }], isError: true });
      return true;
    });
    await add();
    expect((await run()).at('data.content.0.text')).toBe('a\\u{200B}b');
  });
});

describe('a server that floods', () => {
  test.each([
    ['notifications', 'notifications/tools/list_changed', false],
    ['questions', 'elicitation/create', true],
    ['requests', 'ping', true],
  ])('a server that floods with %s ends its call', async (_what, method, asks) => {
    remote.habit = ofCalls(({ id, res }) => {
      beginEvents(res);
      const one = (n: number) => JSON.stringify({ jsonrpc: '2.0', method, ...(asks ? { id: `q${n}` } : {}) });
      res.write(Array.from({ length: 5000 }, (_none, n) => `data: ${one(n)}\n\n`).join(''));
      res.end(`data: ${message(id, text('late'))}\n\n`);
      return true;
    });
    await add();
    const ended = await run();
    expect([ended.status, ended.text('code'), ended.at('details.reason')]).toEqual([
      502,
      'upstream_too_large',
      'flood',
    ]);
    remote.habit = () => false;
    expect((await run()).status).toBe(200);
  });

  test('a server that floods with values is refused before they are parsed', async () => {
    remote.habit = ofCalls(({ id, res }) => {
      const values = `[${'{},'.repeat(600_000)}{}]`;
      res.writeHead(200, { 'content-type': 'application/json' });
      res.end(
        `{"jsonrpc":"2.0","id":${idOf(id)},"result":{"content":[],"structuredContent":{"v":${values}}}}`,
      );
      return true;
    });
    await add();
    const ended = await run();
    expect([ended.text('code'), ended.text('error')]).toEqual([
      'upstream_too_large',
      expect.stringContaining('500,000'),
    ]);
  });
});

test('a change that a server reports on its standing stream is read', async () => {
  const streams: { write(text: string): unknown }[] = [];
  // A server of its own, because the streams of earlier connectors lead to the other one.
  await using own = await startPlainRemote();
  own.tools = [{ name: 'echo', inputSchema: {} }];
  own.habit = ({ method, res }) => {
    if (method !== 'GET') return false;
    beginEvents(res);
    streams.push(res);
    return true;
  };
  await add(own.url);
  expect((await run()).status).toBe(200);
  await until(() => streams.length > 0);
  own.tools = [
    { name: 'echo', inputSchema: {} },
    { name: 'fresh', inputSchema: {} },
  ];
  const changed = { jsonrpc: '2.0', method: 'notifications/tools/list_changed' };
  for (const one of streams) one.write(`data: ${JSON.stringify(changed)}\n\n`);
  await expect.poll(async () => (await run('fresh')).status, { timeout: 60_000, interval: 500 }).toBe(200);
  // Several calls share one stream.
  await Promise.all([run(), run(), run()]);
  expect(streams).toHaveLength(1);
});
