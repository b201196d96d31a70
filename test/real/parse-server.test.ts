import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { z } from 'zod';
import { startService, type Service } from '../support/service.ts';
import { storeFile } from '../support/files.ts';
import { install, UNREACHABLE } from './install.ts';
import { startParseServer, type ParseServer } from './parse-server.ts';

/* The actions of a connector against a real Parse Server: objects of a class, and files. */

const OBJECTS = 23;
const objects = z.array(z.object({ objectId: z.string() }));

let parse: ParseServer;
let service: Service;
let userId: string;

const folder = await install('parse-server');

beforeAll(async () => {
  if (folder === undefined) return;
  parse = await startParseServer(folder);
  service = await startService({ env: { LOG_LEVEL: 'warn' } });
  userId = (await service.call('POST', '/users', { body: { username: 'ada' } })).text('userId');
  const { url: serverUrl, applicationId, restApiKey } = parse;
  await service.call('POST', `/users/${userId}/credentials`, {
    headers: { 'x-svc-userid': userId },
    body: { connectorId: 'parse-server', data: { serverUrl, applicationId, restApiKey } },
  });
});
beforeEach(({ skip }) => skip(folder === undefined, UNREACHABLE));
afterAll(async () => {
  await service?.stop();
  await parse?.[Symbol.asyncDispose]();
});

const execute = (actionId: string, input: object) =>
  service.call('POST', `/connectors/parse-server/actions/${actionId}/execute`, {
    headers: { 'x-svc-userid': userId },
    body: { input },
  });

test('objects are created, listed to the end, read, updated and deleted', async () => {
  const made: string[] = [];
  for (let n = 0; n < OBJECTS; n++) {
    const one = await execute('create_object', { className: 'Mug', members: { number: n } });
    expect(one.status).toBe(200);
    made.push(one.text('data.objectId'));
  }
  const listed: unknown[] = [];
  let offset: unknown = 0;
  while (offset !== undefined) {
    const page = await execute('list_objects', { className: 'Mug', limit: 10, offset });
    listed.push(...objects.parse(page.at('data')).map(({ objectId }) => objectId));
    offset = page.at('pagination.nextOffset');
  }
  expect(listed.toSorted()).toEqual(made.toSorted());

  const [objectId] = made;
  await execute('update_object', { className: 'Mug', objectId, members: { number: 100 } });
  const read = await execute('get_object', { className: 'Mug', objectId });
  expect(read.at('data.number')).toBe(100);
  expect((await execute('delete_object', { className: 'Mug', objectId })).status).toBe(200);
  const gone = await execute('get_object', { className: 'Mug', objectId });
  expect([gone.status, gone.at('details.status')]).toEqual([422, 404]);
});

test('a file is uploaded, and an object refers to it', async () => {
  const content = Buffer.from(Array.from({ length: 300_000 }, (_, n) => n % 253));
  const fileId = await storeFile(service, { userId, content });
  const made = await execute('upload_file', {
    fileName: 'mug.png',
    file: { fileId, mediaType: 'image/png' },
  });
  expect(made.body).toMatchObject({ data: { url: expect.any(String) } });
  const read = await fetch(made.text('data.url'));
  expect(read.headers.get('content-type')).toContain('image/png');
  expect(Buffer.from(await read.arrayBuffer()).equals(content)).toBe(true);
  const picture = { __type: 'File', name: made.text('data.name') };
  const object = await execute('create_object', { className: 'Picture', members: { picture } });
  const found = await execute('get_object', { className: 'Picture', objectId: object.text('data.objectId') });
  expect(found.at('data.picture.name')).toBe(picture.name);
});
