import { HOUR, MINUTE } from '../../src/lib/clock.ts';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startAuthorizationServer, type AuthorizationServer } from '../support/authorization-server.ts';
import { rpc, shop } from '../support/mcp.ts';
import { until } from '../support/until.ts';
import { modernHeaders, modernParams } from '../support/modern.ts';
import { polled, pollsIn, recordReads } from '../support/polls.ts';
import { startService, type Service } from '../support/service.ts';

/*
 * A listening stream ends with its rights, at about the time when a POST of the same caller is rejected. The change
 * happens at another process.
 */

let issuer: AuthorizationServer;
/** How far the clock of both processes is ahead. */
let aheadMs = 0;
const clock = { now: () => Date.now() + aheadMs };
let here: Service;
let there: Service;
beforeAll(async () => {
  issuer = await startAuthorizationServer('ada');
  here = await startService({ clock, env: environment() });
  there = await startService({
    clock,
    env: { ...environment(), GATEHOUSE_HOME: here.context.config.home },
  });
});
afterAll(async () => {
  await there.stop();
  await here.stop();
  await issuer[Symbol.asyncDispose]();
});

const environment = () => ({
  GATEHOUSE_TEST_CONNECTORS: '1',
  GATEHOUSE_JWT_ISSUERS: JSON.stringify([
    {
      issuer: issuer.issuer,
      jwksUrl: `${issuer.issuer}/jwks`,
      audience: 'ours',
      environment: 'development',
      createUsers: true,
    },
  ]),
});

/** Resolves when the body of a stream ends. */
async function endOf(response: Response): Promise<void> {
  expect([response.status, response.headers.get('content-type')]).toEqual([200, 'text/event-stream']);
  for await (const _ of response.body ?? []);
}

const ACCEPT = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' };

/**
 * Opens a session with its standing stream and a subscription of MCP 2026-07-28. Returns the end of each.
 */
async function listening(url: string, headers: Record<string, string>) {
  const opened = await rpc(
    url,
    'initialize',
    { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'test', version: '1' } },
    { headers },
  );
  expect(opened.status).toBe(200);
  const session = { 'mcp-session-id': opened.headers.get('mcp-session-id') ?? '' };
  const standing = await fetch(url, { headers: { ...headers, ...session, accept: 'text/event-stream' } });
  const subscribed = await fetch(url, {
    method: 'POST',
    headers: { ...ACCEPT, ...headers, ...modernHeaders('subscriptions/listen', {}) },
    body: JSON.stringify({
      jsonrpc: '2.0',
      id: 1,
      method: 'subscriptions/listen',
      params: modernParams({ notifications: { toolsListChanged: true } }),
    }),
  });
  return { session, ended: [endOf(standing), endOf(subscribed)] as const };
}

/** Returns the status of the first rejected POST, and the polls from then to the end of the streams. */
async function lag(url: string, headers: Record<string, string>, act: () => unknown) {
  const { ended } = await listening(url, headers);
  // Each stream is checked when it opens.
  await polled(here);
  await act();
  let status = 200;
  await until(async () => {
    ({ status } = await rpc(url, 'tools/list', {}, { headers }));
    return status !== 200;
  });
  using reads = recordReads(here);
  await Promise.all(ended);
  return { status, polls: pollsIn(reads.tables) };
}

const bearer = (token: string) => ({ authorization: `Bearer ${token}` });
/** Returns a token that is valid for a minute: half of it after its expiry, because clocks differ. */
const dying = (name = `user ${Math.random()}`) =>
  issuer.token('ours', name, `${aheadMs / 1000 + 30} seconds`);
const anHourLater = () => void (aheadMs += HOUR);

describe('the session of a stream', () => {
  test('a session is found by a newer JWT of its user after the older one expired', async () => {
    const { url } = await shop(here);
    const username = `user ${Math.random()}`;
    const { ended, session } = await listening(url, bearer(await dying(username)));
    await polled(here);
    anHourLater();
    await Promise.all(ended);
    const headers = { ...bearer(await dying(username)), ...session };
    expect((await rpc(url, 'tools/list', {}, { headers })).status).toBe(200);
    const other = { ...bearer(await dying()), ...session };
    expect((await rpc(url, 'tools/list', {}, { headers: other })).status).toBe(404);
  });

  test('a session is gone after the tokens of its user are revoked', async () => {
    const { url, userId } = await shop(here);
    const token = async () => (await here.call('GET', `/2023-12/user/${userId}/token`)).text('token');
    const { ended, session } = await listening(url, bearer(await token()));
    await change('POST', `/users/${userId}/tokens/revoke`);
    await Promise.all(ended);
    const headers = { ...bearer(await token()), ...session };
    expect((await rpc(url, 'tools/list', {}, { headers })).status).toBe(404);
  });

  test('a session keeps its standing stream after a call of it was resumed', async () => {
    const one = await shop(here, { restrictions: { connectors: { allowedIds: ['everything'] } } });
    const { accessUrl: url, serverId } = one;
    const { session, ended } = await listening(url, {});
    let over = false;
    void ended[0].then(() => (over = true));
    const called = await fetch(url, {
      method: 'POST',
      headers: { ...ACCEPT, ...session },
      body: JSON.stringify({
        jsonrpc: '2.0',
        id: 1,
        method: 'tools/call',
        params: {
          name: 'execute_action_svc',
          arguments: { connectorId: 'everything', actionId: 'test_reconnection', parameters: {} },
        },
      }),
    });
    const [, lastEventId = ''] = /^id: (.+)$/m.exec(await called.text()) ?? [];
    // The app is slow, so the server closes the stream (MCP 2025-11-25) and the client reconnects.
    const resumed = await fetch(url, {
      headers: { ...session, accept: 'text/event-stream', 'last-event-id': lastEventId },
    });
    expect(await resumed.text()).toContain('Reconnected');
    await change('PUT', `/api/servers/${serverId}`, { restrictions: {} });
    await polled(here);
    expect([over, (await rpc(url, 'ping', {}, { headers: session })).status]).toEqual([false, 200]);
    await fetch(url, { method: 'DELETE', headers: session });
  });
});

// Runs last, because it replaces the key that the other tests use.
describe('a stream ends with', () => {
  const cases: [string, number, () => Promise<Parameters<typeof lag>>][] = [
    [
      'its JWT, by the time alone',
      401,
      async () => [(await shop(here)).url, bearer(await dying()), anHourLater],
    ],
    [
      'the JWT of its user, by the time alone',
      401,
      async () => {
        const username = `user ${Math.random()}`;
        const jwt = await dying(username);
        const one = await shop(here);
        return [one.accessUrl, { 'x-svc-user-token': jwt }, anHourLater];
      },
    ],
    [
      'its access token, by the time alone',
      401,
      async () => {
        const { accessUrl, serverId } = await shop(here);
        const { db, servers } = here.context;
        await db
          .updateTable('servers')
          .set({ token_expires_at: clock.now() + MINUTE })
          .where('server_id', '=', serverId)
          .execute();
        servers.forget();
        return [accessUrl, {}, anHourLater];
      },
    ],
    [
      'the revocation of the tokens of its user',
      401,
      async () => {
        const { url, userId } = await shop(here);
        const jwt = (await here.call('GET', `/2023-12/user/${userId}/token`)).text('token');
        return [url, bearer(jwt), () => change('POST', `/users/${userId}/tokens/revoke`)];
      },
    ],
    [
      'its user',
      401,
      async () => {
        const { url, userId } = await shop(here);
        const jwt = (await here.call('GET', `/2023-12/user/${userId}/token`)).text('token');
        const other = (await shop(here)).url;
        expect(url).not.toBe(other);
        return [other, bearer(jwt), () => change('DELETE', `/users/${userId}`)];
      },
    ],
    [
      'the user of its address',
      401,
      async () => {
        const { accessUrl, userId } = await shop(here);
        return [accessUrl, {}, () => change('DELETE', `/users/${userId}`)];
      },
    ],
    [
      'its access token, when that is rotated',
      401,
      async () => {
        const { accessUrl, serverId } = await shop(here);
        return [accessUrl, {}, () => change('POST', `/api/servers/${serverId}/token`)];
      },
    ],
    [
      'its server, when that is switched off',
      403,
      async () => {
        const { accessUrl, serverId } = await shop(here);
        return [accessUrl, {}, () => change('PUT', `/api/servers/${serverId}`, { enabled: false })];
      },
    ],
    [
      'its named API key, when that is revoked',
      401,
      async () => {
        const { url, userId } = await shop(here);
        const made = await here.call('POST', '/api/keys', { body: { name: 'stream', scopes: ['mcp:use'] } });
        const headers = { ...bearer(made.text('key')), 'x-svc-userid': userId };
        return [url, headers, () => change('DELETE', `/api/keys/${made.text('keyId')}`)];
      },
    ],
    [
      'its API key, when that is rotated',
      401,
      async () => {
        const { url, userId } = await shop(here);
        const headers = { ...bearer(here.developmentKey), 'x-svc-userid': userId };
        return [url, headers, () => change('POST', '/api/keys/rotate')];
      },
    ],
  ];

  test.each(cases)(
    'a stream ends with %s, at about the time of the first rejection',
    async (_name, expected, prepare) => {
      const { status, polls } = await lag(...(await prepare()));
      expect(status).toBe(expected);
      // A check may be under way at a rejection, and the connection ends after the next one.
      expect(polls).toBeLessThanOrEqual(3);
    },
  );
});

async function change(method: string, path: string, body?: unknown) {
  const answer = await there.call(method, path, {
    bearer: here.developmentKey,
    ...(body === undefined ? {} : { body }),
  });
  expect(`${method} ${path} ${answer.status}`).toMatch(/ 20\d$/);
}
