import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import {
  cpuSeconds,
  drive,
  launch,
  lineWith,
  LOAD_CORE,
  median,
  residentMb,
  SERVER_CORE,
  start,
  type Child,
  type Figures,
  type Talking,
} from './processes.ts';
import { ownScratch } from '../support/scratch.ts';
import { benchEvents } from './events.ts';
import { benchPolls } from './polls.ts';
import { benchRest } from './rest.ts';
import { listed, plainPeer, prepareProduct } from './programs.ts';
import { benchSessions, openSession } from './sessions.ts';
import { table } from './table.ts';

/*
 * npm run bench [-- --rounds 5 --seconds 5 --only tools/list]: compares Gatehouse with the official SDK alone and an Express
 * echo in one run, with interleaved rounds. Prints Markdown tables and does not judge them: read the ratios.
 */
const { values: options } = parseArgs({
  options: {
    rounds: { type: 'string', default: '5' },
    seconds: { type: 'string', default: '5' },
    connections: { type: 'string', default: '16' },
    only: { type: 'string', default: '' },
  },
});
const ROUNDS = Number(options.rounds);
const SECONDS = Number(options.seconds);
const CONNECTIONS = Number(options.connections);
/** Warm-up, because V8 still compiles before its end, and more so for larger programs. */
const WARM_UP = { requests: 20_000, seconds: 20 };
const scratch = ownScratch();
const here = (name: string) => new URL(name, import.meta.url).pathname;

interface Cell {
  name: string;
  tools: number;
  /** JSON-RPC method and params for Gatehouse, and those for the references. */
  ours: [method: string, params: object];
  theirs?: [method: string, params: object];
  peers: ('sdk' | 'express')[];
  connections?: number;
  /** Whether the requests use a session. The references have no sessions. */
  session?: true;
  /** Number of further users, credentials and servers in the store, which are not used. */
  population?: number;
}

const call = (name: string, args: object): [string, object] => ['tools/call', { name, arguments: args }];
const CELLS: Cell[] = [
  ...[10, 200, 2000].map((tools): Cell => ({
    name: `tools/list, ${tools} tools`,
    tools,
    ours: ['tools/list', {}],
    peers: ['sdk', 'express'],
  })),
  ...[10, 2000].map((tools): Cell => ({
    name: `tools/call of a built-in, ${tools} tools visible`,
    tools,
    ours: call('list_connectors_svc', {}),
    theirs: call('echo', { text: 'hello' }),
    peers: ['sdk', 'express'],
  })),
  {
    name: 'action, 1 KB answer',
    tools: 10,
    ours: call('bench10_get_item', { itemId: '1' }),
    theirs: call('get_item', {}),
    peers: ['sdk', 'express'],
  },
  {
    name: 'action, page of 50',
    tools: 10,
    ours: call('bench10_list_page', { limit: 50 }),
    theirs: call('list_page', {}),
    peers: ['sdk', 'express'],
  },
  {
    name: 'action, 1 KB answer, one connection',
    tools: 10,
    ours: call('bench10_get_item', { itemId: '1' }),
    theirs: call('get_item', {}),
    peers: ['sdk'],
    connections: 1,
  },
  {
    name: 'in a session: tools/list, 10 tools',
    tools: 10,
    ours: ['tools/list', {}],
    peers: ['sdk'],
    session: true,
  },
  {
    name: 'in a session: action, 1 KB answer',
    tools: 10,
    ours: call('bench10_get_item', { itemId: '1' }),
    theirs: call('get_item', {}),
    peers: ['sdk'],
    session: true,
  },
  ...[10, 100_000].map((population): Cell => ({
    name: `${population} others in the store: action, 1 KB answer`,
    tools: 10,
    ours: call('bench10_get_item', { itemId: '1' }),
    theirs: call('get_item', {}),
    peers: ['sdk'],
    population,
  })),
];

interface Sample extends Figures {
  /** CPU microseconds of the server per request. */
  cpu: number;
}

await using upstream = await start(LOAD_CORE, [here('upstream.ts')]);
const origin = `http://127.0.0.1:${upstream.line}`;

for (const cell of CELLS.filter(({ name }) => name.includes(options.only))) await runCell(cell);
if (options.only === '' || options.only === 'direct') await direct();
if (options.only === '' || options.only === 'memory') await memory();
if (options.only === '' || options.only === 'start') await coldStart();
if (options.only === '' || options.only === 'sessions') await benchSessions();
if ('rest'.startsWith(options.only))
  await benchRest(origin, { rounds: ROUNDS, seconds: SECONDS, connections: CONNECTIONS });
if ('events, polls'.startsWith(options.only)) await benchPolls();
await benchEvents({ rounds: ROUNDS, seconds: SECONDS, wants: (cell) => cell.startsWith(options.only) });

async function runCell(cell: Cell): Promise<void> {
  const samples = new Map<string, Sample[]>();
  for (let round = 0; round < ROUNDS; round++) {
    for (const target of ['gatehouse', ...cell.peers]) {
      await using child = await startTarget(target, cell.tools, cell.population);
      const [method, params] = target === 'gatehouse' ? cell.ours : (cell.theirs ?? cell.ours);
      const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params });
      const url = urlOf(target, child, cell.tools);
      const load = {
        url,
        body,
        headers: await headersOf(cell, target, url),
        connections: cell.connections ?? CONNECTIONS,
      };
      await drive({ ...load, ...WARM_UP });
      const before = cpuSeconds(pidOf(child));
      const figures = await drive({ ...load, requests: 1e9, seconds: SECONDS });
      const cpu = ((cpuSeconds(pidOf(child)) - before) * 1e6) / figures.requests;
      samples.set(target, [...(samples.get(target) ?? []), { ...figures, cpu }]);
    }
  }
  const middle = (target: string, key: keyof Sample) =>
    median((samples.get(target) ?? []).map((sample) => sample[key]));
  const rows = [...samples.keys()].map((target) => [
    target,
    middle(target, 'perSecond').toFixed(0),
    middle(target, 'cpu').toFixed(0),
    middle(target, 'p50').toFixed(2),
    middle(target, 'p99').toFixed(2),
    (middle('sdk', 'cpu') / middle(target, 'cpu')).toFixed(2),
    (middle(target, 'perSecond') / middle('sdk', 'perSecond')).toFixed(2),
  ]);
  table(
    `${cell.name} (c=${cell.connections ?? CONNECTIONS})`,
    ['target', 'req/s', 'CPU µs/req', 'p50 ms', 'p99 ms', 'SDK CPU ÷ this', 'req/s ÷ SDK'],
    rows,
  );
}

async function headersOf(cell: Cell, target: string, url: string): Promise<Record<string, string>> {
  return cell.session && target === 'gatehouse' ? { 'mcp-session-id': await openSession(url) } : {};
}

/** Measures direct calls of the upstream. An action adds its median minus this one. */
async function direct(): Promise<void> {
  const load = { method: 'GET', body: '', connections: 1, requests: 1e9, seconds: SECONDS };
  const item = await drive({ ...load, url: `${origin}/items/1` });
  const page = await drive({ ...load, url: `${origin}/things?limit=50&offset=0` });
  table(
    'upstream called directly (c=1)',
    ['answer', 'p50 ms', 'p99 ms'],
    [
      ['1 KB', item.p50.toFixed(2), item.p99.toFixed(2)],
      ['page of 50', page.p50.toFixed(2), page.p99.toFixed(2)],
    ],
  );
}

/** Measures the resident memory of both programs, started as users start them. */
async function memory(): Promise<void> {
  const product = await prepareProduct();
  await using ours = launch(SERVER_CORE, product.serve, product.env);
  await using theirs = await start(SERVER_CORE, [plainPeer(), await toolsFile(10), origin]);
  const rows: string[][] = [];
  for (const [target, child, url, method] of [
    ['gatehouse', ours, product.url, call('list_connectors_svc', {})],
    ['sdk', theirs, urlOf('sdk', theirs, 10), call('echo', { text: 'hello' })],
  ] as const) {
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: method[0], params: method[1] });
    await listed(url);
    const idle = residentMb(pidOf(child));
    await drive({ url, body, connections: CONNECTIONS, requests: 10_000, seconds: 60 });
    rows.push([target, idle.toFixed(0), residentMb(pidOf(child)).toFixed(0)]);
  }
  table('memory, MB resident', ['target', 'idle', 'after 10,000 calls'], rows);
  rmSync(product.home, { recursive: true, force: true });
}

/** Measures the time from spawn to the first correct tools/list, over an existing store. */
async function coldStart(): Promise<void> {
  const { home, env, serve, stdio: overStdio, url } = await prepareProduct();
  const peer = plainPeer();
  const first: number[] = [];
  const http = { gatehouse: [] as number[], sdk: [] as number[] };
  const stdio = { gatehouse: [] as number[], sdk: [] as number[] };
  for (let round = 0; round < Math.max(5, ROUNDS); round++) {
    first.push(await timeFirstStart(serve, env));
    http.gatehouse.push(await timeHttp(serve, env, url));
    http.sdk.push(await timeHttp([peer, '', origin], {}));
    stdio.gatehouse.push(await timeStdio(overStdio, env));
    stdio.sdk.push(await timeStdio([peer, '', origin, 'stdio'], {}));
  }
  const row = (name: string, values: { gatehouse: number[]; sdk: number[] }) => [
    name,
    median(values.gatehouse).toFixed(0),
    median(values.sdk).toFixed(0),
    (median(values.gatehouse) / median(values.sdk)).toFixed(2),
  ];
  table(
    'time to the first answer, ms',
    ['transport', 'gatehouse', 'sdk', 'gatehouse ÷ sdk'],
    [row('HTTP', http), row('stdio', stdio), ['HTTP, first start', median(first).toFixed(0), '', '']],
  );
  rmSync(home, { recursive: true, force: true });
}

async function timeHttp(args: string[], env: Record<string, string>, url?: string): Promise<number> {
  const began = performance.now();
  await using child = launch(SERVER_CORE, args, env);
  await listed(url ?? `http://127.0.0.1:${await lineWith(child.process.stdout, '')}/mcp`);
  return performance.now() - began;
}

/** Measures a first start, with schema, keys and demonstration, until /ready answers. */
async function timeFirstStart(args: string[], env: Record<string, string>): Promise<number> {
  const home = mkdtempSync(join(scratch, 'first-'));
  const began = performance.now();
  await using child = launch(SERVER_CORE, args, { ...env, GATEHOUSE_HOME: home });
  while (child.process.exitCode === null) {
    const ok = await fetch(`http://127.0.0.1:${env['PORT']}/ready`).then(
      async (answer) => ((await answer.text()).length > 0 ? answer.ok : false),
      () => false,
    );
    if (ok) return performance.now() - began;
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
  throw new Error('the first start failed');
}

async function timeStdio(args: string[], env: Record<string, string>): Promise<number> {
  const began = performance.now();
  await using child = launch(SERVER_CORE, args, env);
  const params = {
    protocolVersion: '2025-11-25',
    capabilities: {},
    clientInfo: { name: 'bench', version: '1' },
  };
  const messages = [
    { jsonrpc: '2.0', id: 1, method: 'initialize', params },
    { jsonrpc: '2.0', method: 'notifications/initialized' },
    { jsonrpc: '2.0', id: 2, method: 'tools/list' },
  ];
  for (const message of messages) child.process.stdin.write(`${JSON.stringify(message)}\n`);
  await lineWith(child.process.stdout, '"tools":[');
  return performance.now() - began;
}

async function startTarget(target: string, tools: number, population = 0): Promise<Talking> {
  if (target === 'gatehouse')
    return start(SERVER_CORE, [here('gatehouse.ts'), origin, String(tools), String(population)]);
  return start(SERVER_CORE, [here(`peer-${target}.ts`), await toolsFile(tools), origin]);
}

/** Writes the tools that Gatehouse lists to a file for the references, so that all send the same bytes. */
async function toolsFile(tools: number): Promise<string> {
  await using model = await start(SERVER_CORE, [here('gatehouse.ts'), origin, String(tools)]);
  const answer = await fetch(urlOf('gatehouse', model, tools), {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: '{"jsonrpc":"2.0","id":1,"method":"tools/list"}',
  });
  const file = join(scratch, `tools-${tools}.json`);
  writeFileSync(file, await answer.text());
  return file;
}

function urlOf(target: string, child: Talking, tools: number): string {
  if (target !== 'gatehouse') return `http://127.0.0.1:${child.line}/mcp`;
  const { urls }: { urls: Record<string, string> } = JSON.parse(child.line);
  return urls[tools] ?? '';
}

function pidOf(child: Child): number {
  return child.process.pid ?? 0;
}
