import { sql } from 'kysely';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { DAY } from '../../src/lib/clock.ts';
import { manual, message, startWorkflows, type WorkflowService } from '../support/workflows.ts';

let service: WorkflowService;
let other: { userId: string; credentialId: string };
beforeAll(async () => {
  service = await startWorkflows();
  other = await service.newUser('mallory');
});
afterAll(() => service.stop());

const fields = {
  properties: {
    to: { type: 'string', format: 'email' },
    key: { type: 'string', writeOnly: true },
    tone: { enum: ['warm', 'cool'], default: 'warm' },
  },
  required: ['to'],
};
const definition = manual([message('a', '=config.tone')], { configurableFields: fields });
const install = (workflowId: string, body: object, userId = service.userId) =>
  service.call('POST', `/workflows/${workflowId}/install?userId=${userId}`, { body });
const connectAnother = (userId: string) =>
  service.call('POST', `/users/${userId}/credentials`, {
    headers: { 'x-svc-userid': userId },
    body: { connectorId: 'sandbox', type: 'api_key', data: { apiKey: 'sandbox_another' } },
  });

describe('an installation', () => {
  test('an installation fills in defaults, chooses its account, and masks secrets', async () => {
    const workflowId = await service.define(definition);
    const made = await install(workflowId, { config: { to: 'a@example.com', key: 'canary-7731' } });
    expect(made.status).toBe(201);
    expect(made.body).toMatchObject({
      version: 1,
      enabled: true,
      config: { to: 'a@example.com', key: '[secret]', tone: 'warm' },
      credentials: { sandbox: service.credentialId },
      trigger: { type: 'manual' },
    });
    const row = await service.context.db
      .selectFrom('workflow_installations')
      .selectAll()
      .where('workflow_id', '=', workflowId)
      .executeTakeFirstOrThrow();
    expect(JSON.stringify(row)).not.toContain('canary');
    const changed = await service.call('PUT', `/workflows/${workflowId}/install?userId=${service.userId}`, {
      body: { config: { to: 'b@example.com', key: '[secret]', tone: 'cool' } },
    });
    expect(changed.at('config')).toEqual({ to: 'b@example.com', key: '[secret]', tone: 'cool' });
    const { openConfig } = await import('../../src/workflows/begin.ts');
    const after = await service.context.db
      .selectFrom('workflow_installations')
      .selectAll()
      .where('workflow_id', '=', workflowId)
      .executeTakeFirstOrThrow();
    expect(openConfig(service.context, after)).toMatchObject({ key: 'canary-7731' });
  });

  test('an installation masks a field with a secret part', async () => {
    const workflowId = await service.define(
      manual([message('a', '="to " & config.server.key')], {
        configurableFields: {
          properties: {
            server: {
              type: 'object',
              properties: { host: { type: 'string' }, key: { type: 'string', format: 'password' } },
            },
          },
        },
      }),
    );
    const made = await install(workflowId, { config: { server: { host: 'h', key: 'canary-4410' } } });
    expect(made.at('config')).toEqual({ server: '[secret]' });
    const run = await service.run(workflowId);
    expect(run.at('status')).toBe('succeeded');
    expect(JSON.stringify(run.body)).not.toContain('canary-4410');
  });

  test.each<[string, object, string]>([
    ['a field is missing', {}, 'config.to'],
    ['a field has the wrong format', { to: 'nobody' }, 'config.to'],
    ['a field is not among the choices', { to: 'a@example.com', tone: 'loud' }, 'config.tone'],
    ['a field is not known', { to: 'a@example.com', size: 3 }, 'config.size'],
  ])('an installation is refused when %s', async (_, config, field) => {
    const workflowId = await service.define(definition);
    const answer = await install(workflowId, { config });
    expect([answer.status, answer.at('details.faults.0.field')]).toEqual([400, field]);
  });

  test('an installation rejects credentials of other users and of unused connectors', async () => {
    const workflowId = await service.define(manual([message('a', 'x')]));
    const foreign = await install(workflowId, { credentials: { sandbox: other.credentialId } });
    expect([foreign.status, foreign.at('code')]).toEqual([404, 'credential_not_found']);
    const useless = await install(workflowId, { credentials: { slack: service.credentialId } });
    expect([useless.status, useless.at('details.faults.0.field')]).toEqual([400, 'credentials.slack']);
  });

  test('an installation with several accounts names the member that chooses one', async () => {
    const { userId, credentialId } = await service.newUser('several');
    await connectAnother(userId);
    const workflowId = await service.define(manual([message('a', 'x')]));
    const ambiguous = {
      code: 'credential_ambiguous',
      error:
        'This user has 2 active credentials for Sandbox. Choose one with credentials: {"sandbox": "<credentialId>"}.',
    };
    expect((await install(workflowId, {}, userId)).body).toMatchObject(ambiguous);
    const version = `/workflows/${workflowId}/versions/1/try?userId=${userId}`;
    expect((await service.call('POST', version, { body: {} })).body).toMatchObject(ambiguous);
    const chosen = await install(workflowId, { credentials: { sandbox: credentialId } }, userId);
    expect(chosen.at('credentials')).toEqual({ sandbox: credentialId });
  });

  test('a refused upgrade names the request that chooses one of several accounts', async () => {
    const { userId, credentialId } = await service.newUser('upgraded');
    await connectAnother(userId);
    const workflowId = await service.define(manual([{ stepId: 'a', map: '1' }]));
    await install(workflowId, {}, userId);
    await service.publish(workflowId, manual([message('a', 'x')]));
    const upgrade = () => service.call('PUT', `/workflows/${workflowId}/upgrade?userId=${userId}`);
    const refused = await upgrade();
    expect(refused.at('error')).toBe(
      `This user has 2 active credentials for Sandbox. Choose one with PUT /users/${userId}/credentials/{credentialId} {"default": true}.`,
    );
    await service.call('PUT', `/users/${userId}/credentials/${credentialId}`, {
      headers: { 'x-svc-userid': userId },
      body: { default: true },
    });
    expect((await upgrade()).at('upgraded')).toBe(true);
  });

  test('an installation rejected without an account of its app returns a connect link', async () => {
    const workflowId = await service.define(manual([message('a', 'x')]));
    const userId = (await service.call('POST', '/users', { body: { username: 'empty' } })).text('userId');
    const answer = await install(workflowId, {}, userId);
    expect([answer.status, answer.at('code')]).toEqual([409, 'credential_required']);
    expect(answer.text('details.connectUrl')).toContain('/connect/s/');
  });

  test('an installation needs a published version, is unique, and needs a known user', async () => {
    const draft = await service.call('POST', '/workflows', {
      body: { name: 'a draft', definition: manual([message('a', 'x')]), draft: true },
    });
    const early = await install(draft.text('workflowId'), {});
    expect([early.status, early.at('code')]).toEqual([404, 'workflow_version_not_found']);
    const workflowId = await service.define(manual([message('a', 'x')]));
    expect((await install(workflowId, {})).status).toBe(201);
    const twice = await install(workflowId, {});
    expect([twice.status, twice.at('code')]).toEqual([409, 'installation_exists']);
    const nobody = await install(workflowId, {}, 'usr_0000000000000000000000');
    expect([nobody.status, nobody.at('code')]).toEqual([404, 'user_not_found']);
  });

  test('an installation that is disabled starts nothing and can be enabled again', async () => {
    const workflowId = await service.define(manual([message('a', 'x')]));
    await install(workflowId, {});
    const path = `/workflows/${workflowId}/install?userId=${service.userId}`;
    expect((await service.call('PUT', path, { body: { enabled: false } })).at('enabled')).toBe(false);
    const run = await service.call('POST', `/workflows/${workflowId}/run?userId=${service.userId}`);
    expect([run.status, run.at('code')]).toEqual([409, 'installation_disabled']);
    await service.call('PUT', path, { body: { enabled: true } });
    expect((await service.run(workflowId)).at('status')).toBe('succeeded');
  });

  test('an installation that is removed cancels its runs and keeps their log', async () => {
    const workflowId = await service.define(manual([{ stepId: 'long', wait: 'P1D' }]));
    await install(workflowId, {});
    const started = await service.call('POST', `/workflows/${workflowId}/run?userId=${service.userId}`);
    await service.ended(workflowId, started.text('runId'), ['waiting']);
    const gone = await service.call('DELETE', `/workflows/${workflowId}/install?userId=${service.userId}`);
    expect(gone.status).toBe(200);
    const run = await service.ended(workflowId, started.text('runId'));
    expect([run.at('status'), run.at('installationId')]).toEqual(['cancelled', null]);
    expect((await install(workflowId, {})).status).toBe(201);
  });

  test('an installation is accessible by the JWT of its user only', async () => {
    const workflowId = await service.define(manual([message('a', 'x')]));
    const bearer = (await service.call('GET', `/2023-12/user/${service.userId}/token`)).text('token');
    const form = await service.call('GET', `/workflows/${workflowId}/install`, { bearer });
    expect(form.at('connectors')).toMatchObject([
      { connectorId: 'sandbox', credentials: [{ credentialId: service.credentialId }] },
    ]);
    const own = await service.call('POST', `/workflows/${workflowId}/install`, { bearer, body: {} });
    expect(own.at('userId')).toBe(service.userId);
    const foreign = await service.call('POST', `/workflows/${workflowId}/install?userId=${other.userId}`, {
      bearer,
      body: {},
    });
    expect(foreign.status).toBe(403);
    await install(workflowId, {}, other.userId);
    const run = await service.run(workflowId, undefined, other.userId);
    const peek = await service.call('GET', `/workflows/${workflowId}/runs/${run.text('runId')}`, { bearer });
    expect([peek.status, peek.at('code')]).toEqual([404, 'run_not_found']);
  });
});

describe('a call trigger', () => {
  const onCall = {
    trigger: { type: 'call' },
    steps: [{ stepId: 'echo', map: 'trigger.body.n & " " & trigger.query.from' }],
  };
  const post = (url: string, body: string, headers: Record<string, string> = {}) =>
    fetch(url, { method: 'POST', body, headers: { 'content-type': 'application/json', ...headers } });

  test('a call trigger starts a run with the request, once for each key', async () => {
    const workflowId = await service.define(onCall);
    const url = (await install(workflowId, {})).text('hookUrl');
    const key = { 'idempotency-key': 'one' };
    const first = await post(`${url}?from=shop`, '{"n": 7}', key);
    expect(first.status).toBe(202);
    const { runId } = JSON.parse(await first.text());
    expect(await (await post(`${url}?from=shop`, '{"n": 7}', key)).json()).toEqual({ runId });
    expect((await service.ended(workflowId, runId)).at('steps.0.output.data')).toBe('7 shop');
    const form = await post(`${url}?from=form`, 'n=9', {
      'content-type': 'application/x-www-form-urlencoded',
    });
    const { runId: ofForm } = JSON.parse(await form.text());
    expect((await service.ended(workflowId, ofForm)).at('steps.0.output.data')).toBe('9 form');
    expect((await post(url, '{"n": ')).status).toBe(400);
    const runs = await service.call('GET', `/workflows/${workflowId}/runs`);
    expect(runs.at('data')).toHaveLength(2);
  });

  test('a call trigger is rate limited when too many runs are queued', async () => {
    const workflowId = await service.define(onCall);
    const url = (await install(workflowId, {})).text('hookUrl');
    await post(url, '{}');
    const { db, clock } = service.context;
    const row = await db
      .selectFrom('workflow_runs')
      .selectAll()
      .where('workflow_id', '=', workflowId)
      .executeTakeFirstOrThrow();
    const later = clock.now() + DAY;
    for (let n = 0; n < 100; n++) {
      const rows = Array.from({ length: 100 }, (_, m) => ({
        ...row,
        run_id: `run_${String(n * 100 + m).padStart(22, '0')}`,
        status: 'queued' as const,
        next_at: later,
      }));
      await db.insertInto('workflow_runs').values(rows).execute();
    }
    const refused = await post(url, '{}');
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([429, '60']);
    const byHand = await service.call('POST', `/workflows/${workflowId}/run?userId=${service.userId}`);
    expect(byHand.at('code')).toBe('rate_limited');
  });

  test('a call trigger has an address that can be rotated', async () => {
    const workflowId = await service.define(onCall);
    const old = (await install(workflowId, {})).text('hookUrl');
    const rotated = await service.call(
      'POST',
      `/workflows/${workflowId}/install/rotate-token?userId=${service.userId}`,
    );
    expect((await post(old, '{}')).status).toBe(404);
    expect((await post(rotated.text('hookUrl'), '{}')).status).toBe(202);
    const unknown = await post(`${service.url}/hooks/workflows/${'0'.repeat(43)}`, '{}');
    expect([unknown.status, await unknown.json()]).toMatchObject([404, { code: 'not_found' }]);
  });
});

test('the state of a source is deleted before its account', async () => {
  const { context } = service;
  const { db } = context;
  const { userId, credentialId } = await service.newUser('eve');
  const workflowId = await service.define({
    trigger: { type: 'event', connectorId: 'sandbox', scope: 'commerce/orders' },
    steps: [message('a', 'x')],
  });
  await service.install(workflowId, {}, userId);
  const { source_id: sourceId } = await db
    .selectFrom('sources')
    .select('source_id')
    .where('credential_id', '=', credentialId)
    .executeTakeFirstOrThrow();
  await db
    .insertInto('seen')
    .values({ source_id: sourceId, key: 'c:o1', seen_at: context.clock.now() })
    .execute();
  await sql`create trigger whole before delete on credentials
    when exists (select 1 from sources where credential_id = old.credential_id)
    begin select raise(abort, 'not emptied'); end`.execute(db);
  const deleted = await service.call('DELETE', `/users/${userId}/credentials/${credentialId}`, {
    headers: { 'x-svc-userid': userId },
  });
  await sql`drop trigger whole`.execute(db);
  expect(deleted.status).toBe(200);
  const left = db.selectFrom('workflow_installations').select('source_id').where('user_id', '=', userId);
  expect(await left.execute()).toEqual([{ source_id: null }]);
});
