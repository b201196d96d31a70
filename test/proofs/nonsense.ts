import { fork } from 'node:child_process';
import { once } from 'node:events';
import type { z } from 'zod';
import { CONSOLE_ROUTES } from '../../src/http/routes/console/console-routes.ts';
import { ROUTES } from '../../src/http/routes/routes.ts';
import { MIB } from '../../src/lib/http/http-body.ts';
import { CATALOG_FOLDER } from '../../src/package.ts';
import { ownScratch } from '../support/scratch.ts';
import { serveUntilKilled } from '../support/serving.ts';
import { startService } from '../support/service.ts';
import { claim } from './proof.ts';

/*
 * npm run proof:nonsense: sends the largest nonsense that each route with a body reads, at most PROOF_AT_ONCE (4) requests
 * at the same time, to a process whose /health is asked every 50 ms. Prints the requests during which it waited longest.
 */
const AT_ONCE = Number(process.env['PROOF_AT_ONCE'] ?? 4);
const P99_MS = 100;
const WORST_MS = 250;
/** The largest bodies of routes, with and without a credential. */
const SIZES = { known: MIB, anonymous: 16 * 1024 };

ownScratch();
await using service = await startService({ env: { LOG_LEVEL: 'warn', GATEHOUSE_RATE_LIMIT_API: '0' } });
const headers = { 'x-api-version': '2025-09', 'content-type': 'application/json' };
const user = await service.call('POST', '/users', { body: { username: 'ada' } });
const made = await service.call('POST', '/api/servers', { body: { name: 'any' } });
await using served = await serveUntilKilled(service, CATALOG_FOLDER);

const watch = fork(new URL('health-watch.ts', import.meta.url), [served.url]);
await once(watch, 'message');
/** The begin of each kind of request, epoch ms. */
const begins: { at: number; request: string }[] = [];
const mark = (request: string) => begins.push({ at: performance.timeOrigin + performance.now(), request });

const statuses = new Map<number, number>();
for (const { name, path, bodies, open } of targets())
  for (const [form, make] of bodies) {
    const body = make();
    mark(`${name}, ${form}`);
    const auth = open ? {} : { authorization: `Bearer ${service.developmentKey}` };
    const send = () =>
      fetch(served.url + path, {
        method: name.split(' ')[0] ?? '',
        headers: { ...headers, ...auth, 'x-svc-userid': user.text('userId') },
        body,
      });
    for (const answer of await Promise.all(Array.from({ length: AT_ONCE }, send))) {
      statuses.set(answer.status, (statuses.get(answer.status) ?? 0) + 1);
      await answer.arrayBuffer();
    }
  }
mark('nothing');
watch.send('end');
const [waits]: { began: number; ms: number }[][] = await once(watch, 'message');

const sorted = (waits ?? [])
  .filter(({ began }) => began >= (begins[0]?.at ?? 0))
  .toSorted((a, b) => a.ms - b.ms);
const at = (part: number) => sorted[Math.floor((sorted.length - 1) * part)]?.ms ?? 0;
for (const { ms, began } of sorted.slice(-8).toReversed())
  process.stdout.write(
    `${String(Math.round(ms)).padStart(6)} ms  ${begins.findLast((one) => one.at <= began)?.request}\n`,
  );
const answers = [...statuses].toSorted(([a], [b]) => a - b).map(([status, count]) => `${count} × ${status}`);
process.stdout.write(
  `${answers.join(', ')}; ${sorted.length} × /health: median ${at(0.5).toFixed(1)} ms, p99 ${at(0.99).toFixed(0)} ms, ` +
    `longest ${at(1).toFixed(0)} ms\n`,
);
claim(
  ![...statuses.keys()].some((status) => status >= 500),
  'no nonsense is answered with a fault of the service',
);
claim(
  at(0.99) <= P99_MS && at(1) <= WORST_MS,
  `/health answers within ${P99_MS} ms (p99) and ${WORST_MS} ms`,
);

interface Target {
  /** Method and path of the route. */
  name: string;
  path: string;
  open: boolean;
  bodies: [form: string, make: () => string][];
}

function targets(): Target[] {
  const rest = [...ROUTES, ...CONSOLE_ROUTES]
    .filter(({ method, spec }) => method !== 'GET' && spec.body !== undefined)
    .map(({ method, path, spec }) => ({
      name: `${method} ${path}`,
      path: path.replaceAll(/\{(\w+)\}/g, (_, name) => (name === 'userId' ? user.text('userId') : 'x')),
      open: spec.auth === 'none',
      bodies: bodiesFor(namesOf(spec.body), spec.auth === 'none' ? SIZES.anonymous : SIZES.known),
    }));
  const { pathname } = new URL(made.text('accessUrl'));
  const params = (value: string) => `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":${value}}`;
  const mcp = bodiesFor(['name', 'arguments', '_meta'], SIZES.known - 100);
  return [
    ...rest,
    {
      name: 'POST /mcp',
      path: pathname,
      open: false,
      bodies: mcp.map(([form, make]): [string, () => string] => [form, () => params(make())]),
    },
  ];
}

/** Returns the members that a body has. */
function namesOf(shape: z.ZodType | undefined): string[] {
  return shape && 'shape' in shape ? Object.keys(Object(shape.shape)) : [];
}

/** Returns bodies of `size` bytes at most: unknown members, empty objects, nested lists, and each member filled. */
function bodiesFor(names: readonly string[], size: number): [form: string, make: () => string][] {
  const filled = (one: string | ((at: number) => string), left: number) => {
    const parts: string[] = [];
    for (let used = 0; ;) {
      const part = typeof one === 'string' ? one : one(parts.length);
      if ((used += part.length + 1) > left) return parts.join(',');
      parts.push(part);
    }
  };
  const nested = `${'['.repeat(60)}${']'.repeat(60)}`;
  const members = (at: number) => `"m${at.toString(36)}":0`;
  const values: [string, (left: number) => string][] = [
    ['objects', (left) => `[${filled('{}', left - 2)}]`],
    ['lists', (left) => `[${filled(nested, left - 2)}]`],
    ['members', (left) => `{${filled(members, left - 2)}}`],
    ['one string', (left) => `"${'x'.repeat(left - 2)}"`],
  ];
  return [
    ['unknown members', () => `{${filled(members, size - 2)}}`],
    ['a list', () => `[${filled('{}', size - 2)}]`],
    ...names.flatMap((name) =>
      values.map(([form, make]): [string, () => string] => [
        `${form} as ${name}`,
        () => `{"${name}":${make(size - name.length - 5)}}`,
      ]),
    ),
  ];
}
