import { afterAll, beforeAll, expect, test } from 'vitest';
import { createTurns } from '../../src/upstream/large-answers.ts';
import { startShop, type Shop } from '../support/shop.ts';
import { startUpstream, type Upstream } from '../support/upstream.ts';

const MIB = 1024 * 1024;

const ROOMY = `
id: roomy
name: Roomy
description: An app with large answers.
categories: [data]
website: https://roomy.example.com
sources: [{ title: The tests themselves, read: 2026-03-01 }]
baseUrl: '{origin}'
variables: { origin: { title: Address, format: origin, example: https://roomy.example.com } }
authentication: [{ type: bearer }]
actions:
  get_all: { description: All of it., request: GET /all }
`;

let shop: Shop;
let roomy: Upstream;
let answer: string;
beforeAll(async () => {
  roomy = await startUpstream();
  roomy.handler = (_req, res) => res.writeHead(200, { 'content-type': 'application/json' }).end(answer);
  shop = await startShop({}, { roomy: ROOMY });
  await shop.call('POST', `/users/${shop.userId}/credentials`, {
    body: { connectorId: 'roomy', data: { token: 'token_0123456789', origin: roomy.origin } },
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

test('a large answer of texts is taken, whatever signs they hold', async () => {
  const text = String.raw`{"[,\\",`.repeat(100_000);
  answer = JSON.stringify({ text, list: Array(400_000).fill(0) });
  expect(answer.length).toBeGreaterThan(MIB);
  const taken = await read();
  expect(taken.status).toBe(200);
  expect(taken.at('data.text')).toBe(text);
});

test('large answers are parsed one at a time, with the event loop between them', async () => {
  const turn = createTurns();
  const order: string[] = [];
  const parse = async (name: string) => {
    await turn(MIB);
    order.push(name);
    setImmediate(() => order.push(`after ${name}`));
  };
  await Promise.all(['a', 'b', 'c'].map(parse));
  expect(order).toEqual(['a', 'after a', 'b', 'after b', 'c']);
  expect(turn(1000)).toBeUndefined();
});
