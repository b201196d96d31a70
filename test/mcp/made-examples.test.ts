import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { valueAt } from '../../src/lib/json.ts';
import { rpc } from '../support/mcp.ts';
import { startService, type Service } from '../support/service.ts';

/* A connector without examples.yaml has no recorded calls, so its examples are built from patterns. */

const PATTERNS = [
  '^[A-Z]{2}\\d{6}$',
  '^inv_(?:live|test)_[0-9a-f]{8}$',
  '^(?:EU|US)-[^a-z\\s]{3}$',
  '^\\p{Lu}{3}\\.[\\w-]+$',
  '^\\+49 ?[1-9]\\d{5,}$',
  '^\\[\\w+\\]$',
  '^arn:aws:s3:::[a-z0-9.-]{3,63}$',
  '^(\\d{3}-){2}\\d{4}$',
  '^[\\u4e00-\\u9fa5]{2}$',
  '^v\\d+\\.\\d+\\.\\d+(-[a-z]+)?$',
  '^(?<kind>a|b)\\x41/[\\]a-]{5}$',
];
const BY_NAME = {
  first_name: 'Ada',
  lastName: 'Lovelace',
  work_email: 'ada@example.com',
  phone: '+12025550123',
  websiteUrl: 'https://example.com',
  currency: 'EUR',
  countryCode: 'DE',
  city: 'Berlin',
  postal_code: '10115',
  jobTitle: 'Example job title',
};
const CONNECTOR = {
  id: 'patterns',
  name: 'Patterns',
  description: 'Parameters with unusual patterns.',
  categories: ['data'],
  website: 'https://patterns.example.com',
  sources: [{ title: 'The tests themselves', read: '2026-11-23' }],
  baseUrl: 'https://patterns.example.com',
  authentication: [{ type: 'none' }],
  actions: {
    ...Object.fromEntries(
      PATTERNS.map((pattern, index) => [
        `get_thing_${index}`,
        {
          description: 'A thing.',
          request: 'GET /things/{code}',
          path: { code: { type: 'string', pattern } },
          query: { long: { type: 'string', pattern: '^x[yz]*$', minLength: 12, required: true } },
        },
      ]),
    ),
    create_person: {
      description: 'A person.',
      request: 'POST /people',
      body: Object.fromEntries(
        Object.keys(BY_NAME).map((name) => [name, { type: 'string', required: true, maxLength: 40 }]),
      ),
    },
    get_nothing: {
      description: 'Takes nothing that there is.',
      request: 'GET /none/{code}',
      path: { code: { type: 'string', pattern: '^ab$', minLength: 5 } },
    },
  },
};

let folder: string;
let service: Service;
let accessUrl: string;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'gatehouse-connectors-'));
  mkdirSync(join(folder, 'patterns'));
  // JSON is YAML.
  writeFileSync(join(folder, 'patterns', 'connector.yaml'), JSON.stringify(CONNECTOR));
  service = await startService({ catalogFolder: folder });
  const userId = (await service.call('POST', '/users', { body: { username: 'ada' } })).text('userId');
  const headers = { 'x-svc-userid': userId };
  accessUrl = (await service.call('POST', '/api/servers', { headers, body: { name: 's' } })).text(
    'accessUrl',
  );
});
afterAll(async () => {
  await service.stop();
  rmSync(folder, { recursive: true, force: true });
});

async function read(actionId: string) {
  const actions = [{ connectorId: 'patterns', actionId }];
  const answer = await rpc(accessUrl, 'tools/call', { name: 'get_action_svc', arguments: { actions } });
  return valueAt(answer.at('result.structuredContent.actions') ?? null, '0');
}

test.each(PATTERNS.map((pattern, index) => [pattern, index] as const))(
  'a parameter with the pattern %s has an example that fits',
  async (pattern, index) => {
    const parameters = valueAt(await read(`get_thing_${index}`), 'example.parameters');
    expect(valueAt(parameters, 'code')).toMatch(new RegExp(pattern, 'u'));
    expect(valueAt(parameters, 'long')).toMatch(/^x[yz]{11,}$/);
  },
);

test('a text without example or format has a value that its name suggests', async () => {
  expect(valueAt(await read('create_person'), 'example.parameters')).toEqual(BY_NAME);
});

test('an action without a valid example says so', async () => {
  const found = await read('get_nothing');
  expect(valueAt(found, 'example')).toBeUndefined();
  expect(valueAt(found, 'noExample')).toMatch(/No example is known/);
});
