import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { z } from 'zod';
import { runSql, startPostgres } from '../support/postgres.ts';
import type { EventsFigures, EventsJob } from './events-load.ts';
import { cpuSeconds, lineWith, LOAD_CORE, median, SERVER_CORE, start, type Talking } from './processes.ts';
import { table } from './table.ts';

/*
 * Events: a webhook that an app posts is accepted, stored, signed and delivered to a receiver on the other core. Gatehouse
 * takes it at /hooks: it checks the signature, deduplicates and maps it too. Rounds of all senders are interleaved. The
 * reference is the least that durable delivery can cost (peer-events.ts), BullMQ the queue that is used most.
 */
const here = (name: string) => new URL(name, import.meta.url).pathname;
const CONNECTIONS = 16;
const PACE = 50;
const ENDPOINTS = 1000;
/** Apps that send at the same time. */
const SOURCES = 100;
/** Events of the warm-up. As many as in the rest of the bench, because V8 compiles by calls and not by seconds. */
const WARM_UP = { events: 20_000, seconds: 40 };
const REDIS_PORT = '39519';

const started = z.object({
  url: z.string(),
  secrets: z.array(z.string()).default([]),
  hooks: z.array(z.object({ path: z.string(), secret: z.string() })).default([]),
  env: z.record(z.string(), z.string()).optional(),
  catalogFolder: z.string().optional(),
});

interface Sender extends AsyncDisposable {
  pid: number;
  said: z.infer<typeof started>;
}

interface Receiver extends AsyncDisposable {
  /** Returns the address of the n-th endpoint. */
  address(n: number): string;
  measure(job: EventsJob): Promise<EventsFigures>;
}

export interface EventsBench {
  rounds: number;
  seconds: number;
  wants(cell: string): boolean;
}

export async function benchEvents({ rounds, seconds, wants }: EventsBench): Promise<void> {
  if (wants('events, throughput') || wants('events, latency') || wants('events, sources')) {
    await using redis = await startRedis();
    const senders = ['gatehouse', 'reference', ...(redis ? ['bullmq'] : [])];
    if (wants('events, throughput')) await throughput(senders, { rounds, seconds, sources: 1 });
    if (wants('events, sources')) await throughput(senders, { rounds, seconds, sources: SOURCES });
    if (wants('events, latency')) await latency(senders, rounds, seconds);
  }
  if (wants('events, hanging')) await hanging(rounds, seconds);
  if (wants('events, fan-out')) await fanOut(rounds);
  if (wants('events, postgres')) await processesOnPostgres(rounds, seconds);
}

/** Starts Debian's Redis, if it is installed, on the core of the senders, because it is part of BullMQ's cost. */
async function startRedis(): Promise<AsyncDisposable | undefined> {
  const folder = mkdtempSync(join(tmpdir(), 'bench-redis-'));
  const args = `--port ${REDIS_PORT} --dir ${folder} --appendonly yes --appendfsync everysec --daemonize no`;
  const child = spawn('taskset', ['-c', SERVER_CORE, 'redis-server', ...args.split(' ')], { stdio: 'pipe' });
  const ended = new Promise<false>((resolve) => child.once('exit', () => resolve(false)));
  const ready = lineWith(child.stdout, 'Ready to accept connections').then(
    () => true,
    () => false,
  );
  if (!(await Promise.race([ready, ended]))) return undefined;
  return {
    async [Symbol.asyncDispose]() {
      child.kill('SIGKILL');
      await ended;
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

interface Sample extends EventsFigures {
  cpu: number;
}

async function throughput(
  senders: string[],
  { rounds, seconds, sources }: { rounds: number; seconds: number; sources: number },
): Promise<void> {
  const endpoints = Array.from({ length: sources }, (_, n) => n);
  const samples = await interleaved(senders, rounds, { endpoints, connections: CONNECTIONS, seconds });
  const title = sources === 1 ? 'events, throughput: one source' : `events, sources: ${sources} sources`;
  rowsOf(`${title}, ${CONNECTIONS} connections, one receiver`, samples);
}

async function latency(senders: string[], rounds: number, seconds: number): Promise<void> {
  // Ten events are the slowest hundredth.
  const job = { endpoints: [0], perSecond: PACE, seconds: Math.max(20, seconds) };
  const samples = await interleaved(senders, rounds, job);
  rowsOf(`events, latency: ${PACE} events/s, one receiver`, samples);
}

async function interleaved(
  senders: string[],
  rounds: number,
  job: Omit<EventsJob, 'urls' | 'endpoints'> & { endpoints: number[] },
): Promise<Map<string, Sample[]>> {
  const samples = new Map<string, Sample[]>();
  for (let round = 0; round < rounds; round++) {
    for (const name of senders) {
      await using receiver = await startReceiver();
      await using sender = await startSender(name, job.endpoints.map(receiver.address));
      const { url, secrets, hooks } = sender.said;
      const whole = { ...job, urls: [url], secrets, hooks };
      await warmUp(receiver, whole);
      const before = cpuSeconds(sender.pid);
      const figures = await receiver.measure(whole);
      const cpu = ((cpuSeconds(sender.pid) - before) * 1e6) / figures.delivered;
      faultless(name, figures);
      samples.set(name, [...(samples.get(name) ?? []), { ...figures, cpu }]);
    }
  }
  return samples;
}

/** Sends at full rate, in rounds of two seconds, until enough events were sent. */
async function warmUp(
  receiver: Receiver,
  job: Omit<EventsJob, 'perSecond' | 'connections' | 'seconds'>,
): Promise<void> {
  const end = performance.now() + WARM_UP.seconds * 1000;
  for (let events = 0; events < WARM_UP.events && performance.now() < end;) {
    const { delivered } = await receiver.measure({ ...job, connections: CONNECTIONS, seconds: 2 });
    events += delivered;
  }
}

/** Prints a line when deliveries are missing, repeated or unsigned. */
function faultless(name: string, { expected, delivered, repeated, unsigned }: EventsFigures): void {
  if (delivered < expected || repeated > 0 || unsigned > 0)
    console.log(
      `${name}: ${delivered} of ${expected} delivered, ${repeated} twice, ${unsigned} of a sample unsigned`,
    );
}

function rowsOf(title: string, samples: Map<string, Sample[]>): void {
  const middle = (name: string, key: keyof Sample) =>
    median((samples.get(name) ?? []).map((sample) => sample[key]));
  const ratio = (name: string, key: keyof Sample) =>
    (middle(name, key) / middle('reference', key)).toFixed(2);
  table(
    title,
    ['sender', 'events/s', 'CPU µs/event', 'p50 ms', 'p99 ms', 'events/s ÷ reference', 'p50 ÷', 'p99 ÷'],
    [...samples.keys()].map((name) => [
      name,
      middle(name, 'perSecond').toFixed(0),
      middle(name, 'cpu').toFixed(0),
      middle(name, 'p50').toFixed(2),
      middle(name, 'p99').toFixed(2),
      ratio(name, 'perSecond'),
      ratio(name, 'p50'),
      ratio(name, 'p99'),
    ]),
  );
}

/** Compares healthy addresses while half of a thousand hang with the same addresses while none hangs. */
async function hanging(rounds: number, seconds: number): Promise<void> {
  const figures = { none: [] as EventsFigures[], half: [] as EventsFigures[] };
  const addresses = (receiver: Receiver) => Array.from({ length: ENDPOINTS }, (_, n) => receiver.address(n));
  for (let round = 0; round < rounds; round++) {
    for (const kind of ['none', 'half'] as const) {
      await using receiver = await startReceiver();
      await using sender = await startSender('gatehouse', addresses(receiver));
      const job = {
        urls: [sender.said.url],
        secrets: sender.said.secrets,
        hooks: sender.said.hooks,
        // Healthy and hanging addresses in turn.
        endpoints: Array.from({ length: ENDPOINTS }, (_, n) => (n * 501) % ENDPOINTS),
        perSecond: 2 * PACE,
        hanging: kind === 'half' ? ENDPOINTS / 2 : 0,
        hangMs: 60_000,
      };
      // The warm-up uses the addresses that answer in both cases.
      const healthy = job.endpoints.filter((n) => n >= ENDPOINTS / 2);
      await warmUp(receiver, { ...job, endpoints: healthy });
      // Waits until each hanging address was called and hangs.
      await receiver.measure({ ...job, seconds: (1.2 * ENDPOINTS) / job.perSecond });
      // Ten events to answering addresses are the slowest hundredth.
      const one = await receiver.measure({ ...job, seconds: Math.max(20, seconds) });
      faultless(`${kind} hanging`, one);
      figures[kind].push(one);
    }
  }
  const middle = (kind: 'none' | 'half', key: keyof EventsFigures) =>
    median(figures[kind].map((one) => one[key]));
  table(
    `events, hanging: ${2 * PACE} events/s over ${ENDPOINTS} endpoints`,
    ['endpoints that hang', 'p50 ms', 'p99 ms', 'longest ms', 'p99 ÷ none'],
    (['none', 'half'] as const).map((kind) => [
      kind,
      middle(kind, 'p50').toFixed(1),
      middle(kind, 'p99').toFixed(1),
      middle(kind, 'longest').toFixed(0),
      (middle(kind, 'p99') / middle('none', 'p99')).toFixed(2),
    ]),
  );
}

async function fanOut(rounds: number): Promise<void> {
  const longest: number[] = [];
  const cpu: number[] = [];
  for (let round = 0; round < rounds; round++) {
    await using receiver = await startReceiver();
    const addresses = Array.from({ length: ENDPOINTS }, (_, n) => receiver.address(n));
    await using sender = await startSender('gatehouse', addresses, { oneSource: true });
    const before = cpuSeconds(sender.pid);
    const figures = await receiver.measure({
      urls: [sender.said.url],
      secrets: sender.said.secrets,
      hooks: sender.said.hooks,
      endpoints: null,
      connections: 1,
      seconds: 0,
    });
    faultless('fan-out', figures);
    longest.push(figures.longest);
    cpu.push((cpuSeconds(sender.pid) - before) * 1000);
  }
  table(
    'events, fan-out: one event to 1,000 endpoints',
    ['all there after ms', 'CPU ms of the sender'],
    [[median(longest).toFixed(0), median(cpu).toFixed(0)]],
  );
}

/** Compares one process with two over one PostgreSQL with fsync. The kernel assigns the cores. */
async function processesOnPostgres(rounds: number, seconds: number): Promise<void> {
  const postgres = await startPostgres([]);
  const samples = { one: [] as EventsFigures[], two: [] as EventsFigures[] };
  try {
    for (let round = 0; round < rounds; round++) {
      for (const kind of ['one', 'two'] as const) {
        const name = `bench_${randomBytes(4).toString('hex')}`;
        await runSql(postgres.url, `create database ${name}`);
        const url = new URL(postgres.url);
        url.pathname = `/${name}`;
        await using receiver = await startReceiver();
        const addresses = Array.from({ length: 10 }, (_, n) => receiver.address(n));
        const env = {
          DATABASE_URL: url.href,
          GATEHOUSE_MASTER_KEY: Buffer.alloc(32, 'a key').toString('base64'),
        };
        await using first = await startSender('gatehouse', addresses, { env, core: '0,1' });
        await using second = kind === 'two' ? await startBeside(first) : undefined;
        const urls = [first.said.url, ...(second ? [second.said.url] : [])];
        const job = {
          urls,
          secrets: first.said.secrets,
          hooks: first.said.hooks,
          endpoints: addresses.map((_, n) => n),
          connections: CONNECTIONS,
        };
        await receiver.measure({ ...job, seconds: 1 });
        const figures = await receiver.measure({ ...job, seconds });
        faultless(`${kind} on PostgreSQL`, figures);
        samples[kind].push(figures);
      }
    }
  } finally {
    await postgres.stop();
  }
  const middle = (kind: 'one' | 'two', key: keyof EventsFigures) =>
    median(samples[kind].map((one) => one[key]));
  table(
    `events, postgres: ${CONNECTIONS} connections, ten receivers`,
    ['processes', 'events/s', 'p50 ms', 'p99 ms', 'events/s ÷ one'],
    (['one', 'two'] as const).map((kind) => [
      kind,
      middle(kind, 'perSecond').toFixed(0),
      middle(kind, 'p50').toFixed(1),
      middle(kind, 'p99').toFixed(1),
      (middle(kind, 'perSecond') / middle('one', 'perSecond')).toFixed(2),
    ]),
  );
}

async function startSender(
  name: string,
  addresses: string[],
  {
    env = {},
    core = SERVER_CORE,
    oneSource = false,
  }: { env?: Record<string, string>; core?: string; oneSource?: boolean } = {},
): Promise<Sender> {
  const args =
    name === 'gatehouse'
      ? [here('events-gatehouse.ts'), JSON.stringify({ addresses, env, oneSource })]
      : [here(name === 'bullmq' ? 'peer-bullmq.ts' : 'peer-events.ts'), addresses[0] ?? '', REDIS_PORT];
  return senderOf(await start(core, args));
}

async function startBeside({ said: { env, catalogFolder } }: Sender): Promise<Sender> {
  const join = { env, catalogFolder };
  return senderOf(await start('0,1', [here('events-gatehouse.ts'), JSON.stringify({ join })]));
}

function senderOf(child: Talking): Sender {
  return {
    pid: child.process.pid ?? 0,
    said: started.parse(JSON.parse(child.line)),
    [Symbol.asyncDispose]: () => child[Symbol.asyncDispose](),
  };
}

async function startReceiver(): Promise<Receiver> {
  const child = await start(LOAD_CORE, [here('events-load.ts')]);
  const { stdin, stdout } = child.process;
  if (!stdin || !stdout) throw new Error('the receiver cannot be talked to');
  const lines = createInterface({ input: stdout })[Symbol.asyncIterator]();
  return {
    address: (n) => `http://127.0.0.1:${child.line}/${n}`,
    async measure(job) {
      stdin.write(`${JSON.stringify(job)}\n`);
      const { value } = await lines.next();
      const figures: EventsFigures = JSON.parse(String(value));
      return figures;
    },
    [Symbol.asyncDispose]: () => child[Symbol.asyncDispose](),
  };
}
