import { createHash } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { z } from 'zod';
import { connectClient } from '../support/mcp.ts';
import { startService, type Service } from '../support/service.ts';

/* A connector of 100 actions that all take the same large object: 3 MB of tools from a file of 50 KB. */

const ACTIONS = 100;
const MAX_PAGE_BYTES = 2 * 1024 * 1024;

let service: Service;
beforeAll(async () => {
  service = await startService();
});
afterAll(() => service.stop());

function definition(description: string) {
  const members = Array.from({ length: 200 }, (_, index) => [
    `member_${index}`,
    { type: 'string', description: `${description} ${index}. ${'It has many words. '.repeat(6)}` },
  ]);
  const action = (_: unknown, index: number) => [
    `create_note_${index}`,
    {
      description: `Creates note ${index}.`,
      request: `POST /notes/${index}`,
      body: { note: { $ref: '#/schemas/note' } },
      response: { schema: { $ref: '#/schemas/note' } },
    },
  ];
  return {
    id: 'notes',
    name: 'Notes',
    description: 'An app of the tests.',
    categories: ['data'],
    website: 'https://notes.example.com',
    sources: [{ title: 'The tests themselves', read: '2026-03-01' }],
    baseUrl: 'https://api.notes.example.com',
    authentication: [{ type: 'api_key', in: 'header', name: 'X-Key' }],
    schemas: { note: { type: 'object', properties: Object.fromEntries(members) } },
    actions: Object.fromEntries(Array.from({ length: ACTIONS }, action)),
  };
}

const pageOfChanges = z.object({
  data: z.array(
    z.object({
      actionId: z.string().optional(),
      hash: z.string(),
      before: z.looseObject({}).nullable(),
      after: z.looseObject({ inputSchema: z.unknown().optional() }),
    }),
  ),
});

async function changes() {
  const page = async (offset: number) => {
    const query = `connectorId=notes&limit=50&offset=${offset}`;
    return pageOfChanges.parse((await service.call('GET', `/api/tools/changes?${query}`)).body).data;
  };
  return [...(await page(0)), ...(await page(50)), ...(await page(100))];
}

const first = (all: Awaited<ReturnType<typeof changes>>) =>
  all.find(({ actionId }) => actionId === 'create_note_0');
/** A place in the shared schema of each action. */
const PLACE = 'inputSchema.$defs.note.properties.member_0.description';

/** Returns JSON text with the members of every object in the order of their names. */
function sorted(value: unknown): string {
  return JSON.stringify(value, (_, member: unknown) =>
    typeof member === 'object' && member !== null && !Array.isArray(member)
      ? Object.fromEntries(Object.entries(member).sort(([a], [b]) => (a < b ? -1 : 1)))
      : member,
  );
}

test('a list of 3 MB comes in pages of at most 2 MiB, which hold each tool once', async () => {
  expect((await service.call('GET', '/api/tools/changes')).status).toBe(200);
  const made = await service.call('POST', '/api/connectors', { body: { definition: definition('Text') } });
  expect(made.status).toBe(201);
  const restrictions = { connectors: { allowedIds: ['notes'] } };
  const body = { name: 'all', toolMode: 'direct', restrictions };
  const client = await connectClient(
    (await service.call('POST', '/api/servers', { body })).text('accessUrl'),
  );
  const names: string[] = [];
  const sizes: number[] = [];
  let cursor: string | undefined;
  do {
    const page = await client.listTools(cursor === undefined ? {} : { cursor });
    names.push(...page.tools.map(({ name }) => name));
    sizes.push(JSON.stringify(page).length);
    cursor = page.nextCursor;
  } while (cursor !== undefined);
  await client.close();
  expect(sizes).toHaveLength(2);
  expect(Math.max(...sizes)).toBeLessThan(MAX_PAGE_BYTES + 1000);
  expect(new Set(names).size).toBe(names.length);
  const own = names.filter((name) => name.startsWith('notes_'));
  expect(own).toEqual(Array.from({ length: ACTIONS }, (_, index) => `notes_create_note_${index}`));
});

test('definitions to approve show their shared schemas and match their hashes', async () => {
  const added = await changes();
  const ids = added.map(({ actionId }) => actionId);
  expect(ids.filter((id) => id?.startsWith('create_note_'))).toHaveLength(ACTIONS);
  for (const { hash, after } of added)
    expect(createHash('sha256').update(sorted(after)).digest('base64url')).toBe(hash);
  expect(first(added)?.after).toHaveProperty(PLACE, expect.stringMatching(/^Text 0/));

  const tools = added.map(({ actionId, hash }) => ({ connectorId: 'notes', actionId, hash }));
  const approved = await service.call('POST', '/api/tools/approve', { body: { tools } });
  expect([approved.status, approved.at('approved')]).toEqual([200, added.length]);
  expect(await changes()).toEqual([]);

  const body = { definition: definition('Words') };
  expect((await service.call('PUT', '/api/connectors/notes', { body })).status).toBe(200);
  const changed = await changes();
  expect(changed).toHaveLength(ACTIONS);
  expect(first(changed)?.before).toHaveProperty(PLACE, expect.stringMatching(/^Text 0/));
  expect(first(changed)?.after).toHaveProperty(PLACE, expect.stringMatching(/^Words 0/));
});
