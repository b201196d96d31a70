import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import {
  cpuSeconds,
  drive,
  LOAD_CORE,
  median,
  residentMb,
  SERVER_CORE,
  start,
  type Child,
  type Figures,
} from './processes.ts';

/*
 * npm run bench [-- --rounds 5 --seconds 3 --only tools/list]: Gatehouse beside the bare official SDK and an Express echo, in
 * one run, rounds interleaved. Prints Markdown tables. Nothing here judges: read the ratios.
 */
const { values: options } = parseArgs({
  options: {
    rounds: { type: 'string', default: '3' },
    seconds: { type: 'string', default: '3' },
    connections: { type: 'string', default: '16' },
    only: { type: 'string', default: '' },
  },
});
const ROUNDS = Number(options.rounds);
const SECONDS = Number(options.seconds);
const CONNECTIONS = Number(options.connections);
const WARM_UP_REQUESTS = 5000;
const scratch = mkdtempSync(join(tmpdir(), 'gatehouse-bench-run-'));
const here = (name: string) => new URL(name, import.meta.url).pathname;

interface Cell {
  name: string;
  tools: number;
  /** JSON-RPC method and params for Gatehouse, and what the rivals are asked instead. */
  ours: [method: string, params: object];
  theirs?: [method: string, params: object];
  peers: ('sdk' | 'express')[];
  connections?: number;
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
    peers: ['sdk'],
  },
  {
    name: 'action, page of 50',
    tools: 10,
    ours: call('bench10_list_page', { limit: 50 }),
    theirs: call('list_page', {}),
    peers: ['sdk'],
  },
  {
    name: 'action, 1 KB answer, one connection',
    tools: 10,
    ours: call('bench10_get_item', { itemId: '1' }),
    theirs: call('get_item', {}),
    peers: ['sdk'],
    connections: 1,
  },
];

interface Sample extends Figures {
  /** CPU microseconds of the server a request. */
  cpu: number;
}

await using upstream = await start(LOAD_CORE, here('upstream.ts'), []);
const origin = `http://127.0.0.1:${upstream.line}`;

for (const cell of CELLS.filter(({ name }) => name.includes(options.only))) await runCell(cell);
if (options.only === '' || options.only === 'direct') await direct();
if (options.only === '' || options.only === 'memory') await memory();
if (options.only === '' || options.only === 'start') await coldStart();

async function runCell(cell: Cell): Promise<void> {
  const samples = new Map<string, Sample[]>();
  for (let round = 0; round < ROUNDS; round++) {
    for (const target of ['gatehouse', ...cell.peers]) {
      await using child = await startTarget(target, cell.tools);
      const [method, params] = target === 'gatehouse' ? cell.ours : (cell.theirs ?? cell.ours);
      const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params });
      const load = {
        url: urlOf(target, child, cell.tools),
        body,
        connections: cell.connections ?? CONNECTIONS,
      };
      await drive({ ...load, requests: WARM_UP_REQUESTS, seconds: SECONDS });
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

/** The upstream called with nothing between: what an action adds is its median less this one. */
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

async function memory(): Promise<void> {
  const rows: string[][] = [];
  for (const target of ['gatehouse', 'sdk', 'express']) {
    await using child = await startTarget(target, 10);
    const [method, params] =
      target === 'gatehouse' ? call('list_connectors_svc', {}) : call('echo', { text: 'hello' });
    const load = {
      url: urlOf(target, child, 10),
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
      connections: CONNECTIONS,
    };
    await drive({ ...load, requests: 1, seconds: 5, connections: 1 });
    const idle = residentMb(pidOf(child));
    await drive({ ...load, requests: 10_000, seconds: 60 });
    rows.push([target, idle.toFixed(0), residentMb(pidOf(child)).toFixed(0)]);
  }
  table('memory, MB resident', ['target', 'idle', 'after 10,000 calls'], rows);
}

/** Spawn to first correct tools/list, the store open and its schema there (second start, as every start but one). */
async function coldStart(): Promise<void> {
  const home = mkdtempSync(join(tmpdir(), 'gatehouse-bench-start-'));
  const bin = here('../../bin/gatehouse.js');
  const env = { GATEHOUSE_HOME: home, LOG_LEVEL: 'silent', PORT: '39517' };
  const first = spawn(process.execPath, [bin, 'serve'], {
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  await answered('http://127.0.0.1:39517/ready');
  first.kill('SIGTERM');
  await new Promise((resolve) => first.once('exit', resolve));

  const http = { gatehouse: [] as number[], sdk: [] as number[] };
  const stdio = { gatehouse: [] as number[], sdk: [] as number[] };
  for (let round = 0; round < Math.max(5, ROUNDS); round++) {
    http.gatehouse.push(await timeHttp([bin, 'serve'], env));
    http.sdk.push(await timeHttp([here('peer-sdk.ts'), '', origin], {}));
    stdio.gatehouse.push(await timeStdio([bin, 'stdio', '--server', 'Sandbox'], env));
    stdio.sdk.push(await timeStdio([here('peer-sdk.ts'), '', origin, 'stdio'], {}));
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
    [row('HTTP', http), row('stdio', stdio)],
  );
  rmSync(home, { recursive: true, force: true });
}

async function timeHttp(args: string[], env: Record<string, string>): Promise<number> {
  const began = performance.now();
  const child = spawn('taskset', ['-c', SERVER_CORE, process.execPath, ...args], {
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const port = env['PORT'] ?? (await firstLine(child.stdout));
  await answered(`http://127.0.0.1:${port}/${env['PORT'] ? 'health' : 'mcp'}`);
  const took = performance.now() - began;
  child.kill('SIGKILL');
  await new Promise((resolve) => child.once('exit', resolve));
  return took;
}

async function timeStdio(args: string[], env: Record<string, string>): Promise<number> {
  const began = performance.now();
  const child = spawn('taskset', ['-c', SERVER_CORE, process.execPath, ...args], {
    env: { ...process.env, ...env },
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const initialize = {
    jsonrpc: '2.0',
    id: 1,
    method: 'initialize',
    params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'bench', version: '1' } },
  };
  child.stdin.write(`${JSON.stringify(initialize)}\n`);
  const line = await firstLine(child.stdout);
  if (!line.includes('"result"')) throw new Error(`no answer to initialize: ${line}`);
  const took = performance.now() - began;
  child.kill('SIGKILL');
  await new Promise((resolve) => child.once('exit', resolve));
  return took;
}

async function firstLine(stream: NodeJS.ReadableStream): Promise<string> {
  for await (const line of createInterface(stream)) return line;
  throw new Error('the process ended without a line');
}

async function answered(url: string): Promise<void> {
  for (;;) {
    const ok = await fetch(url, {
      method: url.endsWith('/mcp') ? 'POST' : 'GET',
      headers: { accept: 'application/json, text/event-stream', 'content-type': 'application/json' },
      ...(url.endsWith('/mcp') ? { body: '{"jsonrpc":"2.0","id":1,"method":"tools/list"}' } : {}),
    }).then(
      async (response) => (await response.text()) !== '' && response.ok,
      () => false,
    );
    if (ok) return;
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
}

async function startTarget(target: string, tools: number): Promise<Child> {
  if (target === 'gatehouse') return start(SERVER_CORE, here('gatehouse.ts'), [origin, String(tools)]);
  // The rivals list the very tools that Gatehouse lists, so that all send the same bytes.
  await using model = await start(SERVER_CORE, here('gatehouse.ts'), [origin, String(tools)]);
  const listed = await fetch(urlOf('gatehouse', model, tools), {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: '{"jsonrpc":"2.0","id":1,"method":"tools/list"}',
  });
  const file = join(scratch, `tools-${tools}.json`);
  writeFileSync(file, await listed.text());
  return start(SERVER_CORE, here(`peer-${target}.ts`), [file, origin]);
}

function urlOf(target: string, child: Child, tools: number): string {
  if (target !== 'gatehouse') return `http://127.0.0.1:${child.line}/mcp`;
  const { urls }: { urls: Record<string, string> } = JSON.parse(child.line);
  return urls[tools] ?? '';
}

function pidOf(child: Child): number {
  return child.process.pid ?? 0;
}

function table(title: string, columns: string[], rows: string[][]): void {
  const line = (cells: string[]) => `| ${cells.join(' | ')} |`;
  console.log(
    `\n**${title}**\n\n${line(columns)}\n${line(columns.map(() => '---'))}\n${rows.map(line).join('\n')}`,
  );
}
