import { createHash, randomBytes } from 'node:crypto';
import { SECOND, systemClock } from '../../src/lib/clock.ts';
import { valueAt } from '../../src/lib/json.ts';
import { createBrowser, type Browser } from './browser.ts';
import { startFileApp, type AppAnswer, type Arrived, type FileApp } from './file-app.ts';
import type { Answer, ServiceOptions } from './service.ts';

const CLIENT = { clientId: 'client-1', clientSecret: 'secret-of-the-oauth-app' };

/** An app described by a file, whose authorization server agrees at once: PKCE, single-use codes, revocation. */
export interface ConsentApp extends AsyncDisposable {
  readonly app: FileApp;
  /** Answers requests with a live access token to any other path. */
  api: (request: Arrived) => AppAnswer;
  /** Lifetime of the next access tokens, in seconds. */
  expiresIn: number;
  /** Queries of the consent page. */
  readonly asked: URLSearchParams[];
  /** Tokens that were revoked. */
  readonly revoked: string[];
  /** Returns live tokens, as after a consent at another service. */
  issue(): { accessToken: string; refreshToken: string };
  /** Makes a link for the user (by default the one of the app), and opens it in a new browser. */
  open(reconnect?: string, userId?: string): Promise<{ browser: Browser; sessionId: string }>;
  /** Consents in a session that is open in a browser, at this or another process. Returns the last page. */
  consent(at: { browser: Browser; sessionId: string }, url?: string): Promise<URL>;
  /** Opens a link and consents. */
  begin(reconnect?: string): Promise<{ browser: Browser; sessionId: string }>;
  /** Reads the session in its browser. */
  session(at: { browser: Browser; sessionId: string }): Promise<Answered>;
  choose(at: { browser: Browser; sessionId: string }, accountId: string): Promise<Answered>;
  cancel(at: { browser: Browser; sessionId: string }): Promise<Answered>;
  credentials(): Promise<Answer>;
}

interface Answered {
  status: number;
  /** Returns the value at a dotted path of the body. */
  at(path: string): unknown;
  text: string;
}

export async function startConsentApp(
  rest: string,
  options: Omit<ServiceOptions, 'catalogFolder'> = {},
): Promise<ConsentApp> {
  const app = await startFileApp(rest, options);
  const { service, userId } = app;
  const codes = new Map<string, { challenge: string; redirectUri: string }>();
  /** Expiry by access token, epoch ms. */
  const live = new Map<string, number>();
  const refreshTokens = new Set<string>();
  const now = () => (options.clock ?? systemClock).now();
  await service.call('PUT', '/api/connectors/app/oauth-app', {
    body: { ...CLIENT, fields: { origin: app.origin } },
  });

  const answered = async (asked: ReturnType<Browser['request']>): Promise<Answered> => {
    const { status, body } = await asked;
    return { status, at: (path) => valueAt(body, path), text: JSON.stringify(body) };
  };
  const address = (sessionId: string) => `${service.url}/connect/sessions/${sessionId}`;
  const made: ConsentApp = {
    app,
    api: () => ({}),
    expiresIn: 3600,
    asked: [],
    revoked: [],
    issue,
    async open(reconnect, user = userId) {
      const path = reconnect === undefined ? 'connect-sessions' : `credentials/${reconnect}/reconnect`;
      const link = await service.call('POST', `/users/${user}/${path}`, {
        headers: { 'x-svc-userid': user },
        body: reconnect === undefined ? { connectors: ['app'] } : {},
      });
      const browser = createBrowser();
      const url = link.text(reconnect === undefined ? 'url' : 'authorizationUrl');
      const opened = await browser.request(`${url}/open`, {});
      return { browser, sessionId: String(valueAt(opened.body, 'sessionId')) };
    },
    async consent({ browser, sessionId }, at = service.url) {
      const form = { connectorId: 'app', type: 'oauth2', data: {} };
      const begun = await browser.request(`${at}/connect/sessions/${sessionId}/authorize`, form);
      const { url } = await browser.open(String(valueAt(begun.body, 'authorizationUrl')), {
        stopAt: `${at}/connect/`,
      });
      return new URL(url);
    },
    async begin(reconnect) {
      const at = await made.open(reconnect);
      await made.consent(at);
      return at;
    },
    session: ({ browser, sessionId }) => answered(browser.request(address(sessionId))),
    choose: ({ browser, sessionId }, accountId) =>
      answered(browser.request(`${address(sessionId)}/choice`, { accountId })),
    cancel: ({ browser, sessionId }) => answered(browser.request(`${address(sessionId)}/cancel`, {})),
    credentials: () => app.call('GET', `/users/${userId}/credentials`),
    [Symbol.asyncDispose]: () => app[Symbol.asyncDispose](),
  };
  app.answer = (request) => {
    switch (request.path) {
      case '/authorize':
        return authorize(request);
      case '/token':
        return token(request);
      case '/revoke':
        made.revoked.push(paramsOf(request).get('token') ?? '');
        return {};
      default:
        return (live.get(request.headers.authorization?.replace('Bearer ', '') ?? '') ?? 0) > now()
          ? made.api(request)
          : { status: 401, body: { message: 'no live token' } };
    }
  };
  return made;

  function authorize({ query }: Arrived): AppAnswer {
    made.asked.push(query);
    const redirectUri = query.get('redirect_uri') ?? '';
    const known = query.get('client_id') === CLIENT.clientId && query.get('code_challenge_method') === 'S256';
    if (!known) return { status: 400, body: 'This client is not known.' };
    const code = randomBytes(8).toString('hex');
    codes.set(code, { challenge: query.get('code_challenge') ?? '', redirectUri });
    const back = new URL(redirectUri);
    back.searchParams.set('code', code);
    back.searchParams.set('state', query.get('state') ?? '');
    return { status: 302, headers: { location: back.href } };
  }

  function token(request: Arrived): AppAnswer {
    const params = paramsOf(request);
    const code = codes.get(params.get('code') ?? '');
    codes.delete(params.get('code') ?? '');
    const challenge = createHash('sha256')
      .update(params.get('code_verifier') ?? '')
      .digest('base64url');
    const good =
      refreshTokens.delete(params.get('refresh_token') ?? '') ||
      (code?.challenge === challenge &&
        code.redirectUri === params.get('redirect_uri') &&
        params.get('client_secret') === CLIENT.clientSecret);
    if (!good) return { status: 400, body: { error: 'invalid_grant' } };
    const { accessToken, refreshToken } = issue();
    return {
      body: {
        access_token: accessToken,
        refresh_token: refreshToken,
        token_type: 'Bearer',
        expires_in: made.expiresIn,
      },
    };
  }

  function issue() {
    const id = randomBytes(8).toString('hex');
    live.set(`access-${id}`, now() + made.expiresIn * SECOND);
    refreshTokens.add(`refresh-${id}`);
    return { accessToken: `access-${id}`, refreshToken: `refresh-${id}` };
  }
}

/** Returns the parameters of a form or of JSON. */
function paramsOf({ headers, body }: Arrived): URLSearchParams {
  return new URLSearchParams(headers['content-type']?.includes('json') ? JSON.parse(body) : body);
}
