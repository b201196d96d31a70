import { afterAll, beforeAll, expect, test } from 'vitest';
import { notesFile } from '../support/custom.ts';
import { startService, type Service } from '../support/service.ts';

let service: Service;
beforeAll(async () => {
  service = await startService();
});
afterAll(() => service.stop());

const BASE = 'https://api.notes.example.com';
const GOOD = notesFile(BASE);
const add = (definition: unknown) => service.call('POST', '/api/connectors', { body: { definition } });

test.each<[string, string, string, number | undefined]>([
  ['a misspelt member', GOOD.replace('request:', 'requests:'), 'actions.list_notes.requests', 12],
  ['text that is no YAML', `${GOOD}\n  : [`, '', 14],
  ['a missing member', GOOD.replace('name: Notes\n', ''), 'name', 1],
  ['bare tool names', `${GOOD}toolNames: bare\n`, 'toolNames', 13],
  ['a prompt', `${GOOD}prompts: {a: {description: Asks., text: Hello}}\n`, 'prompts', 13],
  [
    'a resource',
    `${GOOD}    response: {body: file}\nresources: {a: {uri: 'notes://all', description: Reads., action: list_notes}}\n`,
    'resources',
    14,
  ],
  ['an id of Gatehouse', GOOD.replace('id: notes', 'id: gatehouse'), 'id', 1],
  ['a name of Gatehouse', GOOD.replace('name: Notes', 'name: ＧateHouse'), 'name', 2],
  [
    'the name of a built-in tool',
    GOOD.replace('id: notes', 'id: search').replace('list_notes', 'actions_svc'),
    'actions.actions_svc',
    10,
  ],
  ['a hidden character', GOOD.replace('Lists the', 'Lists\u200bthe'), 'actions.list_notes.description', 11],
  [
    'a comment of HTML',
    GOOD.replace('Lists the', 'Lists <!-- x --> the'),
    'actions.list_notes.description',
    11,
  ],
  [
    'a pattern that backtracks',
    GOOD.replace(/$/, '    query: {a: {type: string, pattern: "(a)\\\\1"}}\n'),
    'actions.list_notes.query.a.pattern',
    13,
  ],
  ['plain http', GOOD.replace(BASE, 'http://notes.example.com'), 'baseUrl', 7],
  ['the address of the sandbox', GOOD.replace(BASE, 'http://sandbox.invalid'), 'baseUrl', 7],
  [
    'a schema that is none',
    `${GOOD}    response: {schema: {type: nothing}}\n`,
    'actions.list_notes.response.schema.type',
    13,
  ],
  [
    'a shared schema that is none',
    `${GOOD}    response: {schema: {$ref: '#/schemas/Note'}}\nschemas: {Note: {properties: {a: {$ref: '#/schemas/A'}}}, A: {type: nothing}}\n`,
    'schemas.A.type',
    14,
  ],
  ['an expression that is none', `${GOOD}    response: {map: '{{'}\n`, 'actions.list_notes.response.map', 13],
])('a definition with %s is refused by field and line', async (_, text, field, line) => {
  const answer = await add(text);
  expect([answer.status, answer.at('code')]).toEqual([400, 'invalid_request']);
  const path = field === '' ? 'definition' : `definition.${field}`;
  expect(answer.at('details.faults')).toContainEqual(expect.objectContaining({ field: path, line }));
});

test.each<[string, unknown, string]>([
  ['a number', 1, 'definition'],
  ['a list', [], 'definition'],
  ['an empty text', '', 'definition'],
  ['an empty object', {}, 'definition.id'],
  ['lists in lists', '['.repeat(100_000), 'definition'],
  ['maps in maps', '{a: '.repeat(20_000), 'definition'],
  ['JSON in JSON', `${'{"a":'.repeat(20_000)}1${'}'.repeat(20_000)}`, 'definition'],
  [
    'anchors that repeat a text',
    `a: &a "${'x'.repeat(100_000)}"\nb: [${Array.from({ length: 90 }, () => '*a').join(',')}]`,
    'definition',
  ],
  ['a billion laughs', laughs(), 'definition'],
  ['a tag of code', 'id: !!js/function "x"', 'definition.name'],
])('%s instead of a good definition is refused', async (_, definition, field) => {
  const answer = await add(definition);
  expect([answer.status, answer.at('code')]).toEqual([400, 'invalid_request']);
  expect(JSON.stringify(answer.at('details.faults'))).toContain(`"${field}"`);
});

/** Returns nine levels of anchors, each of which repeats the one before ten times. */
function laughs(): string {
  const levels = Array.from({ length: 9 }, (_, at) => {
    const item = at === 0 ? 'lol' : `*a${at - 1}`;
    return `a${at}: &a${at} [${Array.from({ length: 10 }, () => item).join(',')}]`;
  });
  return levels.join('\n');
}

test('unknown members of the body and other ids are refused', async () => {
  const both = await service.call('POST', '/api/connectors', { body: { definition: GOOD, id: 'x' } });
  expect(both.at('details.faults.0.field')).toBe('id');
  const empty = await service.call('POST', '/api/connectors', { body: {} });
  expect([empty.status, empty.text('error')]).toEqual([400, expect.stringContaining('definition')]);
  const large = { definition: `${GOOD}#${'x'.repeat(1024 * 1024)}` };
  expect((await service.call('POST', '/api/connectors', { body: large })).text('code')).toBe(
    'payload_too_large',
  );
  expect((await add(GOOD)).status).toBe(201);
  const other = { definition: GOOD.replace('id: notes', 'id: other') };
  const put = await service.call('PUT', '/api/connectors/notes', { body: other });
  expect(put.at('details.faults')).toEqual([
    { field: 'definition.id', rule: 'must equal "notes" (line 1)', line: 1 },
  ]);
  await service.call('DELETE', '/api/connectors/notes');
});

test.each(['sandbox', 'shopify'])('the id of the shipped connector %s is taken', async (id) => {
  for (const bearer of [service.developmentKey, service.productionKey]) {
    const answer = await service.call('POST', '/api/connectors', {
      bearer,
      body: { definition: GOOD.replace('id: notes', `id: ${id}`) },
    });
    expect([answer.status, answer.at('code')]).toEqual([409, 'connector_exists']);
  }
});

test('the JWT of a user adds no connector', async () => {
  const userId = (await service.call('POST', '/users', { body: { username: 'eve' } })).text('userId');
  const token = (await service.call('GET', `/2023-12/user/${userId}/token`)).text('token');
  const answer = await service.call('POST', '/api/connectors', { bearer: token, body: { definition: GOOD } });
  expect(answer.status).toBe(403);
  expect((await service.call('GET', '/api/connectors')).at('data')).toEqual([]);
});
