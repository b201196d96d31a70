import { buffer } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createLargeBodies, type BodyPlace } from '../../src/outbound/large-bodies.ts';
import { createOutbound, type Outbound } from '../../src/outbound/outbound.ts';
import { createPause } from '../../src/upstream/large-answers.ts';
import { appFile, startShop, type Shop } from '../support/shop.ts';
import { startUpstream, type Upstream } from '../support/upstream.ts';

const MIB = 1024 * 1024;

const ROOMY = appFile(
  'roomy',
  `actions:
  get_all: { description: All of it., request: GET /all }
`,
);

let shop: Shop;
let roomy: Upstream;
let answer: string;
beforeAll(async () => {
  roomy = await startUpstream();
  roomy.handler = (_req, res) => res.writeHead(200, { 'content-type': 'application/json' }).end(answer);
  shop = await startShop({}, { roomy: ROOMY });
  await shop.call('POST', `/users/${shop.userId}/credentials`, {
    body: { connectorId: 'roomy', data: { apiKey: 'token_0123456789', origin: roomy.origin } },
  });
});
afterAll(async () => {
  await shop[Symbol.asyncDispose]();
  await roomy[Symbol.asyncDispose]();
});

const read = () => shop.call('POST', '/connectors/roomy/actions/get_all/execute', { body: { input: {} } });

test('an answer of millions of values is refused before it is parsed', async () => {
  answer = `[${Array(3_400_000).fill('{}').join(',')}]`;
  const all = await Promise.all(Array.from({ length: 4 }, read));
  for (const one of all) {
    expect(one).toMatchObject({ status: 502, body: { code: 'upstream_too_large' } });
    expect(one.text('error')).toContain('500,000 values');
  }
});

test('a large answer of texts with any characters is accepted', async () => {
  const text = String.raw`{"[,\\",`.repeat(100_000);
  answer = JSON.stringify({ text, list: Array(400_000).fill(0) });
  expect(answer.length).toBeGreaterThan(MIB);
  const taken = await read();
  expect(taken.status).toBe(200);
  expect(taken.at('data.text')).toBe(text);
});

test('each turn of the event loop runs one step over large values', async () => {
  const pause = createPause();
  const order: string[] = [];
  const step = async (name: string) => {
    await pause();
    order.push(name);
    setImmediate(() => order.push(`after ${name}`));
  };
  await Promise.all(['a', 'b', 'c'].map(step));
  expect(order).toEqual(['a', 'after a', 'b', 'after b', 'c']);
});

test('a large answer is read and written in steps, unchanged', async () => {
  const record = {
    name: 'Ünïcode "quoted" \\',
    list: [[], {}, [1, [2]]],
    none: null,
    many: Array(50).fill(1.5),
  };
  const value = {
    first: 'x'.repeat(200_000),
    data: Array.from({ length: 5000 }, () => record),
    nested: { data: { data: record } },
  };
  answer = JSON.stringify(value, null, 1);
  expect((await read()).at('data')).toEqual(value);
});

test.each([
  ['a list with a value missing', `[${'"x",'.repeat(50_000)},1]`],
  ['a list that ends in a comma', `[${'"x",'.repeat(50_000)}]`],
  ['a list that closes as an object', `[${'{"a":[1}],'.repeat(30_000)}1]`],
  ['two lists', `[${'"x",'.repeat(50_000)}1],[2]`],
  ['a large member without a colon', `{"a" [${'"x",'.repeat(50_000)}1]}`],
])('%s is no JSON', async (_, text) => {
  answer = text;
  expect(await read()).toMatchObject({ status: 502, body: { details: { reason: 'not_json' } } });
});

test('a large answer that nests too deep is refused', async () => {
  const deep = (levels: number) => `${'['.repeat(levels)}${']'.repeat(levels)}`;
  const within = (text: string) =>
    `{"pad":"${'x'.repeat(200_000)}","list":[${text},${'"y",'.repeat(50_000)}1]}`;
  answer = within(deep(61));
  expect((await read()).status).toBe(200);
  answer = within(deep(63));
  expect(await read()).toMatchObject({ status: 502, body: { details: { reason: 'too_deep' } } });
});

test('members called __proto__ are dropped from a large answer', async () => {
  const list = `[${'1,'.repeat(100_000)}1]`;
  answer = `{"__proto__":${list},"a":{"__proto__":1,"b":2},"list":${list}}`;
  const body = (await read()).at('data');
  expect(Object.keys(Object(body))).toEqual(['a', 'list']);
  expect(Object(body).a).toEqual({ b: 2 });
});

describe('places for large answers', () => {
  const LARGE = Buffer.alloc(MIB, 'x');
  let outbound: Outbound;
  beforeAll(() => {
    outbound = createOutbound({ allowedNetworks: [], allowPrivateNetwork: true });
    roomy.handler = (_req, res) => res.end(LARGE);
  });
  afterAll(() => outbound.close());

  test('an answer without a place waits, and ends by its own deadline', async () => {
    const bodies = createLargeBodies({ most: 1, mostEach: 1 });
    using taken = bodies.place('a');
    expect(taken.take(() => {})).toBe(true);
    using place = bodies.place('b');
    const waiting = outbound.request({ method: 'GET', url: roomy.origin, timeoutMs: 200, place });
    await expect(waiting).rejects.toMatchObject({ code: 'upstream_timeout' });
  });

  test('an answer is read on when a place is freed', async () => {
    const bodies = createLargeBodies({ most: 1, mostEach: 1 });
    const taken = bodies.place('a');
    taken.take(() => {});
    let asked = false;
    const own = bodies.place('b');
    using place: BodyPlace = {
      take: (resume) => {
        const goesOn = own.take(resume);
        if (!asked) setImmediate(() => taken[Symbol.dispose]());
        asked = true;
        return goesOn;
      },
      [Symbol.dispose]: () => own[Symbol.dispose](),
    };
    const { body } = await outbound.request({ method: 'GET', url: roomy.origin, place });
    expect(asked).toBe(true);
    expect(body.equals(LARGE)).toBe(true);
  });

  test('a stream without a place waits, and ends by its own deadline', async () => {
    const bodies = createLargeBodies({ most: 1, mostEach: 1 });
    using taken = bodies.place('a');
    taken.take(() => {});
    using place = bodies.place('b');
    // On a busy machine the deadline may pass before the headers.
    const read = async () => {
      const { body } = await outbound.stream({ method: 'GET', url: roomy.origin, timeoutMs: 200, place });
      return buffer(body);
    };
    await expect(read()).rejects.toMatchObject({ code: 'upstream_timeout' });
  });

  test('a stream is read on when a place is freed', async () => {
    const bodies = createLargeBodies({ most: 1, mostEach: 1 });
    const taken = bodies.place('a');
    taken.take(() => {});
    using place = bodies.place('b');
    const { body } = await outbound.stream({ method: 'GET', url: roomy.origin, place });
    const chunks: Buffer[] = [];
    for await (const chunk of body) {
      chunks.push(chunk);
      // The next chunk passes the limit of small bodies.
      if (chunks.length === 1) setImmediate(() => taken[Symbol.dispose]());
    }
    expect(Buffer.concat(chunks).equals(LARGE)).toBe(true);
    expect(bodies.place('c').take(() => {})).toBe(false);
  });

  test('one owner leaves places to others, and places are given in order', () => {
    const bodies = createLargeBodies({ most: 3, mostEach: 2 });
    const begun: string[] = [];
    const places = ['a', 'a', 'a', 'b', 'c'].map((owner, at) => {
      const place = bodies.place(owner);
      const name = `${owner}${at}`;
      if (place.take(() => begun.push(name))) begun.push(name);
      return place;
    });
    expect(begun).toEqual(['a0', 'a1', 'b3']);
    places[3]?.[Symbol.dispose]();
    expect(begun).toEqual(['a0', 'a1', 'b3', 'c4']);
    places[0]?.[Symbol.dispose]();
    expect(begun).toEqual(['a0', 'a1', 'b3', 'c4', 'a2']);
  });
});
