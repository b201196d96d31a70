import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { CATALOG_FOLDER } from '../../src/package.ts';
import { openValues } from '../../src/credentials/sealed-values.ts';
import { requireCredential } from '../../src/credentials/credential-records.ts';
import { SANDBOX_CLIENT_ID } from '../../src/lib/sandbox-names.ts';
import { valueAt } from '../../src/lib/json.ts';
import { createBrowser, type Browser } from './browser.ts';
import { manualClock, type ManualClock } from './clock.ts';
import { consentAtOidc, foreignConnector, startOidc, type Oidc } from './oidc.ts';
import { startService, type Answer, type Service } from './service.ts';

/** Return address of people: an application that is never loaded. */
export const APP = 'http://127.0.0.1:9/done';

/**
 * A Gatehouse with two apps to sign in to: its own sandbox, and `foreign`, an oidc-provider. It has one user and one
 * browser at a time; `next` replaces them.
 */
export interface SignIn extends AsyncDisposable {
  readonly service: Service;
  readonly oidc: Oidc;
  readonly clock: ManualClock;
  readonly userId: string;
  readonly browser: Browser;
  /** All secrets of the test, which must never be logged. */
  readonly secrets: Set<string>;
  /** Creates another user at another browser, resets the OAuth app, and ends trouble at the foreign app. */
  next(): Promise<void>;
  putOAuthApp(clientSecret?: string): Promise<void>;
  /** Makes a link to sign in to that app (or to reconnect that credential), and opens it in the browser. */
  open(connectorId: string, reconnect?: string): Promise<{ sessionId: string }>;
  /** Returns the address of the consent page. */
  authorize(sessionId: string, connectorId: string, at?: string): Promise<string>;
  /** Makes a link and returns the consent page. */
  begin(connectorId: string, reconnect?: string): Promise<{ sessionId: string; authorizationUrl: string }>;
  /** Consents at the sandbox, and returns the address of the callback without opening it. */
  consented(): Promise<{ sessionId: string; callback: string }>;
  /** Connects completely, and returns the parameters with which the person returns to the application. */
  connect(
    connectorId: string,
    options?: { reconnect?: string; account?: string },
  ): Promise<{ sessionId: string; back: URLSearchParams }>;
  /** Returns the sentence that the person reads in the end. */
  messageOf(sessionId: string): Promise<string>;
  /** Calls REST for the user. */
  call(method: string, path: string, body?: object): Promise<Answer>;
  execute(connectorId: string, actionId: string, input?: object): Promise<Answer>;
  credentialOf(back: URLSearchParams): Promise<Answer>;
  credentials(): Promise<unknown>;
  /** Returns the sealed values, which no interface returns. */
  valuesOf(back: URLSearchParams): Promise<Record<string, string>>;
  /** Returns the status of a token at the app itself. */
  meAtSandbox(accessToken: string): Promise<number>;
  meAtOidc(accessToken: string): Promise<number>;
  /** Revokes tokens at the app without our knowledge. */
  revokeAtSandbox(token: string): Promise<void>;
  revokeAtOidc(token: string): Promise<void>;
}

export async function startSignIn(options: { accessTokenSeconds?: number } = {}): Promise<SignIn> {
  const clock = manualClock();
  const oidc = await startOidc(options);
  const folder = mkdtempSync(join(tmpdir(), 'gatehouse-connectors-'));
  cpSync(join(CATALOG_FOLDER, 'sandbox'), join(folder, 'sandbox'), { recursive: true });
  mkdirSync(join(folder, 'foreign'));
  writeFileSync(join(folder, 'foreign', 'connector.yaml'), foreignConnector(oidc));
  const service = await startService({ catalogFolder: folder, clock });
  oidc.redirectUris.push(`${service.url}/oauth/callback/foreign`);
  const secrets = new Set([oidc.clientSecret]);
  let userId = '';
  let browser = createBrowser();

  const call: SignIn['call'] = (method, path, body) =>
    service.call(method, path, { headers: { 'x-svc-userid': userId }, ...(body ? { body } : {}) });
  const putOAuthApp: SignIn['putOAuthApp'] = async (clientSecret = oidc.clientSecret) => {
    secrets.add(clientSecret);
    const body = { clientId: oidc.clientId, clientSecret };
    const put = await service.call('PUT', '/api/connectors/foreign/oauth-app', { body });
    if (put.status !== 200) throw new Error(`The OAuth app was not stored: ${put.status}`);
  };
  const open: SignIn['open'] = async (connectorId, reconnect) => {
    const wish = { redirectUri: APP, state: 'from the app' };
    const made =
      reconnect === undefined
        ? await call('POST', `/users/${userId}/credentials`, { connectorId, type: 'oauth2', ...wish })
        : await call('POST', `/users/${userId}/credentials/${reconnect}/reconnect`, wish);
    const opened = await browser.request(`${made.text('authorizationUrl')}/open`, {});
    return { sessionId: String(valueAt(opened.body, 'sessionId')) };
  };
  const authorize: SignIn['authorize'] = async (sessionId, connectorId, at = service.url) => {
    const wish = { connectorId, type: 'oauth2', data: {} };
    const asked = await browser.request(`${at}/connect/sessions/${sessionId}/authorize`, wish);
    return String(valueAt(asked.body, 'authorizationUrl'));
  };
  const begin: SignIn['begin'] = async (connectorId, reconnect) => {
    const { sessionId } = await open(connectorId, reconnect);
    return { sessionId, authorizationUrl: await authorize(sessionId, connectorId) };
  };
  /** Consents at either app, until the browser is redirected to an address that begins with `stopAt`. */
  const consent = async (
    connectorId: string,
    authorizationUrl: string,
    stopAt: string,
    account = 'Demo shop',
  ) => {
    if (connectorId !== 'sandbox') return consentAtOidc(browser, authorizationUrl, { stopAt });
    return browser.submit(await browser.open(authorizationUrl), { account, decision: 'allow' }, { stopAt });
  };
  const stop = async () => {
    await service.stop();
    await oidc.close();
    rmSync(folder, { recursive: true, force: true });
  };

  return {
    service,
    oidc,
    clock,
    secrets,
    get userId() {
      return userId;
    },
    get browser() {
      return browser;
    },
    async next() {
      browser = createBrowser();
      oidc.trouble = undefined;
      const username = `user ${Math.random()}`;
      userId = (await service.call('POST', '/users', { body: { username } })).text('userId');
      await putOAuthApp();
    },
    putOAuthApp,
    open,
    authorize,
    begin,
    async consented() {
      const { sessionId, authorizationUrl } = await begin('sandbox');
      const { url } = await consent('sandbox', authorizationUrl, `${service.url}/oauth/`);
      secrets.add(new URL(url).searchParams.get('code') ?? 'no code');
      return { sessionId, callback: url };
    },
    async connect(connectorId, { reconnect, account } = {}) {
      const { sessionId, authorizationUrl } = await begin(connectorId, reconnect);
      const { url } = await consent(connectorId, authorizationUrl, APP, account);
      if (!url.startsWith(APP)) throw new Error(`The way to ${connectorId} ended at ${url}.`);
      return { sessionId, back: new URL(url).searchParams };
    },
    async messageOf(sessionId) {
      const { body } = await browser.request(`${service.url}/connect/sessions/${sessionId}`);
      return String(valueAt(body, 'result.message'));
    },
    call,
    execute: (connectorId, actionId, input = {}) =>
      call('POST', `/connectors/${connectorId}/actions/${actionId}/execute`, { input }),
    credentialOf: (back) => call('GET', `/users/${userId}/credentials/${back.get('credentialId')}`),
    credentials: async () => (await call('GET', `/users/${userId}/credentials`)).at('data'),
    async valuesOf(back) {
      const credentialId = back.get('credentialId') ?? '';
      const key = { environment: 'development' as const, userId, credentialId };
      const values = openValues(service.context, await requireCredential(service.context.db, key));
      for (const value of Object.values(values)) secrets.add(value);
      return values;
    },
    meAtSandbox: (accessToken) => statusOf(`${service.url}/sandbox/api/me`, accessToken),
    meAtOidc: (accessToken) => statusOf(`${oidc.issuer}/me`, accessToken),
    async revokeAtSandbox(token) {
      await post(`${service.url}/sandbox/oauth/revoke`, { client_id: SANDBOX_CLIENT_ID, token });
    },
    async revokeAtOidc(token) {
      const basic = Buffer.from(`${oidc.clientId}:${oidc.clientSecret}`).toString('base64');
      await post(`${oidc.issuer}/token/revocation`, { token }, { authorization: `Basic ${basic}` });
    },
    [Symbol.asyncDispose]: stop,
  };
}

async function statusOf(url: string, accessToken: string): Promise<number> {
  return (await fetch(url, { headers: { authorization: `Bearer ${accessToken}` } })).status;
}

async function post(url: string, form: Record<string, string>, headers: Record<string, string> = {}) {
  const { status } = await fetch(url, { method: 'POST', headers, body: new URLSearchParams(form) });
  if (status !== 200) throw new Error(`${url} answered ${status}`);
}
