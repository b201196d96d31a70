import { afterEach, expect, test } from 'vitest';
import { faultsOfFile, lineOf, startFileApp, type FileApp } from '../../support/file-app.ts';

/** An app with user keys, and with keys of an installation that may not read the user. */
const FILE = `baseUrl: '{origin}'
authentication:
  - {type: bearer}
  - {type: api_key, in: header, name: X-Installation-Key, probe: list_projects}
probe: get_me
account: {id: id}
errors:
  message: [message]
  code: errors.0.extensions.code
  codes: {FORBIDDEN: credential_invalid}
actions:
  get_me: {description: The user., request: GET /me}
  list_projects: {description: Projects., request: GET /projects}
  list_members: {description: Members., request: GET /members}
  list_orders:
    description: Orders.
    request: POST /graphql
    effect: read
    graphql: '{ orders { id } }'
    response: {data: data.orders}
`;

let app: FileApp | undefined;
afterEach(() => app?.[Symbol.asyncDispose]());

test('FORBIDDEN of GraphQL leaves a working credential active', async () => {
  app = await startFileApp(FILE);
  app.answer = ({ path }) =>
    path === '/graphql'
      ? { body: { errors: [{ message: 'no', extensions: { code: 'FORBIDDEN' } }], data: null } }
      : { body: { id: '7' } };
  await app.connect({ token: 'key-of-a-user' }, 'bearer');
  const refused = await app.execute('list_orders');
  expect([refused.status, refused.at('details.reason')]).toEqual([422, 'permission']);
  expect(await app.state()).toBe('active');
  expect((await app.execute('get_me')).status).toBe(200);
});

test('a scheme with a probe of its own is judged by that probe', async () => {
  app = await startFileApp(FILE);
  app.answer = ({ path }) =>
    path === '/projects' ? { body: [] } : { status: 403, body: { message: 'not for installations' } };
  const made = await app.connect({ apiKey: 'key-of-an-installation' }, 'api_key');
  expect(made.status).toBe(201);
  const refused = await app.execute('list_members');
  expect([refused.status, refused.at('details.reason')]).toEqual([422, 'permission']);
  expect(app.seen.map(({ path }) => path)).toEqual(['/projects', '/members', '/projects']);
  expect(await app.state()).toBe('active');
});

test('a dead credential of that scheme ends by its own probe', async () => {
  app = await startFileApp(FILE);
  await app.connect({ apiKey: 'key-of-an-installation' }, 'api_key');
  app.answer = () => ({ status: 401, body: { message: 'gone' } });
  expect((await app.execute('list_members')).at('code')).toBe('credential_invalid');
  expect(await app.state()).toBe('needs_reconnect');
});

test('check refuses a probe that a scheme cannot use', async () => {
  const unknown = FILE.replace('probe: list_projects', 'probe: list_teams');
  expect(await faultsOfFile(unknown)).toEqual([
    `${lineOf(unknown, 'X-Installation-Key')} authentication.1.probe: "list_teams" is no action of this file`,
  ]);
  const foreign = FILE.replace(', probe: list_projects', '').replace(
    'get_me: {',
    'get_me: {authentication: [bearer], ',
  );
  expect(await faultsOfFile(foreign)).toEqual([
    `${lineOf(foreign, '{type: api_key')} authentication.1: needs a probe of its own, because "get_me" is not for api_key`,
  ]);
});
