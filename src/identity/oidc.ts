import { createHash } from 'node:crypto';
import type { AuthorizationServer, Client, ClientAuth } from 'oauth4webapi';
import type { Base } from '../base.ts';
import { hashToken, newRandomToken } from '../crypto/tokens.ts';
import { MINUTE, SECOND } from '../lib/clock.ts';
import { GatehouseError, thrownMessage } from '../lib/errors.ts';
import { MIB } from '../lib/http/http-body.ts';
import type { ConsoleRole, OidcSettings } from '../lib/oidc-settings.ts';
import { sameText } from '../lib/same-text.ts';
import { createTtlCache } from '../lib/ttl-cache.ts';
import { claimAt, personOf, roleOf, type Claims } from './oidc-claims.ts';

const TIMEOUT_MS = 10 * SECOND;
const METADATA_MS = 10 * MINUTE;
const MAX_ANSWER_BYTES = MIB;
/** How far the clock of the provider may be from ours. */
const TOLERANCE_SECONDS = 30;
/** A longer hint would make an address that servers refuse. */
const MAX_HINT = 4000;

/** Why a sign-in failed. The console has a sentence for each. */
export const SIGN_IN_FAULTS = [
  'cancelled',
  'stale',
  'no_role',
  'unreachable',
  'misconfigured',
  'invalid',
] as const;
export type SignInFault = (typeof SIGN_IN_FAULTS)[number];

/** A sign-in that failed. The message is for the log of the operator. */
export class SignInError extends Error {
  override readonly name = 'SignInError';
  readonly fault: SignInFault;

  constructor(fault: SignInFault, message: string, options?: ErrorOptions) {
    super(message, options);
    this.fault = fault;
  }
}

/** A person that the provider has identified. */
export interface SignedInPerson {
  issuer: string;
  subject: string;
  name: string | null;
  email: string | null;
  role: ConsoleRole;
  idToken: string;
}

/** The OpenID Connect provider of the console. */
export interface Oidc {
  readonly settings: OidcSettings;
  /**
   * Begins a sign-in. Returns the address of the provider's page, and a random token for a cookie of the browser.
   * @throws SignInError `unreachable`, `invalid`
   */
  begin(): Promise<{ authorizationUrl: string; token: string }>;
  /** Checks the redirect back and exchanges its code. @throws SignInError */
  finish(token: string | undefined, callback: URLSearchParams): Promise<SignedInPerson>;
  /** Returns the address that ends the session at the provider; undefined where the provider has none. */
  signOutUrl(idToken: string | undefined): Promise<string | undefined>;
}

type OidcContext = Pick<Base, 'clock' | 'hashKey' | 'outbound' | 'publicUrl'>;

/** Creates the client of the provider. It reads the provider's metadata when a person signs in. */
export function createOidc(settings: OidcSettings, context: OidcContext): Oidc {
  const metadata = createTtlCache<AuthorizationServer>({ ttlMs: METADATA_MS, max: 1, clock: context.clock });
  const wire = { settings, context };
  const server = () => metadata.get('', () => translated(() => discover(wire)));
  return {
    settings,
    async begin() {
      const token = newRandomToken();
      return { authorizationUrl: authorizationUrl(wire, await server(), token), token };
    },
    finish: async (token, callback) => {
      const found = await server();
      return translated(() => identify(wire, found, { token, callback }));
    },
    async signOutUrl(idToken) {
      const { end_session_endpoint: address } = await server();
      if (address === undefined || !URL.canParse(address)) return undefined;
      const url = new URL(address);
      url.searchParams.set('client_id', settings.clientId);
      url.searchParams.set('post_logout_redirect_uri', `${context.publicUrl}/console`);
      if (idToken !== undefined && idToken.length <= MAX_HINT) url.searchParams.set('id_token_hint', idToken);
      return url.href;
    },
  };
}

interface Wire {
  settings: OidcSettings;
  context: OidcContext;
}

/** Returns the redirect address to register at the provider. */
export function redirectUriOf({ publicUrl }: Pick<Base, 'publicUrl'>): string {
  return `${publicUrl}/console/oidc/callback`;
}

/**
 * Returns the values of one sign-in. They follow from the browser's token, so that the store needs no row before the
 * person is known, and another browser can finish nothing.
 */
function valuesOf({ hashKey }: OidcContext, token: string) {
  const [state, nonce, verifier] = ['state', 'nonce', 'verifier'].map((use) =>
    hashToken(hashKey, `oidc ${use} ${token}`),
  );
  return { state: state ?? '', nonce: nonce ?? '', verifier: verifier ?? '' };
}

async function discover(wire: Wire): Promise<AuthorizationServer> {
  const oauth = await import('oauth4webapi');
  const issuer = new URL(wire.settings.issuer);
  const answer = await oauth.discoveryRequest(issuer, { algorithm: 'oidc', ...(await options(wire)) });
  const server = await oauth.processDiscoveryResponse(issuer, answer);
  for (const name of ['authorization_endpoint', 'token_endpoint', 'jwks_uri'] as const)
    if (server[name] === undefined)
      throw new SignInError('invalid', `the metadata of the provider lack ${name}`);
  return server;
}

function authorizationUrl({ settings, context }: Wire, server: AuthorizationServer, token: string): string {
  const { state, nonce, verifier } = valuesOf(context, token);
  const url = new URL(server.authorization_endpoint ?? '');
  const params = {
    response_type: 'code',
    client_id: settings.clientId,
    redirect_uri: redirectUriOf(context),
    scope: settings.scopes.join(' '),
    state,
    nonce,
    code_challenge: createHash('sha256').update(verifier).digest('base64url'),
    code_challenge_method: 'S256',
  };
  for (const [name, value] of Object.entries(params)) url.searchParams.set(name, value);
  return url.href;
}

async function identify(
  wire: Wire,
  server: AuthorizationServer,
  { token, callback }: { token: string | undefined; callback: URLSearchParams },
): Promise<SignedInPerson> {
  const { settings, context } = wire;
  if (token === undefined) throw new SignInError('stale', 'the browser has no sign-in that is under way');
  const { state, nonce, verifier } = valuesOf(context, token);
  if (!sameText(callback.get('state') ?? '', state))
    throw new SignInError('stale', 'the state is of another sign-in');
  const oauth = await import('oauth4webapi');
  const client: Client = {
    client_id: settings.clientId,
    [oauth.clockSkew]: Math.round((context.clock.now() - Date.now()) / SECOND),
    [oauth.clockTolerance]: TOLERANCE_SECONDS,
  };
  const checked = oauth.validateAuthResponse(server, client, callback, state);
  const sent = await options(wire);
  const redirectUri = redirectUriOf(context);
  const auth = await clientAuth(settings, server);
  const answer = await oauth.authorizationCodeGrantRequest(
    server,
    client,
    auth,
    checked,
    redirectUri,
    verifier,
    sent,
  );
  const tokens = await oauth.processAuthorizationCodeResponse(server, client, answer, {
    expectedNonce: nonce,
    requireIdToken: true,
  });
  await oauth.validateApplicationLevelSignature(server, answer, sent);
  const idClaims = oauth.getValidatedIdTokenClaims(tokens);
  const idToken = tokens.id_token;
  if (!idClaims || idToken === undefined) throw new SignInError('invalid', 'the provider sent no ID token');
  let claims: Claims = idClaims;
  // Many providers leave groups and names out of the ID token.
  if (claimAt(claims, settings.roleClaim) === undefined && server.userinfo_endpoint !== undefined) {
    const info = await oauth.userInfoRequest(server, client, tokens.access_token, sent);
    claims = { ...(await oauth.processUserInfoResponse(server, client, idClaims.sub, info)), ...idClaims };
  }
  const role = roleOf(claims, settings);
  const { sub: subject } = idClaims;
  if (!role)
    throw new SignInError(
      'no_role',
      `${subject} has no role: ${explained(claimAt(claims, settings.roleClaim))}`,
    );
  return { issuer: settings.issuer, subject, ...personOf(claims), role, idToken };
}

function explained(claim: unknown): string {
  return claim === undefined
    ? 'the claim is absent; the provider may need another scope or a mapping'
    : `the claim is ${JSON.stringify(claim).slice(0, 300)}`;
}

async function clientAuth(
  { clientSecret, clientAuthentication }: OidcSettings,
  { token_endpoint_auth_methods_supported: supported = ['client_secret_basic'] }: AuthorizationServer,
): Promise<ClientAuth> {
  const oauth = await import('oauth4webapi');
  if (!clientSecret) return oauth.None();
  const usual = supported.includes('client_secret_basic') ? 'basic' : 'post';
  const make = (clientAuthentication ?? usual) === 'basic' ? oauth.ClientSecretBasic : oauth.ClientSecretPost;
  return make(clientSecret.open());
}

/** Returns how the library sends its requests: through the guard of outgoing calls. */
async function options({ settings, context }: Wire) {
  const oauth = await import('oauth4webapi');
  return {
    [oauth.allowInsecureRequests]: settings.issuer.startsWith('http:'),
    [oauth.customFetch]: async (
      url: string,
      { method, headers, body }: { method?: string; headers?: Record<string, string>; body?: unknown },
    ): Promise<Response> => {
      const answer = await context.outbound.request({
        method: method ?? 'GET',
        url,
        headers: headers ?? {},
        ...(body instanceof URLSearchParams ? { body: body.toString() } : {}),
        timeoutMs: TIMEOUT_MS,
        maxBytes: MAX_ANSWER_BYTES,
      });
      if (answer.status >= 500)
        throw new SignInError('unreachable', `${new URL(url).host} answered with HTTP ${answer.status}`);
      return new Response(new Uint8Array(answer.body), { status: answer.status, headers: answer.headers });
    },
  };
}

/** Translates errors without a cause, because those of the library hold codes and tokens. */
async function translated<T>(run: () => Promise<T>): Promise<T> {
  try {
    return await run();
  } catch (error) {
    if (error instanceof SignInError) throw error;
    if (error instanceof GatehouseError) throw new SignInError('unreachable', error.message);
    const code = error instanceof Error && 'error' in error ? String(error.error).slice(0, 100) : undefined;
    throw new SignInError(faultOf(code), `${thrownMessage(error)}${code === undefined ? '' : ` (${code})`}`);
  }
}

function faultOf(code: string | undefined): SignInFault {
  switch (code) {
    case 'access_denied':
      return 'cancelled';
    case 'invalid_grant':
      return 'stale';
    case 'invalid_client':
    case 'unauthorized_client':
    case 'invalid_scope':
    case 'redirect_uri_mismatch':
      return 'misconfigured';
    case 'server_error':
    case 'temporarily_unavailable':
      return 'unreachable';
    default:
      return 'invalid';
  }
}
