import { randomBytes } from 'node:crypto';
import { createServer, type ServerResponse } from 'node:http';
import { exportJWK, generateKeyPair, SignJWT, type CryptoKey, type JWTPayload } from 'jose';
import OidcProvider from 'oidc-provider';
import type { Browser, Page } from './browser.ts';

/**
 * A certified third-party OAuth server: it requires PKCE, rotates refresh tokens, and ends the whole grant at a reuse.
 */
export interface Oidc extends AsyncDisposable {
  /** Its issuer, which is also its origin. */
  readonly issuer: string;
  readonly clientId: string;
  readonly clientSecret: string;
  /** Its redirect addresses. May grow, because the server behind an address needs the issuer first. */
  readonly redirectUris: string[];
  /** Requests in order, such as `POST /token`. */
  readonly seen: string[];
  /** Further claims of a person by login. */
  readonly people: Record<string, Record<string, unknown>>;
  /** Addresses to which it sends a browser after a sign-out. */
  readonly signOutUris: string[];
  /** Returns a JWT with its signature. */
  sign(claims: JWTPayload): Promise<string>;
  /** Replaces its answers while set: with an error, never (`hang`), or by closing the connection (`drop`). */
  trouble: ((request: string) => Trouble | undefined) | undefined;
  close(): Promise<void>;
}

export type Trouble = { status: number; type?: string; body: string } | 'hang' | 'drop';

const CLIENT_ID = 'gatehouse-test';

export async function startOidc({
  redirectUris = [],
  accessTokenSeconds = 300,
}: { redirectUris?: string[]; accessTokenSeconds?: number } = {}): Promise<Oidc> {
  const seen: string[] = [];
  const { privateKey } = await generateKeyPair('RS256', { extractable: true });
  let handle: (...exchange: Parameters<ReturnType<OidcProvider['callback']>>) => unknown = () => undefined;
  const server = createServer((req, res) => {
    const request = `${req.method} ${req.url?.split('?')[0]}`;
    seen.push(request);
    const trouble = oidc.trouble?.(request);
    if (!trouble) handle(req, res);
    else if (trouble === 'drop') req.socket.destroy();
    else if (trouble !== 'hang') answer(res, trouble);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  const close = async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  };
  const oidc: Oidc = {
    issuer: `http://127.0.0.1:${address.port}`,
    clientId: CLIENT_ID,
    clientSecret: randomBytes(24).toString('base64url'),
    redirectUris: [...redirectUris],
    signOutUris: [],
    people: {},
    sign: (claims) => new SignJWT(claims).setProtectedHeader({ alg: 'RS256' }).sign(privateKey),
    seen,
    trouble: undefined,
    close,
    [Symbol.asyncDispose]: close,
  };
  handle = (await providerOf(oidc, { accessTokenSeconds, privateKey })).callback();
  return oidc;
}

/**
 * Signs in and consents, without a browser.
 * @returns the page at `stopAt`, or the last page.
 */
export async function consentAtOidc(
  browser: Browser,
  url: string,
  { login = 'alice', stopAt }: { login?: string; stopAt?: string } = {},
): Promise<Page> {
  let page = await browser.open(url, { stopAt });
  for (let step = 0; step < 4 && page.html.includes('name="prompt"'); step++) {
    const values = page.html.includes('name="login"') ? { login, password: 'any' } : {};
    page = await browser.submit(page, values, { stopAt });
  }
  return page;
}

/** Denies the consent at the first page. */
export async function denyAtOidc(
  browser: Browser,
  url: string,
  options: { stopAt?: string } = {},
): Promise<Page> {
  const page = await browser.open(url);
  const [, cancel = ''] = /href="([^"]*\/abort)"/.exec(page.html) ?? [];
  return browser.open(new URL(cancel, page.url).href, options);
}

async function providerOf(
  oidc: Oidc,
  { accessTokenSeconds, privateKey }: { accessTokenSeconds: number; privateKey: CryptoKey },
): Promise<OidcProvider> {
  const provider = new OidcProvider(oidc.issuer, {
    clients: [
      {
        client_id: oidc.clientId,
        client_secret: oidc.clientSecret,
        // `redirectUris` at the time of the request decides; the provider requires one address now.
        redirect_uris: [`${oidc.issuer}/none`],
        grant_types: ['authorization_code', 'refresh_token'],
        response_types: ['code'],
        token_endpoint_auth_method: 'client_secret_basic',
      },
    ],
    jwks: { keys: [{ ...(await exportJWK(privateKey)), use: 'sig', alg: 'RS256' }] },
    cookies: { keys: [randomBytes(16).toString('hex')] },
    scopes: ['openid', 'offline_access', 'profile', 'email', 'orders.read'],
    claims: { openid: ['sub'], profile: ['name', 'groups', 'realm_access'], email: ['email'] },
    pkce: { required: () => true },
    rotateRefreshToken: true,
    clockTolerance: 0,
    ttl: {
      AccessToken: accessTokenSeconds,
      AuthorizationCode: 60,
      IdToken: 60,
      Interaction: 600,
      Session: 86_400,
      Grant: 86_400,
      RefreshToken: 86_400,
    },
    // Its own sign-in and consent pages accept any name; it warns on stderr that they are for development.
    features: { devInteractions: { enabled: true }, revocation: { enabled: true } },
    findAccount: (_context, sub) => ({
      accountId: sub,
      claims: () => ({ sub, name: `${sub} at the foreign app`, ...oidc.people[sub] }),
    }),
  });
  provider.Client.prototype.postLogoutRedirectUriAllowed = (uri: string) => oidc.signOutUris.includes(uri);
  provider.Client.prototype.redirectUriAllowed = (uri: string) => oidc.redirectUris.includes(uri);
  return provider;
}

function answer(
  res: ServerResponse,
  { status, type = 'application/json', body }: Exclude<Trouble, string>,
): void {
  res.writeHead(status, { 'content-type': type }).end(body);
}

/** Returns a connector file for it: id `foreign`, with the one action `get_me` (its probe). */
export function foreignConnector({ issuer }: Pick<Oidc, 'issuer'>): string {
  return `
id: foreign
name: Foreign
description: An OAuth server that is not ours.
categories: [identity]
website: https://github.com/panva/node-oidc-provider
sources:
  - title: oidc-provider itself
    read: 2026-03-01
baseUrl: ${issuer}
authentication:
  - type: oauth2
    authorizeUrl: ${issuer}/auth
    tokenUrl: ${issuer}/token
    issuer: ${issuer}
    scopes: [openid, offline_access, profile]
    authorizeParams: {prompt: consent}
    clientAuthentication: basic
    revocation: {url: '${issuer}/token/revocation', clientAuthentication: basic}
probe: get_me
account: {id: sub, name: name}
errors:
  message: [error_description, error]
actions:
  get_me: {description: Who signed in., request: GET /me}
`;
}
