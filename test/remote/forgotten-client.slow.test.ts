import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { DAY, HOUR, SECOND } from '../../src/lib/clock.ts';
import { asObject, valueAt } from '../../src/lib/json.ts';
import { startAuthorizationServer, type AuthorizationServer } from '../support/authorization-server.ts';
import { createBrowser } from '../support/browser.ts';
import { manualClock } from '../support/clock.ts';
import { startPlainRemote, json, type PlainRemote } from '../support/plain-remote.ts';
import { startService, type Service } from '../support/service.ts';

const clock = manualClock();
let service: Service;
let remote: PlainRemote;
let issuer: AuthorizationServer;
let userId: string;
let added = 0;
let connectorId: string;
beforeAll(async () => {
  issuer = await startAuthorizationServer('ada');
  issuer.isStrict = true;
  remote = await startPlainRemote(({ req, res }) => {
    if (req.url?.startsWith('/.well-known/oauth-protected-resource')) {
      json(res, { resource: remote.url, authorization_servers: [issuer.issuer] });
      return true;
    }
    if (req.headers.authorization?.startsWith('Bearer ey')) return false;
    const own = `${remote.origin}/.well-known/oauth-protected-resource/mcp`;
    res.writeHead(401, { 'www-authenticate': `Bearer resource_metadata="${own}"` }).end('{}');
    return true;
  });
  service = await startService({ clock });
});
afterAll(async () => {
  await service.stop();
  await issuer[Symbol.asyncDispose]();
  await remote[Symbol.asyncDispose]();
});
beforeEach(async () => {
  connectorId = `signed${++added}`;
  issuer.secretSeconds = undefined;
  const user = await service.call('POST', '/users', { body: { username: connectorId } });
  userId = user.text('userId');
});

const mcp = () => ({ mcp: { connectorId, url: remote.url, authentication: { type: 'oauth2' } } });
const add = () => service.call('POST', '/api/connectors', { body: mcp() });
const clientId = async () =>
  (await service.call('GET', `/api/connectors/${connectorId}/oauth-app`)).text('clientId');
const accountsOf = async () => {
  const path = `/users/${userId}/credentials?connectorId=${connectorId}`;
  const listed = await service.call('GET', path, { headers: { 'x-svc-userid': userId } });
  const accounts = [listed.at('data')].flat().map(asObject);
  return accounts.toSorted((a, b) => (String(a['createdAt']) < String(b['createdAt']) ? 1 : -1));
};
/** Runs an action with the newest account, because each sign-in makes another one. */
const run = async () => {
  const [newest] = await accountsOf();
  return service.call('POST', `/connectors/${connectorId}/actions/echo/execute`, {
    headers: { 'x-svc-userid': userId },
    body: { input: {}, ...(newest ? { credentialId: newest['credentialId'] } : {}) },
  });
};
const account = async () => (await accountsOf())[0];
/** Signs the user in as a browser does. Returns the client that the person saw, and where the person arrived. */
async function signIn(): Promise<{ client: string | null; end: string }> {
  const wish = { body: { connectors: [connectorId] } };
  const link = (await service.call('POST', `/users/${userId}/connect-sessions`, wish)).text('url');
  const browser = createBrowser();
  const opened = await browser.request(`${link}/open`, {});
  const session = `${service.url}/connect/sessions/${String(valueAt(opened.body, 'sessionId'))}`;
  const asked = await browser.request(`${session}/authorize`, { connectorId, type: 'oauth2', data: {} });
  const consent = new URL(String(valueAt(asked.body, 'authorizationUrl')));
  await browser.open(consent.href);
  const shown = await browser.request(session);
  return {
    client: consent.searchParams.get('client_id'),
    end: String(valueAt(shown.body, 'status')),
  };
}
const signInWorks = async () => {
  const { client } = await signIn();
  expect(client).toBe(await clientId());
  await expect
    .poll(async () => {
      // A pending connector is read every two seconds.
      clock.advance(3 * SECOND);
      return (await run()).status;
    })
    .toBe(200);
};

test('a client that the server forgot is registered again at the next sign-in', async () => {
  await add();
  await signInWorks();
  const before = await clientId();
  clock.advance(365 * DAY);
  issuer.clients.clear();
  await signInWorks();
  expect(await clientId()).not.toBe(before);
});

test('a sign-in that ended at an error page is followed by one that works', async () => {
  await add();
  await signInWorks();
  issuer.clients.clear();
  const { client } = await signIn();
  expect(issuer.clients.has(client ?? '')).toBe(false);
  await signInWorks();
});

test('a client whose secret ends is registered again before that', async () => {
  issuer.secretSeconds = () => Math.floor((clock.now() + 90 * DAY) / 1000);
  await add();
  await signInWorks();
  const before = await clientId();
  clock.advance(10 * DAY);
  await signInWorks();
  expect(await clientId()).toBe(before);
  clock.advance(365 * DAY);
  await signInWorks();
  expect(await clientId()).not.toBe(before);
});

test('an account whose client was forgotten is connected again', async () => {
  await add();
  await signInWorks();
  issuer.clients.clear();
  clock.advance(HOUR);
  const refused = await run();
  expect([refused.status, refused.text('code'), refused.text('error')]).toEqual([
    409,
    'credential_invalid',
    expect.stringContaining('Connect the account again.'),
  ]);
  expect(await account()).toMatchObject({ state: 'needs_reconnect' });
  expect(issuer.clients.has(await clientId())).toBe(true);
  await signInWorks();
  expect(await account()).toMatchObject({ state: 'active' });
});

test('a client that works is kept by sign-ins, reimports and changes', async () => {
  await add();
  await signInWorks();
  const before = await clientId();
  clock.advance(HOUR);
  await signInWorks();
  await service.call('POST', `/api/connectors/${connectorId}/reimport`);
  expect((await service.call('PUT', `/api/connectors/${connectorId}`, { body: mcp() })).status).toBe(200);
  expect(await clientId()).toBe(before);
  await signInWorks();
});

test.each(['reimport', 'change'])('a %s of the operator registers a forgotten client again', async (way) => {
  await add();
  clock.advance(HOUR);
  issuer.clients.clear();
  const done =
    way === 'reimport'
      ? await service.call('POST', `/api/connectors/${connectorId}/reimport`)
      : await service.call('PUT', `/api/connectors/${connectorId}`, { body: mcp() });
  expect(done.status).toBe(200);
  expect(issuer.clients.has(await clientId())).toBe(true);
  await signInWorks();
});

test('sign-ins at once register a forgotten client once', async () => {
  await add();
  clock.advance(HOUR);
  issuer.clients.clear();
  const seen = await Promise.all([signIn(), signIn(), signIn()]);
  // Each registration would make another client, and other connectors of this file register too.
  expect(new Set(seen.map(({ client }) => client))).toEqual(new Set([await clientId()]));
});

test('an OAuth app of the operator is never replaced', async () => {
  await add();
  const app = { body: { clientId: 'of_the_operator', clientSecret: 'a secret of theirs' } };
  await service.call('PUT', `/api/connectors/${connectorId}/oauth-app`, app);
  clock.advance(HOUR);
  expect((await signIn()).client).toBe('of_the_operator');
  await service.call('POST', `/api/connectors/${connectorId}/reimport`);
  await service.call('PUT', `/api/connectors/${connectorId}`, { body: mcp() });
  expect(await clientId()).toBe('of_the_operator');
});
