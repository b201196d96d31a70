import { readdirSync, readFileSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { valueAt } from '../../src/lib/json.ts';
import { openValues } from '../../src/credentials/sealed-values.ts';
import { toCredential } from '../../src/credentials/credential.ts';
import { createBrowser, type Browser } from '../support/browser.ts';
import { startConsents, type Consents } from '../support/consents.ts';
import { rpc } from '../support/mcp.ts';
import { CLIENT } from '../support/token-server.ts';

/**
 * Runs every secret of a life with accounts past every output: apps that repeat their requests, answers, refusals,
 * MCP tools, the log, and the files of the store. No secret may appear in any of them.
 */
let all: Consents;
/** Secrets that must not appear in any output, by name. */
const secrets = new Map<string, string>();
/** Every answer, except the one answer that exists to return a secret. */
const told: string[] = [];
/** Every answer to agents. */
const toldToAgents: string[] = [];

beforeAll(async () => {
  all = await startConsents();
  secrets.set('client secret', CLIENT.clientSecret);
  secrets.set('API key of Gatehouse', all.service.developmentKey);
});
afterAll(() => all[Symbol.asyncDispose]());

const tell = (answer: { status: number; headers?: Headers; body: unknown }) => {
  told.push(JSON.stringify([answer.status, [...(answer.headers ?? [])], answer.body]));
  return answer;
};
const call: Consents['call'] = async (method, path, body) => {
  const answer = await all.call(method, path, body);
  tell(answer);
  return answer;
};
const ask = async (browser: Browser, path: string, body?: object) =>
  tell(await browser.request(all.service.url + path, body));
/** Records the credential's current values as secrets. */
const noteValues = async (what: string) => {
  const rows = await all.service.context.db.selectFrom('credentials').selectAll().execute();
  for (const row of rows) {
    for (const [name, value] of Object.entries(openValues(all.service.context, toCredential(row))))
      secrets.set(`${what}: ${name} of ${row.connector_id} ${row.credential_id}`, value);
  }
};
/** Begins a consent; its link, state and cookie are secrets from then on. */
const begin = async (what: string, connectorId?: string) => {
  const made = await all.begin(connectorId);
  secrets.set(`${what}: state`, made.state);
  secrets.set(`${what}: cookie`, made.browser.cookies(all.service.url).split('=')[1] ?? '');
  return made;
};
const back = async (
  what: string,
  browser: Browser,
  params: Record<string, string>,
  connectorId = 'oauthy',
) => {
  if (params['code'] !== undefined) secrets.set(`${what}: code`, params['code']);
  const address = `${all.service.url}/oauth/callback/${connectorId}?${new URLSearchParams(params)}`;
  const page = await browser.open(address, { stay: true });
  told.push(JSON.stringify([page.status, [...page.headers], page.html]));
  return page;
};
/** An app that repeats the request in every place of a refusal. */
const echo =
  (status: number, error: string) =>
  ({ text, headers, params }: { text: string; headers: object; params: URLSearchParams }) => ({
    status,
    text: JSON.stringify({
      error,
      error_description: `${[...params.values()].join(' ')}`,
      message: text,
      error_uri: `https://app.example.com/?${text}`,
      sent: headers,
    }),
  });
/** Ends the tokens and the pause between renewals. */
const expire = async () => {
  const { db } = all.service.context;
  const ended = { expires_at: 1, renew_at: 1, refresh_after: null, lease_until: null };
  await db.updateTable('credentials').set(ended).execute();
  all.service.context.credentialMemory.forgetChoices();
};
const run = (input: object = {}) => call('POST', '/connectors/oauthy/actions/get_me/execute', { input });

describe('secrets go in', () => {
  test('secrets go in by an OAuth app, right and wrong', async () => {
    await call('PUT', '/api/connectors/oauthy/oauth-app', CLIENT);
    secrets.set('refused client secret', 'cs_canary_refused_0001');
    await call('PUT', '/api/connectors/oauthy/oauth-app', {
      clientId: 'x',
      clientSecret: 'cs_canary_refused_0001\n',
      secret: 'cs_canary_refused_0001',
      scopes: ['cs canary'],
    });
    expect((await call('GET', '/api/connectors/oauthy/oauth-app')).at('hasSecret')).toBe(true);
  });

  test('secrets go in by consents: completed, refused at two places, failed', async () => {
    const { party } = all;
    const good = await begin('good');
    await back('good', good.browser, { code: 'code_canary_good_000001', state: good.state });
    await back('good again', good.browser, { code: 'code_canary_good_000001', state: good.state });
    await noteValues('granted');
    const { body } = await good.browser.request(`${all.service.url}/connect/sessions/${good.sessionId}`);
    expect(valueAt(body, 'result.success')).toBe(true);

    const refused = await begin('refused');
    secrets.set('description', 'descr_canary_000001');
    await back('refused', refused.browser, {
      error: 'server_error',
      error_description: `descr_canary_000001 ${CLIENT.clientSecret}`,
      state: refused.state,
    });
    await ask(refused.browser, `/connect/sessions/${refused.sessionId}`);

    for (const [name, answer] of Object.entries({
      echoed: echo(400, 'invalid_grant'),
      echoedCode: (seen: Parameters<ReturnType<typeof echo>>[0]) =>
        echo(401, seen.params.get('code') ?? '')(seen),
      html: ({ text }: { text: string }) => ({ type: 'text/html', text: `<p>${text}` }),
      broken: ({ text }: { text: string }) => ({ text: `{"access_token": "${text}` }),
      failed: echo(500, 'server_error'),
    })) {
      party.answer = answer;
      const made = await begin(name);
      await back(name, made.browser, { code: `code_canary_${name}_000001`, state: made.state });
      await ask(made.browser, `/connect/sessions/${made.sessionId}`);
    }
    party.answer = undefined;
    const strange = await begin('strange');
    await back('strange', createBrowser(), { code: 'code_canary_strange_01', state: strange.state });
    await back('issuer', strange.browser, {
      code: 'code_canary_issuer_001',
      state: strange.state,
      iss: 'https://evil.example',
    });
    for (const { params } of party.asked) {
      for (const name of ['code_verifier', 'refresh_token', 'client_secret']) {
        const value = params.get(name);
        if (value !== null) secrets.set(`asked: ${name} ${value}`, value);
      }
    }
  });

  test('secrets go in by addresses, which every log records', async () => {
    const { party } = all;
    for (const mode of ['ok', '500', 'drop', 'crash'] as const) {
      party.mode = mode;
      const made = await begin(`queried ${mode}`, 'queried');
      const params = { code: `code_canary_queried_${mode}`, state: made.state };
      await back(`queried ${mode}`, made.browser, params, 'queried');
      party.mode = 'ok';
    }
    await noteValues('queried');
    expect(party.asked.at(-1)?.query.get('code')).toBe('code_canary_queried_crash');
    const { body } = await call('GET', `/users/${all.userId}/credentials?connectorId=queried`);
    const credentialId = String(valueAt(body, 'data.0.credentialId'));
    party.mode = '500';
    const path = `/users/${all.userId}/credentials/${credentialId}`;
    expect((await call('DELETE', path)).status).toBe(200);
    party.mode = 'ok';
    expect(party.revoked.at(-1)?.path).toMatch(/^\/rt_/);
  });

  test('secrets go in by calls, refused tokens, renewals, and a revocation', async () => {
    const { party, service } = all;
    const { db } = service.context;
    expect((await run()).status).toBe(200);
    const [row] = await db
      .selectFrom('credentials')
      .selectAll()
      .where('connector_id', '=', 'oauthy')
      .execute();
    if (!row) throw new Error('no credential');
    const { accessToken = '' } = openValues(service.context, toCredential(row));
    party.endAccess(accessToken);
    expect((await run()).status).toBe(200);
    await noteValues('renewed');

    party.answer = echo(500, 'server_error');
    await expire();
    expect((await run()).status).toBe(502);
    party.answer = echo(401, 'invalid_client');
    await expire();
    expect((await run()).status).toBe(422);
    party.answer = echo(400, 'invalid_grant');
    await expire();
    expect((await run()).status).toBe(409);
    party.answer = undefined;
    const path = `/users/${all.userId}/credentials/${row.credential_id}`;
    expect((await call('GET', path)).at('state')).toBe('revoked');
    await call('POST', `${path}/check`, {});
    party.mode = '500';
    await call('DELETE', path);
    party.mode = 'ok';
  });

  test('secrets go in by keys and imported accounts, valid and rejected', async () => {
    const { party } = all;
    const path = `/users/${all.userId}/credentials`;
    const create = (data: object, more: object = { connectorId: 'keyed' }) =>
      call('POST', path, { ...more, data });
    const { accessToken } = party.issue();
    secrets.set('key', accessToken);
    expect((await create({ token: accessToken })).status).toBe(201);
    for (const [name, status] of Object.entries({ refused: 409, long: 400, lines: 400, unknown: 400 })) {
      const key = `key_canary_${name}_000001`;
      secrets.set(`${name} key`, key);
      const token =
        { refused: key, long: key.repeat(500), lines: `${key}\n`, unknown: accessToken }[name] ?? key;
      const more = name === 'unknown' ? { other: key } : {};
      expect([name, (await create({ token, ...more })).status]).toEqual([name, status]);
      const browser = createBrowser();
      const link = await all.link({ connectors: ['keyed'] });
      secrets.set(`${name}: link`, link.split('/').at(-1) ?? '');
      const { sessionId } = await all.open(browser, link);
      const form = { connectorId: 'keyed', type: 'bearer', data: { token, ...more } };
      await ask(browser, `/connect/sessions/${sessionId}/credentials`, form);
      await ask(browser, `/connect/sessions/${sessionId}/cancel`, {});
    }
    const broken = await all.service.call('POST', path, {
      headers: { 'x-svc-userid': all.userId },
      rawBody: '{"connectorId":"keyed","data":{"token":key_canary_unquoted_1}}',
    });
    secrets.set('part of a broken body', 'key_canary');
    tell(broken);
    expect(broken.status).toBe(400);

    const live = { accessToken: 'at_canary_dead_00001', refreshToken: 'rt_canary_dead_00001' };
    for (const [name, value] of Object.entries(live)) secrets.set(`dead ${name}`, value);
    const oauth2 = { connectorId: 'oauthy', type: 'oauth2' };
    expect((await create(live, oauth2)).status).toBe(409);
    expect((await create({ ...live, expiresAt: '2020-01-01T00:00:00Z' }, oauth2)).status).toBe(409);
    const own = { clientId: 'client_of_ada', clientSecret: 'cs_canary_of_ada_00001' };
    secrets.set('client secret of a user', own.clientSecret);
    expect((await create(own, { connectorId: 'oauthy', type: 'oauth2_client_credentials' })).status).toBe(
      409,
    );
    await create({ ...party.issue(), expiresAt: new Date(Date.now() + 3_600_000).toISOString() }, oauth2);
    await noteValues('taken over');
  });

  test('secrets go in by calls of agents', async () => {
    const made = await all.call('POST', '/api/servers', { name: 'canary' });
    secrets.set('access token of a server', made.text('accessToken'));
    const tool = async (name: string, args: object) => {
      const answer = await rpc(made.text('accessUrl'), 'tools/call', { name, arguments: args });
      toldToAgents.push(JSON.stringify([[...answer.headers], answer.messages]));
      return answer;
    };
    const oauthy = { connectorId: 'oauthy', actionId: 'get_me', parameters: {} };
    expect((await tool('execute_action_svc', oauthy)).at('result.structuredContent.data.id')).toBe('acc_1');
    for (const answer of [
      echo(500, 'server_error'),
      echo(401, 'invalid_client'),
      echo(400, 'invalid_grant'),
    ]) {
      all.party.answer = answer;
      await expire();
      expect((await tool('execute_action_svc', oauthy)).at('result.isError')).toBe(true);
    }
    all.party.answer = undefined;
    await tool('execute_action_svc', { ...oauthy, connectorId: 'keyed' });
    await tool('list_credentials_svc', {});
    await tool('create_credential_svc', { connectorId: 'oauthy' });
  });

  test('secrets go in by a store whose boxes were swapped', async () => {
    const { db } = all.service.context;
    await db
      .updateTable('credentials')
      .set({ sealed: 'no box' })
      .where('connector_id', '=', 'keyed')
      .execute();
    all.service.context.credentialMemory.forgetChoices();
    const ran = await call('POST', '/connectors/keyed/actions/get_me/execute', { input: {} });
    expect(ran.status).toBe(500);
  });

  test('records, audit log, credentials and settings can be read after all secrets', async () => {
    for (const path of ['/api/executions', '/api/audit', `/users/${all.userId}/credentials`, '/api/settings'])
      expect((await call('GET', path)).status).toBe(200);
  });
});

describe('no secret comes out', () => {
  const found = (texts: string[]) => {
    const text = texts.join('\n');
    return [...secrets]
      .filter(([, secret]) => formsOf(secret).some((form) => text.includes(form)))
      .map(([what]) => what);
  };

  test('enough secrets were collected', () => {
    expect(secrets.size).toBeGreaterThan(50);
    expect([...secrets].filter(([, secret]) => secret.length < 10)).toEqual([]);
    expect(told.length).toBeGreaterThan(40);
    // The apps themselves received many of them.
    expect(
      found(all.party.asked.map(({ text, headers }) => text + JSON.stringify(headers))).length,
    ).toBeGreaterThan(15);
  });

  test('no secret comes out in answers, redirects and refusals', () => expect(found(told)).toEqual([]));
  test('no secret comes out in answers to agents', () => expect(found(toldToAgents)).toEqual([]));
  test('no secret comes out in the log', () => expect(found(all.service.logged)).toEqual([]));

  test('no secret comes out in the files of the store, including its journal', () => {
    const { database } = all.service.context.config;
    if (database.kind !== 'sqlite') throw new Error('not in files');
    const files = readdirSync(dirname(database.path)).filter((name) => name.startsWith('gatehouse.db'));
    expect(files.sort()).toEqual(['gatehouse.db', 'gatehouse.db-shm', 'gatehouse.db-wal']);
    const bytes = files.map((name) => readFileSync(join(dirname(database.path), name), 'latin1'));
    expect(statSync(`${database.path}-wal`).size).toBeGreaterThan(100_000);
    expect(bytes.join('').includes('upstream_rejected')).toBe(true);
    expect(found(bytes)).toEqual([]);
  });
});

/** Returns a secret in each form in which it may appear. */
function formsOf(secret: string): string[] {
  const bytes = Buffer.from(secret);
  const base64 = bytes.toString('base64').replace(/=+$/, '');
  return [secret, encodeURIComponent(secret), base64, bytes.toString('base64url'), bytes.toString('hex')];
}
