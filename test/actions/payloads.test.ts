import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { deleteOldRows } from '../../src/actions/execution-retention.ts';
import { DAY } from '../../src/lib/clock.ts';
import { notesFile, startNotes, type NotesApp } from '../support/custom.ts';
import { startService, type Answer, type Service } from '../support/service.ts';
import { STORE_KINDS } from '../support/stores.ts';

/* Inputs and outputs of calls, which an environment stores where its setting says so. */

const KEY = 'key-of-the-tests-1234';
const ACTION = `  unlock_note:
    description: Unlocks a note.
    request: POST /unlock
    body:
      password: {type: string, sensitive: true}
      note: {type: string}
      many: {anyOf: [${Array.from({ length: 1001 }, (_, at) => `{const: "${at}"}`).join(', ')}]}
      deep: {type: object, properties: {pin: {type: string, format: password}, name: {type: string}}}
    response: {schema: {type: object, properties: {path: {type: string, sensitive: true}}}}
`;

describe.each(STORE_KINDS)('on %s', (kind) => {
  let service: Service;
  let app: NotesApp;
  let userId: string;

  beforeAll(async () => {
    app = await startNotes();
    service = await startService({ kind });
    const definition = notesFile(app.origin, { more: ACTION });
    (await service.call('POST', '/api/connectors', { body: { definition } })).text('connectorId');
    userId = await connectedUser('ada');
  });
  afterAll(async () => {
    await service.stop();
    await app[Symbol.asyncDispose]();
  });

  async function connectedUser(username: string): Promise<string> {
    const id = (await service.call('POST', '/users', { body: { username } })).text('userId');
    await service.call('POST', `/users/${id}/credentials`, {
      headers: { 'x-svc-userid': id },
      body: { connectorId: 'notes', data: { apiKey: KEY } },
    });
    return id;
  }

  async function settings(body: object): Promise<void> {
    expect((await service.call('PUT', '/api/settings', { body })).status).toBe(200);
  }

  /** Runs an action, and returns the record of the call. */
  async function executed(input: object, { actionId = 'unlock_note', user = userId, bearer = '' } = {}) {
    await service.call('POST', `/connectors/notes/actions/${actionId}/execute`, {
      headers: { 'x-svc-userid': user },
      body: { input },
    });
    await service.context.executions.flush();
    const list = await service.call('GET', '/api/executions?limit=1');
    expect(list.text('data.0.actionId')).toBe(actionId);
    expect(Object.keys(Object(list.at('data.0')))).not.toContain('input');
    return read(list.text('data.0.executionId'), bearer);
  }

  function read(executionId: string, bearer = ''): Promise<Answer> {
    return service.call('GET', `/api/executions/${executionId}`, bearer === '' ? {} : { bearer });
  }

  const stored = async () =>
    service.context.db.selectFrom('execution_payloads').select(['execution_id', 'sealed']).execute();

  test('only the message of a failed call is stored by default', async () => {
    const { body } = await executed({ note: 'plain' });
    expect(body).not.toHaveProperty('input');
    expect(body).not.toHaveProperty('output');
    expect(await stored()).toEqual([]);
    const failed = await executed({ note: 5, pasword: `hush ${KEY}` });
    expect(failed.at('output')).toEqual({
      code: 'invalid_request',
      error: expect.stringContaining('pasword'),
    });
    expect(failed.body).not.toHaveProperty('input');
    expect((await service.call('GET', '/api/settings')).body).toMatchObject({
      payloads: 'messages',
      payloadDays: 7,
    });
  });

  test('payloads set to off store nothing of a failed call', async () => {
    await settings({ payloads: 'off' });
    await expect.poll(async () => (await executed({ note: 5 })).body).not.toHaveProperty('output');
  });

  test('payloads set to all are stored without sensitive fields and account secrets', async () => {
    await settings({ payloads: 'all' });
    await expect
      .poll(
        async () =>
          (await executed({ note: `my ${KEY}`, password: 'hush', deep: { pin: '1', name: 'n' } })).body,
      )
      .toMatchObject({
        input: { note: 'my [secret]', password: '[redacted]', deep: { pin: '[redacted]', name: 'n' } },
        output: { data: { path: '[redacted]' } },
      });
    const rows = await stored();
    expect(rows.length).toBeGreaterThan(0);
    expect(rows.some(({ sealed }) => sealed.includes('note'))).toBe(false);
  });

  test('a field whose schema has more than 1,000 parts is replaced', async () => {
    const { body } = await executed({ note: 'x', many: '7' });
    expect(body).toMatchObject({ input: { note: 'x', many: '[redacted]' } });
  });

  test('a key without payloads:read sees the call without them', async () => {
    const made = await service.call('POST', '/api/keys', {
      body: { name: 'reader', scopes: ['executions:read'] },
    });
    const { body } = await executed({ note: 'x' }, { bearer: made.text('key') });
    expect(body).toMatchObject({ actionId: 'unlock_note' });
    expect(body).not.toHaveProperty('input');
  });

  test('a long value is cut, with a note', async () => {
    const { body } = await executed({ note: 'é'.repeat(50_000) });
    const { input } = Object(body);
    expect(input).toMatch(/^\{"note":"é+ \[cut: 65536 of 100011 bytes are stored\]$/);
  });

  test('payloads set to errors store only a failed call, with its error', async () => {
    await settings({ payloads: 'errors', payloadDays: 2 });
    await expect.poll(async () => (await executed({ note: 'good' })).body).not.toHaveProperty('input');
    const failed = await executed({ note: 5, pasword: 'hush' });
    expect(failed.body).toMatchObject({
      outcome: 'failed',
      input: { note: 5, pasword: '[redacted]' },
      output: { code: 'invalid_request', error: expect.stringContaining('pasword') },
    });
  });

  test('payloads are removed after their days, and with their user', async () => {
    const failed = await executed({ note: 5 });
    const id = failed.text('executionId');
    await deleteOldRows(service.context.db, service.context.clock.now() + 2 * DAY - 60_000);
    expect((await stored()).map((row) => row.execution_id)).toContain(id);
    await deleteOldRows(service.context.db, service.context.clock.now() + 2 * DAY + 1);
    expect((await read(id)).body).not.toHaveProperty('input');
    const user = await connectedUser('bob');
    const own = await executed({ note: 5 }, { user });
    expect(own.body).toHaveProperty('input');
    await service.call('DELETE', `/users/${user}`);
    expect((await stored()).map((row) => row.execution_id)).not.toContain(own.text('executionId'));
    expect((await read(own.text('executionId'))).status).toBe(200);
  });
});
