import { createHmac } from 'node:crypto';
import { createServer } from 'node:http';
import { createInterface } from 'node:readline';
import { Agent } from 'undici';
import { z } from 'zod';

/*
 * The load of the events bench: posts events to a sender and receives its deliveries. Prints its port, then reads jobs
 * from standard input, one JSON line each. Prints the figures of each job as a JSON line.
 */
const jobs = z.object({
  /** Senders: `{url}/{endpoint}` accepts an event for an endpoint, unless `hooks` is set. */
  urls: z.array(z.url()),
  /** Path to which the app of each endpoint posts its webhooks, and the secret that signs them. */
  hooks: z.array(z.object({ path: z.string(), secret: z.string() })).default([]),
  /** Each event goes to one of these, in turn; `null`: to all of them by one request to the first. */
  endpoints: z.array(z.int()).nullable(),
  /** Endpoints below this index hang: they answer after this many milliseconds, and are not measured. */
  hanging: z.int().default(0),
  hangMs: z.int().default(0),
  /** Closed loop with this many connections, or … */
  connections: z.int().optional(),
  /** … open loop with this many events a second. */
  perSecond: z.number().optional(),
  seconds: z.number(),
  /** Secrets that sign the deliveries, in the order of the endpoints. */
  secrets: z.array(z.string()).default([]),
});
export type EventsJob = z.input<typeof jobs>;

export interface EventsFigures {
  /** Measured deliveries of accepted events. */
  expected: number;
  delivered: number;
  repeated: number;
  unsigned: number;
  /** Time from the first request to the last delivery. */
  perSecond: number;
  /** Milliseconds from the request to the delivery. */
  p50: number;
  p99: number;
  longest: number;
}

interface Run {
  job: z.output<typeof jobs>;
  sentAt: Map<string, number>;
  arrived: Map<string, number>;
  latencies: number[];
  repeated: number;
  unsigned: number;
  lastAt: number;
}

const NOTE = 'x'.repeat(560);
const SIGNED_SAMPLE = 10;
let run: Run | undefined;
let count = 0;

const sink = createServer((req, res) => {
  let body = '';
  req.setEncoding('utf8');
  req.on('data', (chunk: string) => (body += chunk));
  req.on('end', () => {
    const endpoint = Number(req.url?.slice(1));
    if (run && endpoint < run.job.hanging) {
      setTimeout(() => res.writeHead(200).end(), run.job.hangMs).unref();
      return;
    }
    res.writeHead(200).end();
    if (run) note(run, endpoint, body, req.headers);
  });
});
sink.keepAliveTimeout = 60_000;

function note(
  { job, sentAt, arrived, latencies, ...now }: Run,
  endpoint: number,
  body: string,
  headers: Record<string, string | string[] | undefined>,
): void {
  const id = /"id":"(e\d+)"/.exec(body)?.[1] ?? '';
  const began = sentAt.get(id);
  if (began === undefined || !run) return;
  run.lastAt = performance.now();
  const key = `${endpoint} ${id}`;
  if (arrived.has(key)) run.repeated = now.repeated + 1;
  else latencies.push(run.lastAt - began);
  arrived.set(key, run.lastAt);
  if (arrived.size % SIGNED_SAMPLE === 0 && !isSigned(job.secrets[endpoint], body, headers)) run.unsigned++;
}

/** An order as an app shows it, a little less than a kilobyte. */
function orderOf(id: string) {
  const at = new Date().toISOString();
  return { id, total: '12.50', currency: 'EUR', note: NOTE, created_at: at, updated_at: at };
}

function isSigned(
  secret: string | undefined,
  body: string,
  headers: Record<string, string | string[] | undefined>,
): boolean {
  const content = `${String(headers['webhook-id'])}.${String(headers['webhook-timestamp'])}.${body}`;
  const key = Buffer.from(secret?.slice('whsec_'.length) ?? '', 'base64');
  const signature = createHmac('sha256', key).update(content).digest('base64');
  return String(headers['webhook-signature']).includes(signature);
}

sink.listen(0, '127.0.0.1', () => {
  const address = sink.address();
  process.stdout.write(`${address && typeof address === 'object' ? address.port : 0}\n`);
});
createInterface({ input: process.stdin }).on('line', (line) => {
  void measure(jobs.parse(JSON.parse(line))).then((figures) =>
    process.stdout.write(`${JSON.stringify(figures)}\n`),
  );
});

async function measure(job: z.output<typeof jobs>): Promise<EventsFigures> {
  const mine: Run = {
    job,
    sentAt: new Map(),
    arrived: new Map(),
    latencies: [],
    repeated: 0,
    unsigned: 0,
    lastAt: 0,
  };
  run = mine;
  const agents = job.urls.map((url) => ({ url: new URL(url), agent: new Agent({ connections: 64 }) }));
  const began = performance.now();
  const end = began + job.seconds * 1000;
  let expected = 0;
  const post = async (): Promise<void> => {
    const n = count++;
    const { endpoints } = job;
    const endpoint = endpoints === null ? 0 : (endpoints[n % endpoints.length] ?? 0);
    const target = agents[n % agents.length];
    if (!target) throw new Error('no url');
    const id = `e${n}`;
    const measured = endpoint >= job.hanging;
    const webhook = JSON.stringify({ id: `evt_${id}`, topic: 'order.created', order: orderOf(id) });
    const hook = job.hooks[endpoint];
    if (measured) mine.sentAt.set(id, performance.now());
    const { statusCode, body } = await target.agent.request({
      origin: target.url.origin,
      path: hook?.path ?? `/${endpoint}`,
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        ...(hook && { 'x-shop-signature': createHmac('sha256', hook.secret).update(webhook).digest('hex') }),
      },
      body: webhook,
    });
    await body.dump();
    if (statusCode >= 300) throw new Error(`${target.url.href} answered ${statusCode}`);
    if (measured) expected += endpoints === null ? job.secrets.length : 1;
  };
  if (job.perSecond === undefined) {
    const loop = async (): Promise<void> => {
      do await post();
      while (performance.now() < end);
    };
    await Promise.all(Array.from({ length: job.connections ?? 1 }, loop));
  } else {
    const posts: Promise<void>[] = [];
    for (let at = began; at < end; at += 1000 / job.perSecond) {
      const waitMs = at - performance.now();
      if (waitMs > 1) await new Promise((next) => setTimeout(next, waitMs));
      posts.push(post());
    }
    await Promise.all(posts);
  }
  const patience = performance.now() + 30_000;
  while (mine.arrived.size < expected && performance.now() < patience)
    await new Promise((next) => setTimeout(next, 5));
  await Promise.all(agents.map(({ agent }) => agent.close()));
  const sorted = mine.latencies.toSorted((a, b) => a - b);
  const at = (share: number) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
  return {
    expected,
    delivered: mine.arrived.size,
    repeated: mine.repeated,
    unsigned: mine.unsigned,
    perSecond: (mine.arrived.size * 1000) / (mine.lastAt - began),
    p50: at(0.5),
    p99: at(0.99),
    longest: at(1),
  };
}
