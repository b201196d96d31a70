import { readFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { z } from 'zod';
import { BOTH_CORES, launch, lineWith, LOAD_CORE, median } from './processes.ts';
import { prepareProduct, type Product } from './programs.ts';
import { table } from './table.ts';

/*
 * npm run bench:burst [-- --rounds 3 --calls 1000 --only "new connections"]: sends many programs at once to a server that has
 * just started, and measures how long /health takes at the same time. Each burst has a process of its own. The load runs on one
 * core at the lowest priority, and the service may use all. A separate process asks /health.
 */
const { values: options } = parseArgs({
  options: {
    rounds: { type: 'string', default: '3' },
    calls: { type: 'string', default: '1000' },
    only: { type: 'string', default: '' },
  },
});

/** The first requests come this long after the start, which is before the comparison of definitions. */
const SETTLE_MS = 10_000;
const here = (name: string) => new URL(name, import.meta.url).pathname;

interface Case {
  name: string;
  code: string;
  calls: number;
  connections: 'new' | 'open';
  /** Whether a client lists the tools four seconds earlier, as all official clients do. */
  list?: true;
}

const many = { code: 'return 1', calls: Number(options.calls) };
const CASES: Case[] = [
  { ...many, name: 'first requests, new connections', connections: 'new' },
  { ...many, name: 'first requests, open connections', connections: 'open' },
  { ...many, name: 'after a list of tools, new connections', connections: 'new', list: true },
  { ...many, name: 'after a list of tools, open connections', connections: 'open', list: true },
  { name: '16 endless loops', code: 'for (;;);', calls: 16, connections: 'new' },
  {
    name: '8 programs that fill the memory',
    code: 'const all = []; for (;;) all.push("x".repeat(100_000) + all.length)',
    calls: 8,
    connections: 'new',
  },
];

/** Waits of one burst in ms, ascending, of probes on one connection and on new ones. */
const probed = z.object({ kept: z.array(z.number()), fresh: z.array(z.number()) });
type Probed = z.infer<typeof probed>;

interface Measured extends Case {
  bursts: Probed[];
  /** Number of answers by error code, or by HTTP status without one. */
  ends: Map<string, number>;
}

const COLUMNS = [
  'burst',
  'processes',
  'answers',
  'p99',
  'median of the longest',
  'longest on one connection, by process',
  'on new ones',
];

async function main(): Promise<void> {
  const product = await prepareProduct();
  try {
    await turnProgramsOn(product);
    const cases = CASES.filter(({ name }) => name.includes(options.only));
    const measured = cases.map((one): Measured => ({ ...one, bursts: [], ends: new Map() }));
    for (let round = 0; round < Number(options.rounds); round++)
      for (const one of measured) await burst(product, one);
    table('Programs at once, and how long /health took, ms', COLUMNS, measured.map(rowOf));
  } finally {
    await rm(product.home, { recursive: true, force: true });
  }
}

function rowOf(of: Measured): string[] {
  const all = of.bursts.flatMap(({ kept, fresh }) => [...kept, ...fresh]).toSorted((a, b) => a - b);
  const longest = (waits: number[]) => waits.at(-1) ?? Number.NaN;
  const list = (values: number[]) => values.map((ms) => ms.toFixed(0)).join(', ');
  return [
    of.name,
    String(of.bursts.length),
    [...of.ends].map(([end, count]) => `${count} × ${end}`).join(', '),
    (all[Math.floor(all.length * 0.99)] ?? Number.NaN).toFixed(0),
    median(of.bursts.map(({ kept, fresh }) => Math.max(longest(kept), longest(fresh)))).toFixed(0),
    list(of.bursts.map(({ kept }) => longest(kept))),
    list(of.bursts.map(({ fresh }) => longest(fresh))),
  ];
}

/** Starts the built program, and resolves when it is ready. @throws Error when it ends before. */
async function serve({ env, serve: args, url }: Product) {
  const child = launch(BOTH_CORES, args, env);
  child.process.stdout?.resume();
  const { origin } = new URL(url);
  for (;;) {
    const ready = await fetch(`${origin}/ready`).catch(() => undefined);
    if (ready?.ok) return { ...child, origin };
    if (child.process.exitCode !== null) throw new Error('Gatehouse ended before it was ready');
    await sleep(50);
  }
}

/** Offers programs on the demonstration server, as an operator does. */
async function turnProgramsOn(product: Product): Promise<void> {
  await using server = await serve(product);
  const key = /gh_dev_\w+/.exec(readFileSync(join(product.home, 'first-keys'), 'utf8'))?.[0];
  const serverId = new URL(product.url).pathname.split('/')[2];
  const response = await fetch(`${server.origin}/api/servers/${serverId}`, {
    method: 'PUT',
    headers: {
      authorization: `Bearer ${key}`,
      'x-api-version': '2025-09',
      'content-type': 'application/json',
    },
    body: '{"codeMode":"on"}',
  });
  if (!response.ok) throw new Error(await response.text());
}

async function burst(product: Product, one: Measured): Promise<void> {
  await using server = await serve(product);
  await sleep(SETTLE_MS);
  const { code, calls, connections, list } = one;
  const load = { url: product.url, code, calls, connections, list };
  await using sender = launch(LOAD_CORE, [here('burst-load.ts'), JSON.stringify(load)]);
  await using prober = launch(BOTH_CORES, [here('burst-probe.ts'), `${server.origin}/health`]);
  await lineWith(prober.process.stdout, 'ready');
  await lineWith(sender.process.stdout, 'ready');
  prober.process.stdin?.write('begin\n');
  sender.process.stdin?.end('go\n');
  const answered: Record<string, number> = JSON.parse(await lineWith(sender.process.stdout, '{'));
  for (const [end, count] of Object.entries(answered)) one.ends.set(end, (one.ends.get(end) ?? 0) + count);
  prober.process.stdin?.end();
  one.bursts.push(probed.parse(JSON.parse(await lineWith(prober.process.stdout, '{'))));
}

await main();
