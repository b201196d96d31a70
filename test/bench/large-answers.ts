import { createServer } from 'node:http';
import { parseArgs } from 'node:util';
import { BOTH_CORES, launch, lineWith, residentMb } from './processes.ts';
import { table } from './table.ts';

/*
 * npm run bench:large [-- --calls 20 --rounds 3]: measures concurrent calls of actions whose answers have 10 MiB, and the
 * time of /health at the same time. A separate process asks /health, so the figure excludes this program's own work.
 */
const MIB = 1024 * 1024;
const SIZE = 10 * MIB - 1024;

const record = {
  id: 1_234_567,
  name: 'Ada Lovelace',
  email: 'ada@example.com',
  active: true,
  tags: ['a', 'b'],
  note: 'x'.repeat(120),
};

/** Bodies by name. `dense` has nearly the maximum number of values, and text for the rest. */
const BODIES: Record<string, Buffer> = {
  empty: listOf('{}'),
  records: listOf(JSON.stringify(record)),
  dense: listOf(`{"a":1,"b":"${'y'.repeat(50)}"}`),
  text: Buffer.from(JSON.stringify({ text: 'é'.repeat(SIZE / 2 - 100) })),
};

function listOf(text: string): Buffer {
  return Buffer.from(
    `[${Array(Math.floor(SIZE / (text.length + 1)))
      .fill(text)
      .join(',')}]`,
  );
}

interface Started {
  urls: Record<string, string>;
  origin: string;
  apiKey: string;
  userId: string;
}

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      calls: { type: 'string', default: '20' },
      rounds: { type: 'string', default: '3' },
      only: { type: 'string', default: '' },
      probe: { type: 'string' },
    },
  });
  if (values.probe !== undefined) return probe(values.probe);
  const party = createServer((req, res) => {
    const body = BODIES[req.url?.split('/').at(-1) ?? ''] ?? Buffer.from('{}');
    res.writeHead(200, { 'content-type': 'application/json', 'content-length': body.length }).end(body);
  });
  await new Promise<void>((resolve) => party.listen(0, '127.0.0.1', resolve));
  const address = party.address();
  const port = address && typeof address === 'object' ? address.port : 0;
  const rows: string[][] = [];
  for (const body of Object.keys(BODIES)) {
    for (const way of ['REST', 'MCP']) {
      if (!`${way} ${body}`.includes(values.only)) continue;
      rows.push(
        await measure({ body, way, port, calls: Number(values.calls), rounds: Number(values.rounds) }),
      );
    }
  }
  table(
    `${values.calls} answers of 10 MiB at once`,
    ['answer', 'statuses', 'worst /health, ms', 'all answered in, ms', 'peak RSS, MB'],
    rows,
  );
  party.close();
}

async function measure(of: {
  body: string;
  way: string;
  port: number;
  calls: number;
  rounds: number;
}): Promise<string[]> {
  const program = new URL('gatehouse.ts', import.meta.url).pathname;
  await using child = launch(BOTH_CORES, [program, `http://127.0.0.1:${of.port}`, '10']);
  const started: Started = JSON.parse(await lineWith(child.process.stdout, '{'));
  const call = of.way === 'REST' ? callRest(started) : callMcp(started);
  for (let n = 0; n < 20; n++) await call('small');
  await using prober = launch(BOTH_CORES, [
    new URL(import.meta.url).pathname,
    '--probe',
    `${started.origin}/health`,
  ]);
  await lineWith(prober.process.stdout, 'ready');
  let peakMb = 0;
  const pid = child.process.pid ?? 0;
  const watch = setInterval(() => (peakMb = Math.max(peakMb, residentMb(pid))), 20);
  const statuses = new Map<string, number>();
  let slowestMs = 0;
  for (let round = 0; round < of.rounds; round++) {
    const beganAt = performance.now();
    const all = await Promise.all(Array.from({ length: of.calls }, () => call(of.body)));
    slowestMs = Math.max(slowestMs, performance.now() - beganAt);
    for (const status of all) statuses.set(status, (statuses.get(status) ?? 0) + 1);
  }
  clearInterval(watch);
  prober.process.stdin?.end();
  const worstMs = Number((await lineWith(prober.process.stdout, 'worst')).split(' ')[1]);
  const counts = [...statuses].map(([status, count]) => `${count} × ${status}`).join(', ');
  return [`${of.way} ${of.body}`, counts, worstMs.toFixed(0), slowestMs.toFixed(0), peakMb.toFixed(0)];
}

function callRest({ origin, apiKey, userId }: Started) {
  const headers = {
    authorization: `Bearer ${apiKey}`,
    'x-api-version': '2025-09',
    'x-svc-userid': userId,
    'content-type': 'application/json',
  };
  return async (itemId: string): Promise<string> => {
    const response = await fetch(`${origin}/connectors/bench10/actions/get_item/execute`, {
      method: 'POST',
      headers,
      body: JSON.stringify({ input: { itemId } }),
    });
    return `${response.status}${codeIn(await response.arrayBuffer())}`;
  };
}

function callMcp({ urls }: Started) {
  const url = urls['10'] ?? '';
  const headers = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' };
  return async (itemId: string): Promise<string> => {
    const params = { name: 'bench10_get_item', arguments: { itemId } };
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params });
    const response = await fetch(url, { method: 'POST', headers, body });
    return `${response.status}${codeIn(await response.arrayBuffer())}`;
  };
}

/** Returns the error code of a small answer. */
function codeIn(body: ArrayBuffer): string {
  if (body.byteLength > 10_000) return '';
  const code = /"code":"(\w+)"/.exec(Buffer.from(body).toString());
  return code ? ` ${code[1]}` : '';
}

/** Asks one address repeatedly on a keep-alive connection until its input ends. Prints the longest wait. */
async function probe(url: string): Promise<void> {
  const over = new AbortController();
  process.stdin.once('end', () => over.abort()).resume();
  await (await fetch(url)).arrayBuffer();
  process.stdout.write('ready\n');
  let worst = 0;
  while (!over.signal.aborted) {
    const beganAt = performance.now();
    await (await fetch(url)).arrayBuffer();
    worst = Math.max(worst, performance.now() - beganAt);
    await new Promise((next) => setTimeout(next, 5));
  }
  process.stdout.write(`worst ${worst}\n`);
}

await main();
