import { createServer } from 'node:http';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startNotes, type NotesApp } from '../support/custom.ts';
import { startService, type Service } from '../support/service.ts';
import { PATIENCE_MS } from '../support/until.ts';

/* Expressions of a custom connector: hostile ones end their own call alone. */

const ENDLESS = '($f := function($n) { $f($n + 1) }; $f(0))';
const HUNGRY = '{"text": $pad("x", 400000000)}';

const FILE = (baseUrl: string) => `id: hostile
name: Hostile
description: An app of the tests.
categories: [data]
website: https://hostile.example.com
sources: [{title: The tests themselves, read: 2026-03-01}]
baseUrl: ${baseUrl}
authentication: [{type: none}]
actions:
  map_endless:
    description: A map that never ends.
    request: GET /things
    response: {map: '${ENDLESS}'}
  map_hungry:
    description: A map that takes all memory.
    request: GET /things
    response: {map: '${HUNGRY}'}
  body_endless:
    description: A body that never ends.
    request: POST /things
    bodyMap: '${ENDLESS}'
  body_hungry:
    description: A body that takes all memory.
    request: POST /things
    bodyMap: '${HUNGRY}'
  give_endless:
    description: A result that never ends.
    request: POST /things
    after: {steps: {read: {action: good_map}}, give: '${ENDLESS}'}
  give_hungry:
    description: A result that takes all memory.
    request: POST /things
    after: {steps: {read: {action: good_map}}, give: '${HUNGRY}'}
  good_map:
    description: A good map.
    request: GET /things
    response: {map: '{"name": $uppercase(path), "isThing": $contains(path, /things/i)}'}
  good_body:
    description: A good body.
    request: POST /things
    body: {names: {type: array, items: {type: string}}}
    bodyMap: '{"names": $join(input.names, "+")}'
    response: {map: 'sent.names'}
  good_give:
    description: A good result.
    request: POST /things
    after: {steps: {read: {action: good_map}}, give: '{"both": read.name & "!", "count": $count([1..3])}'}
  list_things:
    description: Things.
    request: GET /list
    paging: {style: page, pageParam: page}
    response: {data: things, map: '{"id": $string(id)}', schema: {type: object}}
`;

let service: Service;
let notes: NotesApp;
let userId: string;
const app = createServer(async (req, res) => {
  const chunks: Buffer[] = [];
  for await (const chunk of req) chunks.push(Buffer.from(chunk));
  const text = Buffer.concat(chunks).toString('utf8');
  const things = Array.from({ length: 3 }, (_, id) => ({ id, text: 'x'.repeat(1_500_000) }));
  const body = req.url?.startsWith('/list') ? { things } : { path: req.url, sent: JSON.parse(text || '{}') };
  res.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(body));
});

beforeAll(async () => {
  await new Promise<void>((resolve) => app.listen(0, '127.0.0.1', resolve));
  const address = app.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  notes = await startNotes();
  service = await startService();
  userId = (await service.call('POST', '/users', { body: { username: 'ada' } })).text('userId');
  const definition = FILE(`http://127.0.0.1:${address.port}`);
  const added = await service.call('POST', '/api/connectors', { body: { definition } });
  if (added.status !== 201) throw new Error(JSON.stringify(added.body));
});
afterAll(async () => {
  await service.stop();
  await notes[Symbol.asyncDispose]();
  app.closeAllConnections();
  await new Promise((resolve) => app.close(resolve));
});

const execute = (actionId: string, input: object = {}) =>
  service.call('POST', `/connectors/hostile/actions/${actionId}/execute`, {
    headers: { 'x-svc-userid': userId },
    body: { input },
  });

describe('an expression of a custom connector that never ends or takes all memory', () => {
  test.each([
    ['response.map', 'map', [502, 'upstream_failed']],
    ['bodyMap', 'body', [400, 'invalid_request']],
    ['after.give', 'give', [502, 'upstream_failed']],
  ])(
    'a hostile expression in %s ends its own call, and another call is answered',
    async (_place, name, refusal) => {
      const hostile = [execute(`${name}_endless`), execute(`${name}_hungry`)];
      expect((await execute('good_map')).at('data')).toEqual({ name: '/THINGS', isThing: true });
      for (const answer of await Promise.all(hostile)) {
        expect([answer.status, answer.at('code')]).toEqual(refusal);
        expect(answer.text('error')).toContain("does not fit the connector's mapping");
      }
      expect((await service.call('GET', '/health', { bearer: null })).status).toBe(200);
    },
    PATIENCE_MS,
  );
});

describe('a good expression of a custom connector', () => {
  test('a good expression gives the body of a request', async () => {
    expect((await execute('good_body', { names: ['a', 'b'] })).at('data')).toBe('a+b');
  });

  test('a good expression gives the result of steps', async () => {
    expect((await execute('good_give')).at('data')).toEqual({ both: '/THINGS!', count: 3 });
  });

  test('a good expression gives the records of a page larger than one evaluation', async () => {
    const page = await execute('list_things', { limit: 3 });
    expect(page.at('data')).toEqual([{ id: '0' }, { id: '1' }, { id: '2' }]);
  });
});
