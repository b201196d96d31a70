import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { HOUR, SECOND } from '../../src/lib/clock.ts';
import { manualClock } from '../support/clock.ts';
import { startService, type Service } from '../support/service.ts';
import { STORE_KINDS } from '../support/stores.ts';

const PAGE: Record<string, string> = { 'x-gatehouse-console': 'person' };

/** Signs in as the page does. Returns the answer and the cookie of later requests. */
async function signIn(service: Service, apiKey: string, headers: Record<string, string> = PAGE) {
  const answer = await service.call('POST', '/console/session', { bearer: null, headers, body: { apiKey } });
  const [cookie = ''] = (answer.headers.get('set-cookie') ?? '').split(';');
  return { answer, cookie };
}

const get = (service: Service, path: string, headers: Record<string, string>) =>
  service.call('GET', path, { bearer: null, headers });

describe.each(STORE_KINDS)('sessions of the console on %s', (kind) => {
  const clock = manualClock();
  let service: Service;
  beforeAll(async () => {
    service = await startService({ kind, clock });
  });
  afterAll(() => service.stop());
  const statusWith = async (cookie: string, headers = PAGE) =>
    (await get(service, '/api/servers', { cookie, ...headers })).status;

  test('a sign-in gives a cookie that scripts cannot read, and the store has no token', async () => {
    const { answer, cookie } = await signIn(service, service.developmentKey);
    expect(answer.status).toBe(201);
    expect(answer.body).toMatchObject({ environment: 'development', name: 'development' });
    expect(answer.headers.get('set-cookie')).toMatch(/; HttpOnly; SameSite=Strict$/);
    expect(await statusWith(cookie)).toBe(200);
    const rows = await service.context.db.selectFrom('console_sessions').selectAll().execute();
    expect(JSON.stringify(rows)).not.toContain(cookie.split('=')[1]);
    const audit = await service.call('GET', '/api/audit');
    expect(JSON.stringify(audit.body)).toContain('"operation":"signInToConsole"');
  });

  test('the cookie counts only for the page itself', async () => {
    const { cookie } = await signIn(service, service.developmentKey);
    expect((await get(service, '/api/servers', { cookie })).status).toBe(401);
    expect(await statusWith(cookie, { ...PAGE, 'sec-fetch-site': 'cross-site' })).toBe(403);
    expect(await statusWith(cookie, { ...PAGE, origin: 'https://evil.example' })).toBe(403);
    expect(await statusWith(cookie, { ...PAGE, origin: service.url })).toBe(200);
    const signIns = await Promise.all(
      [{}, { ...PAGE, 'sec-fetch-site': 'same-site' }].map((headers) =>
        signIn(service, service.developmentKey, headers),
      ),
    );
    expect(signIns.map(({ answer }) => answer.status)).toEqual([403, 403]);
  });

  test('MCP takes no cookie', async () => {
    const { cookie } = await signIn(service, service.developmentKey);
    const made = await service.call('POST', '/api/servers', { body: { name: `mcp ${kind}` } });
    const answer = await service.call('POST', `/mcp/${made.text('serverId')}`, {
      bearer: null,
      headers: { cookie, ...PAGE },
      body: { jsonrpc: '2.0', id: 1, method: 'tools/list' },
    });
    expect(answer.status).toBe(401);
  });

  test('a session has the scopes of its named key and ends with it', async () => {
    const body = { name: `console ${kind}`, scopes: ['servers:read'] };
    const made = await service.call('POST', '/api/keys', { body });
    const { cookie } = await signIn(service, made.text('key'));
    expect(await statusWith(cookie)).toBe(200);
    const refused = await get(service, '/api/executions', { cookie, ...PAGE });
    expect([refused.status, refused.at('details.scope')]).toEqual([403, 'executions:read']);
    await service.call('DELETE', `/api/keys/${made.text('keyId')}`);
    expect(await statusWith(cookie)).toBe(401);
  });

  test('a rotation ends the sessions of the earlier secret', async () => {
    const made = await service.call('POST', '/api/keys', {
      body: { name: `rotated ${kind}`, scopes: ['servers:read'] },
    });
    const { cookie } = await signIn(service, made.text('key'));
    await service.call('POST', `/api/keys/${made.text('keyId')}/rotate`, { body: {} });
    expect(await statusWith(cookie)).toBe(401);
  });

  test('a session ends after two hours without a person, and after twelve hours', async () => {
    const { cookie } = await signIn(service, service.developmentKey);
    for (let hour = 0; hour < 11; hour += 1) {
      clock.advance(HOUR);
      expect(await statusWith(cookie)).toBe(200);
    }
    clock.advance(HOUR + SECOND);
    expect(await statusWith(cookie)).toBe(401);
    const idle = await signIn(service, service.developmentKey);
    clock.advance(HOUR);
    expect(await statusWith(idle.cookie, { 'x-gatehouse-console': 'background' })).toBe(200);
    clock.advance(HOUR + SECOND);
    expect(await statusWith(idle.cookie)).toBe(401);
  });

  test('a sign-out ends the session and removes the cookie', async () => {
    const { cookie } = await signIn(service, service.developmentKey);
    const headers = { cookie, ...PAGE };
    expect((await get(service, '/console/session', headers)).at('session.environment')).toBe('development');
    const out = await service.call('DELETE', '/console/session', { bearer: null, headers });
    expect(out.headers.get('set-cookie')).toContain('Max-Age=0');
    expect(await statusWith(cookie)).toBe(401);
    expect((await get(service, '/console/session', headers)).at('session')).toBeNull();
  });

  test('the summary counts calls by hour and outcome', async () => {
    const { db } = service.context;
    const row = {
      environment: 'development' as const,
      request_id: 'r',
      caller: 'cli',
      server_id: null,
      user_id: null,
      connector_id: 'sandbox',
      action_id: 'list_orders',
      credential_id: null,
      rule: null,
      error_code: null,
      upstream_status: null,
    };
    const now = clock.now();
    const calls = [
      { outcome: 'succeeded' as const, duration_ms: 40, at: now },
      { outcome: 'failed' as const, duration_ms: 4000, at: now },
      { outcome: 'denied' as const, duration_ms: 0, at: now - HOUR },
    ];
    for (const [index, call] of calls.entries())
      await db
        .insertInto('executions')
        .values({ ...row, ...call, execution_id: `exe_000000000000000000000${index}` })
        .execute();
    const answer = await service.call('GET', '/api/executions/summary?hours=2');
    expect(answer.body).toMatchObject({
      total: { succeeded: 1, failed: 1, denied: 1 },
      hours: [
        { denied: 1, p50Ms: null },
        { succeeded: 1, failed: 1, denied: 0 },
      ],
    });
    expect(answer.at('total.p50Ms')).toBeLessThanOrEqual(50);
    expect(answer.at('total.p95Ms')).toBeGreaterThan(2000);
    const later = await service.call('GET', '/api/executions/summary?hours=1', {
      bearer: service.productionKey,
    });
    expect(later.body).toMatchObject({ total: { succeeded: 0, failed: 0 } });
  });
});

describe('the page of the console', () => {
  test('the page of the console allows no inline script and no other host', async () => {
    await using service = await startService();
    const [one, two] = await Promise.all(
      ['/console', '/console/executions/exe_1'].map((path) => fetch(service.url + path)),
    );
    const policies = [one, two].map((page) => page?.headers.get('content-security-policy') ?? '');
    for (const policy of policies) {
      expect(policy).toContain("default-src 'none'; script-src 'self'; style-src 'self' 'nonce-");
      expect(policy).toContain("frame-ancestors 'none'");
      expect(policy).not.toMatch(/unsafe|https?:/);
    }
    expect(policies[0]).not.toBe(policies[1]);
    expect(await one?.text()).not.toMatch(/<script(?![^>]* src=)|https?:\/\//);
    expect((await fetch(`${service.url}/console/assets/absent.js`)).status).toBe(404);
  });

  test('a stream names what changed, and ends at the stop', async () => {
    const service = await startService();
    const { cookie } = await signIn(service, service.developmentKey);
    const stream = await fetch(`${service.url}/console/live`, { headers: { cookie, ...PAGE } });
    const events = stream.body?.pipeThrough(new TextDecoderStream()).getReader();
    let text = '';
    const readUntil = async (wanted: string) => {
      while (!text.includes(wanted)) {
        const part = await events?.read();
        if (!part || part.done) return;
        text += part.value;
      }
    };
    await readUntil('event: ready');
    await service.call('POST', '/api/servers', { body: { name: 'changed' } });
    await service.call('PUT', '/api/settings', { body: {} });
    await readUntil('"administration"');
    expect(text).toMatch(/event: changed\ndata: \{"topics":\[.*"administration"/);
    await service.stop();
    await readUntil('never sent');
    expect((await events?.read())?.done).toBe(true);
  });

  test('GATEHOUSE_CONSOLE=off removes page, sign-in and cookies', async () => {
    await using service = await startService({ env: { GATEHOUSE_CONSOLE: 'off' } });
    const { answer } = await signIn(service, service.developmentKey);
    expect(answer.status).toBe(404);
    expect((await fetch(`${service.url}/console`)).status).toBe(404);
  });

  test('the cookie of the console is Secure and bound to the host under https', async () => {
    await using service = await startService({ env: { GATEHOUSE_PUBLIC_URL: 'https://gate.example' } });
    const { answer } = await signIn(service, service.developmentKey);
    expect(answer.headers.get('set-cookie')).toMatch(
      /^__Host-gatehouse-console=\w{43}; Path=\/; Max-Age=\d+; HttpOnly; SameSite=Strict; Secure$/,
    );
  });
});
