import { statSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { createServer as createHttp } from 'node:http';
import { once } from 'node:events';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { anchorFile } from '../../src/identity/store-marker.ts';
import { readAnchor } from '../../src/runtime/audit-anchor.ts';
import { verifyAudit } from '../../src/runtime/audit-verify.ts';
import { writeCheckpoint } from '../../src/runtime/audit-checkpoints.ts';
import { exportAudit } from '../../src/cli/audit-export.ts';
import { openService as openRest } from '../../src/cli/service.ts';
import { startService, type Service } from '../support/service.ts';
import { STORE_KINDS } from '../support/stores.ts';

describe.each(STORE_KINDS)('the audit log on %s', (kind) => {
  let service: Service;
  beforeAll(async () => {
    service = await startService({ kind });
    for (const username of ['ada', 'bob', 'cleo', 'dora'])
      await service.call('POST', '/users', { body: { username } });
    await writeCheckpoint(service.context);
  });
  afterAll(() => service.stop());

  const verified = (signature?: string) => verifyAudit(service.context, { signature });
  const rows = () => service.context.db.selectFrom('audit').selectAll().orderBy('sequence').execute();

  /** Runs a change of the database, checks the log, and undoes the change. */
  async function tampered(change: () => Promise<unknown>, checks: () => Promise<unknown>): Promise<void> {
    const { db } = service.context;
    const audit = await db.selectFrom('audit').selectAll().execute();
    const checkpoints = await db.selectFrom('audit_checkpoints').selectAll().execute();
    await change();
    await checks();
    await db.deleteFrom('audit').execute();
    await db.deleteFrom('audit_checkpoints').execute();
    await db.insertInto('audit').values(audit).execute();
    await db.insertInto('audit_checkpoints').values(checkpoints).execute();
  }

  test('entries of requests form a chain that is whole', async () => {
    expect(await verified()).toMatchObject({ entries: 4, chains: 1, checkpoints: 1, broken: null });
    const answer = await service.call('GET', '/api/audit');
    const data = answer.at('data') as { hash: string; previousHash: string }[];
    expect(data.map(({ previousHash }) => previousHash)).toEqual([
      ...data.slice(1).map(({ hash }) => hash),
      '',
    ]);
  });

  test('concurrent requests extend one chain without a gap', async () => {
    const names = Array.from({ length: 30 }, (_, at) => `user ${at}`);
    await Promise.all(names.map((username) => service.call('POST', '/users', { body: { username } })));
    expect(await verified()).toMatchObject({ entries: 34, chains: 1, broken: null });
  });

  test('an entry that follows at once on another one is stored', async () => {
    const entry = { environment: 'development', requestId: 'r', caller: 'cli', target: undefined } as const;
    for (const operation of ['first', 'second'])
      await service.context.audit.record({ ...entry, operation, status: 200 });
    expect((await rows()).map(({ operation }) => operation).slice(-2)).toEqual(['first', 'second']);
  });

  test('a changed entry is found', async () => {
    const [, second] = await rows();
    await tampered(
      () =>
        service.context.db.updateTable('audit').set({ caller: 'cli' }).where('sequence', '=', 2).execute(),
      async () =>
        expect((await verified()).broken).toEqual({
          row: second?.audit_id,
          reason: 'it was changed or inserted',
        }),
    );
  });

  test('a removed entry is found by the entry after it', async () => {
    const [, , third] = await rows();
    await tampered(
      () => service.context.db.deleteFrom('audit').where('sequence', '=', 2).execute(),
      async () =>
        expect((await verified()).broken).toEqual({
          row: third?.audit_id,
          reason: 'an entry before it was removed',
        }),
    );
  });

  test('an inserted entry is found, with and without a chain', async () => {
    const { db } = service.context;
    const [first] = await rows();
    if (!first) throw new Error('There is no entry.');
    const forged = { ...first, audit_id: 'aud_forged', chain_id: 'ach_forged', at: Date.now() };
    await tampered(
      () => db.insertInto('audit').values(forged).execute(),
      async () => expect((await verified()).broken?.row).toBe('aud_forged'),
    );
    const loose = { ...forged, at: 1, chain_id: null, sequence: null, previous_hash: null, hash: null };
    await tampered(
      () => db.insertInto('audit').values(loose).execute(),
      async () => expect((await verified()).broken?.row).toBe('aud_forged'),
    );
  });

  test('a removed end is found by the checkpoint that names it', async () => {
    await writeCheckpoint(service.context);
    const { chain_id, sequence } = (await rows()).at(-1) ?? {};
    await tampered(
      () =>
        service.context.db
          .deleteFrom('audit')
          .where('sequence', '=', sequence ?? 0)
          .execute(),
      async () =>
        expect((await verified()).broken).toEqual({
          row: 'checkpoint 2',
          reason: `entry ${sequence} of chain ${chain_id}, which it names, was removed`,
        }),
    );
  });

  test('a removed checkpoint is found by its signature in the log', async () => {
    const { db } = service.context;
    const last = await db
      .selectFrom('audit_checkpoints')
      .selectAll()
      .orderBy('sequence', 'desc')
      .executeTakeFirstOrThrow();
    expect((await verified(last.signature)).broken).toBeNull();
    await tampered(
      () => db.deleteFrom('audit_checkpoints').where('sequence', '=', last.sequence).execute(),
      async () =>
        expect((await verified(last.signature)).broken?.reason).toBe('the end of the log was removed'),
    );
  });

  test('a second checkpoint without new entries is not written', async () => {
    await writeCheckpoint(service.context);
    expect(await writeCheckpoint(service.context)).toBeUndefined();
  });

  test('filters choose by operation, target and time', async () => {
    await service.call('POST', '/api/servers', { body: { name: 'audited' } });
    const created = await service.call('GET', '/api/audit?operation=createServer');
    expect(created.at('data')).toHaveLength(1);
    const at = created.text('data.0.at');
    const before = await service.call('GET', `/api/audit?until=${at}&operation=createServer`);
    expect(before.at('data')).toEqual([]);
    const target = created.text('data.0.target');
    expect((await service.call('GET', `/api/audit?target=${target}&since=${at}`)).at('data')).toHaveLength(1);
    const wrong = await service.call('GET', '/api/audit?since=yesterday');
    expect(wrong.status).toBe(400);
  });
});

describe.each(STORE_KINDS)('the anchor of the audit log on %s', (kind) => {
  let service: Service;
  beforeAll(async () => {
    service = await startService({ kind });
  });
  afterAll(() => service.stop());
  const file = () => anchorFile(service.context.config, service.context.hashKey);
  const verified = () => verifyAudit(service.context, { anchor: readAnchor(file()) });
  /** Runs another process over the store and the home, which writes an entry and a checkpoint. Returns its log. */
  const session = async (): Promise<string> => {
    const other = await startService({ env: service.env });
    await other.call('POST', '/users', {
      bearer: service.developmentKey,
      body: { username: `user ${Math.random()}` },
    });
    await other.stop();
    return other.logged.join('');
  };
  const newest = () =>
    service.context.db
      .selectFrom('audit_checkpoints')
      .select('sequence')
      .orderBy('sequence', 'desc')
      .executeTakeFirstOrThrow();

  test('a file of mode 0600 in the home names the newest checkpoint', async () => {
    expect(readAnchor(file())).toBeUndefined();
    for (let time = 0; time < 2; time++) {
      await session();
      expect(statSync(file()).mode & 0o777).toBe(0o600);
      const { sequence } = await newest();
      expect(await verified()).toMatchObject({ broken: null, anchor: { sequence } });
    }
  });

  test('a removed tail with its checkpoints is found, also after further checkpoints', async () => {
    const { sequence } = await newest();
    const { db } = service.context;
    await db.deleteFrom('audit').execute();
    await db.deleteFrom('audit_checkpoints').execute();
    expect((await verifyAudit(service.context)).broken).toBeNull();
    const broken = { row: `checkpoint ${sequence}`, reason: 'the end of the log was removed' };
    expect((await verified()).broken).toEqual(broken);
    expect(await session()).toContain('anchored audit checkpoint is missing from the store');
    expect((await verified()).broken).toEqual(broken);
  });
});

describe('the export of the audit log', () => {
  let service: Service;
  beforeAll(async () => {
    service = await startService();
    await service.call('POST', '/users', { body: { username: 'ada' } });
  });
  afterAll(() => service.stop());
  const rest = () => openRest({ url: service.url, key: service.developmentKey });

  test('events of OCSF are posted to an address', async () => {
    const bodies: string[] = [];
    const server = createHttp(async (request, response) => {
      for await (const chunk of request) bodies.push(String(chunk));
      response.end();
    });
    await once(server.listen(0, '127.0.0.1'), 'listening');
    await using from = await rest();
    const to = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
    expect(await exportAudit(from, { format: 'ocsf', to, filters: {} })).toBe(0);
    const [event] = bodies
      .join('')
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
    expect(event).toMatchObject({
      class_uid: 6003,
      type_uid: 600_301,
      activity_id: 1,
      status_id: 1,
      api: { operation: 'createUser' },
    });
    server.close();
  });

  test('messages of syslog carry their length', async () => {
    const chunks: Buffer[] = [];
    const server = createServer((socket) => socket.on('data', (chunk) => chunks.push(chunk)));
    await once(server.listen(0, '127.0.0.1'), 'listening');
    await using from = await rest();
    const to = `syslog://127.0.0.1:${(server.address() as AddressInfo).port}`;
    expect(await exportAudit(from, { format: 'jsonl', to, filters: {} })).toBe(0);
    const text = Buffer.concat(chunks).toString();
    const length = Number(text.split(' ', 1)[0]);
    const message = Buffer.from(text.slice(String(length).length + 1));
    expect(message.subarray(0, length).toString()).toMatch(/^<109>1 \S+ \S+ gatehouse \d+ audit - \{.*\}$/);
    server.close();
  });
});
