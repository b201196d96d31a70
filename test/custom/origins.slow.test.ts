import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { notesFile, startNotes, type NotesApp } from '../support/custom.ts';
import { startService, type Answer, type Service } from '../support/service.ts';
import { STORE_KINDS } from '../support/stores.ts';

describe.each(STORE_KINDS)('credentials of custom connectors over %s', (kind) => {
  let service: Service;
  let app: NotesApp;
  let other: NotesApp;
  let userId: string;
  beforeAll(async () => {
    [app, other] = [await startNotes(), await startNotes()];
    service = await startService({ kind });
    userId = (await service.call('POST', '/users', { body: { username: 'ada' } })).text('userId');
  });
  afterAll(async () => {
    await service.stop();
    await app[Symbol.asyncDispose]();
    await other[Symbol.asyncDispose]();
  });

  const as = (method: string, path: string, body?: unknown) =>
    service.call(method, path, { headers: { 'x-svc-userid': userId }, ...(body ? { body } : {}) });
  const add = (definition: unknown) => as('POST', '/api/connectors', { definition });
  const put = (id: string, definition: unknown) => as('PUT', `/api/connectors/${id}`, { definition });
  const remove = (id: string) => as('DELETE', `/api/connectors/${id}`);
  const run = (id: string, actionId = 'list_notes') =>
    as('POST', `/connectors/${id}/actions/${actionId}/execute`, { input: {} });
  const connect = async (id: string, apiKey: string) => {
    const made = await as('POST', `/users/${userId}/credentials`, { connectorId: id, data: { apiKey } });
    return `/users/${userId}/credentials/${made.text('credentialId')}`;
  };

  test('a connector that returns at another address gets no credential of the first', async () => {
    await add(notesFile(app.origin));
    const path = await connect('notes', 'key_of_the_first');
    expect((await run('notes')).status).toBe(200);
    await remove('notes');
    expect((await run('notes')).text('code')).toBe('connector_not_found');
    expect((await as('GET', path)).at('state')).toBe('active');
    const check = await as('POST', `${path}/check`);
    expect([check.status, check.at('code')]).toEqual([404, 'connector_not_found']);
    expect(check.text('error')).toContain('works again');

    await add(notesFile(other.origin));
    const refused = await run('notes');
    expect([refused.status, refused.at('code'), refused.at('details.reason')]).toEqual([
      409,
      'credential_invalid',
      'other_origin',
    ]);
    expect(refused.text('details.reconnectUrl')).toContain('/connect/s/');
    expect((await as('POST', `${path}/check`)).at('details.reason')).toBe('other_origin');
    expect((await as('GET', path)).at('state')).toBe('active');
    expect(other.keys).not.toContain('key_of_the_first');

    await put('notes', notesFile(app.origin, { description: 'Lists all notes.' }));
    expect((await run('notes')).status).toBe(200);
    expect(app.keys.at(-1)).toBe('key_of_the_first');
    await remove('notes');
  });

  test('a new address of an action or a default asks for a new credential', async () => {
    const file = (more: string, host = 'app') =>
      notesFile(`'{host}'`, { id: 'moved', more: `    ${more}\n` }).replace(
        'authentication:',
        `variables: {host: {title: Host, format: origin, required: false, default: '${host}'}}\nauthentication:`,
      );
    const home = file('synonyms: [notes]', app.origin);
    await add(home);
    const path = await connect('moved', 'key_of_moved');
    expect((await run('moved')).status).toBe(200);
    const before = other.keys.length;
    for (const text of [
      file(`baseUrl: ${other.origin}`, app.origin),
      file('synonyms: [notes]', other.origin),
      file(`baseUrl: ${other.origin.replace('http:', 'HTTP:')}`, app.origin),
    ]) {
      await put('moved', text);
      expect((await run('moved')).at('details.reason')).toBe('other_origin');
    }
    expect(other.keys.length).toBe(before);
    await put('moved', home);
    expect((await run('moved')).status).toBe(200);

    await put('moved', file('synonyms: [notes]', other.origin));
    expect((await as('PUT', path, { data: { apiKey: 'key_of_another' } })).status).toBe(200);
    expect((await run('moved')).status).toBe(200);
    expect(other.keys.at(-1)).toBe('key_of_another');
    await remove('moved');
  });

  test.each(['sources', 'website'])(
    'an address below an action named %s asks for a new credential',
    async (name) => {
      const file = (more: string) =>
        notesFile(app.origin, {
          id: 'pages',
          more: `  ${name}: {description: Pages., request: GET /pages${more}}\n`,
        });
      await add(file(''));
      await connect('pages', 'key_of_pages');
      expect((await run('pages', name)).status).toBe(200);
      const before = other.keys.length;
      await put('pages', file(`, baseUrl: '${other.origin}'`));
      expect((await run('pages', name)).at('details.reason')).toBe('other_origin');
      expect(other.keys.length).toBe(before);
      await remove('pages');
    },
  );

  test('a partial change of a credential takes over no value of another origin', async () => {
    const file = (origin: string) =>
      notesFile(origin, { id: 'pair' }).replace(
        '{type: api_key, in: header, name: X-Key}',
        `{type: custom, fields: {one: {title: One, secret: true}, two: {title: Two, secret: true}},
    apply: {headers: {X-Key: '{one}.{two}'}}}`,
      );
    await add(file(app.origin));
    const made = await as('POST', `/users/${userId}/credentials`, {
      connectorId: 'pair',
      data: { one: 'first_secret', two: 'second_secret' },
    });
    const path = `/users/${userId}/credentials/${made.text('credentialId')}`;
    await put('pair', file(other.origin));
    const partial = await as('PUT', path, { data: { one: 'mine_mine' } });
    expect([partial.status, partial.at('details.faults.0.field')]).toEqual([400, 'data.two']);
    expect(JSON.stringify(other.keys)).not.toContain('second_secret');
    await remove('pair');
  });

  test('the secret of an OAuth app goes to no other token endpoint', async () => {
    const file = (tokenUrl: string) =>
      notesFile(app.origin, { id: 'signed' }).replace(
        '{type: api_key, in: header, name: X-Key}',
        `{type: oauth2, authorizeUrl: '${app.origin}/authorize', tokenUrl: '${tokenUrl}/token'}`,
      );
    await add(file(app.origin));
    const stored = await as('PUT', '/api/connectors/signed/oauth-app', {
      clientId: 'client',
      clientSecret: 'secret_of_the_app',
    });
    expect(stored.status).toBe(200);
    const begin = () => as('POST', `/users/${userId}/credentials`, { connectorId: 'signed', type: 'oauth2' });
    expect((await begin()).status).toBe(200);
    await put('signed', file(other.origin));
    const refused = await begin();
    expect([refused.status, refused.at('code')]).toEqual([409, 'oauth_app_missing']);
    await put('signed', file(app.origin));
    expect((await begin()).status).toBe(200);
    await remove('signed');
  });

  test('a row whose origins were changed in the database does not open', async () => {
    await add(notesFile(app.origin, { id: 'forged' }));
    await connect('forged', 'key_of_forged');
    await service.context.db
      .updateTable('credentials')
      .set({ origins: JSON.stringify([other.origin]) })
      .where('connector_id', '=', 'forged')
      .execute();
    await put('forged', notesFile(other.origin, { id: 'forged' }));
    expect((await run('forged')).status).toBe(500);
    expect(other.keys).not.toContain('key_of_forged');
    await remove('forged');
  });
});

test('a custom connector reaches no private address that the operator did not allow', async () => {
  await using app = await startNotes();
  const service = await startService({ env: { GATEHOUSE_ALLOW_PRIVATE_NETWORK: '0' } });
  const call = (path: string, body: object) =>
    service.call('POST', path, { body, headers: { 'x-svc-userid': userId } });
  const userId = (await service.call('POST', '/users', { body: { username: 'ada' } })).text('userId');
  const addresses: [string, string][] = [
    ['loopback', app.origin],
    ['private', 'https://10.0.0.1'],
    ['metadata', 'https://169.254.169.254'],
    ['named', 'https://localhost'],
    ['own', service.url],
    ['inner', `${service.url}/sandbox`],
  ];
  for (const [id, address] of addresses) {
    expect((await call('/api/connectors', { definition: notesFile(address, { id }) })).status).toBe(201);
    await call(`/users/${userId}/credentials`, { connectorId: id, data: { apiKey: 'key_0123456789' } });
    const answer = await call(`/connectors/${id}/actions/list_notes/execute`, { input: {} });
    expect([id, answer.status, answer.at('details.reason')]).toEqual([id, 502, 'blocked_address']);
  }
  expect(app.keys).toEqual([]);
  await service.stop();
});

test('no feature reaches a private address that the operator did not allow', async () => {
  await using app = await startNotes();
  await using service = await startService({ env: { GATEHOUSE_ALLOW_PRIVATE_NETWORK: '0' } });
  const userId = (await service.call('POST', '/users', { body: { username: 'ada' } })).text('userId');
  const call = (method: string, path: string, body: object) =>
    service.call(method, path, { body, headers: { 'x-svc-userid': userId } });
  const signingIn = notesFile('https://api.example.com', { id: 'signing' }).replace(
    'authentication: [{type: api_key, in: header, name: X-Key}]',
    `authentication: [{type: oauth2_client_credentials, tokenUrl: '${app.origin}/token'}]`,
  );
  const raw = notesFile(app.origin, { id: 'raw' });
  for (const definition of [signingIn, raw])
    expect(await call('POST', '/api/connectors', { definition })).toMatchObject({ status: 201 });
  await call('POST', `/users/${userId}/credentials`, {
    connectorId: 'raw',
    data: { apiKey: 'key_0123456789' },
  });
  const client = { clientId: 'client', clientSecret: 'secret' };
  const doors: Record<string, Promise<Answer>> = {
    'token endpoint': call('POST', `/users/${userId}/credentials`, { connectorId: 'signing', data: client }),
    'raw call': call('POST', '/connectors/raw/actions/request/execute', {
      input: { method: 'GET', path: '/notes' },
    }),
    'remote server': call('POST', '/api/connectors', {
      mcp: { connectorId: 'far', url: `${app.origin}/mcp` },
    }),
    'events of the operator': call('PUT', '/api/settings', { eventsAddress: `${app.origin}/events` }),
  };
  for (const [door, sent] of Object.entries(doors)) {
    const { status, body } = await sent;
    expect([door, status, JSON.stringify(body)]).toEqual([
      door,
      expect.toSatisfy((code: number) => code === 400 || code === 502),
      expect.stringContaining('blocked_address'),
    ]);
  }
  expect(app.keys).toEqual([]);
});
