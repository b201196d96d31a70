import { randomBytes } from 'node:crypto';
import type { AuthorizationServer, Client, ClientAuth, TokenEndpointRequestOptions } from 'oauth4webapi';
import type { Connector } from '../connectors/catalog.ts';
import type { OAuth } from '../connectors/format/format.ts';
import type { Base } from '../base.ts';
import { answerText } from '../lib/http/body-text.ts';
import { SECOND } from '../lib/clock.ts';
import { GatehouseError } from '../lib/errors.ts';
import type { Json } from '../lib/json.ts';
import { scrub } from '../lib/scrub.ts';
import { Secret } from '../lib/secret.ts';
import { choicesOf, type AccountChoice } from './account-choices.ts';
import type { Account } from './credential.ts';
import { accountOf, captureValues, type CaptureSource } from './oauth-capture.ts';
import { lookUp } from './oauth-lookup.ts';
import { isSigned } from './oauth-signature.ts';
import {
  clientAuth,
  filledAddress,
  filler,
  noAnswer,
  sendParams,
  TOKEN_TIMEOUT_MS,
  type Grant,
} from './oauth-wire.ts';
import { readTokenAnswer, refreshSecondsOf } from './token-answer.ts';
import { requestedScopes, type OAuth2, type OAuthClient } from './oauth-client.ts';

/** Client credentials (RFC 6749 section 4.4). */
export type OAuth2ClientCredentials = Extract<OAuth, { type: 'oauth2_client_credentials' }>;

/** The result of a grant. */
export interface Tokens {
  accessToken: string;
  refreshToken?: string;
  /** Expiry of the access token, epoch ms; absent when the answer has none. */
  expiresAt?: number;
  /** Expiry of the refresh token, epoch ms; absent when the answer has none. */
  refreshExpiresAt?: number;
  /** The granted scopes; absent when the answer has none. */
  scopes?: string[];
  /** The scheme's `capture`, by name; empty while an account has to be chosen. */
  captured: Record<string, string>;
  account?: Account;
  /** The accounts to choose from, where the scheme's `lookup` has `choose`. See chosenTokens() of granted.ts. */
  choices?: AccountChoice[];
}

/** The third party's refusal, with a code of RFC 6749 section 5.2: `invalid_grant`, `invalid_client` … */
export class OAuthRefusal extends Error {
  override readonly name = 'OAuthRefusal';
  readonly error: string;
  /** The app's own sentence, without secrets. */
  readonly description: string | undefined;
  /** HTTP status of the refusal. */
  readonly status: number;

  constructor(error: string, description: string | undefined, status: number) {
    super(description === undefined ? error : `${error}: ${description}`);
    this.error = error;
    this.description = description;
    this.status = status;
  }
}

/** One authorization, from the consent page to the redirect. */
export interface Authorization extends Grant {
  scheme: OAuth2;
  redirectUri: string;
  state: string;
  verifier: string;
  /** Scopes to request in addition to those of the scheme or the OAuth app. */
  moreScopes?: readonly string[];
}

type OAuthContext = Pick<Base, 'outbound' | 'clock'>;
interface Cancellable {
  signal?: AbortSignal | undefined;
}

/** Longest wait of a deletion for the third party to revoke the tokens. */
const REVOKE_TIMEOUT_MS = 5 * SECOND;

/** Returns a PKCE verifier: 256 bits, base64url (RFC 7636 section 4.1). */
export function newVerifier(): string {
  return randomBytes(32).toString('base64url');
}

/**
 * Returns the address of the consent page, as the connector names it (see `browserAddress`).
 * @throws GatehouseError `credential_invalid` when a value does not fit into the address.
 */
export async function authorizationUrl(grant: Authorization): Promise<string> {
  const { scheme, client, redirectUri, state } = grant;
  const fill = filler(grant);
  const url = filledAddress(grant, scheme.authorizeUrl);
  const params: Record<string, string> = {
    response_type: 'code',
    client_id: client.clientId,
    redirect_uri: redirectUri,
    state,
  };
  const scopes = requestedScopes(scheme, client.scopes, grant.moreScopes);
  if (scopes.length > 0) params[scheme.scopeParam] = scopes.join(scheme.scopeSeparator);
  if (scheme.pkce === 'S256') {
    const { calculatePKCECodeChallenge } = await import('oauth4webapi');
    params['code_challenge'] = await calculatePKCECodeChallenge(grant.verifier);
    params['code_challenge_method'] = 'S256';
  }
  for (const [name, template] of Object.entries(scheme.authorizeParams)) params[name] = fill(template);
  for (const [name, value] of Object.entries(params)) url.searchParams.set(name, value);
  // A plus sign means a space only in forms; some consent pages read it as a plus.
  url.search = url.search.replaceAll('+', '%20');
  return url.href;
}

/**
 * Exchanges the code of a redirect for tokens. Checks the state, `iss` (RFC 9207, also in refusals) and the signature
 * first.
 * @throws OAuthRefusal when the app refused, in the redirect or at the token endpoint; GatehouseError
 * `invalid_request` when the redirect does not belong to this authorization, upstream_* for no definite answer.
 */
export async function exchangeCode(
  context: OAuthContext,
  grant: Authorization & Cancellable & { callback: URLSearchParams },
): Promise<Tokens> {
  const { connector, scheme, client, callback, redirectUri, verifier } = grant;
  const oauth = await import('oauth4webapi');
  const server = {
    issuer: issuerOf(grant, callback.get('iss')),
    token_endpoint: filledAddress(grant, scheme.tokenUrl).href,
    // A redirect without `iss` is then refused, because another server may have sent it (RFC 9207 section 2.4).
    authorization_response_iss_parameter_supported: scheme.issuer !== undefined,
  };
  let checked: URLSearchParams;
  try {
    checked = oauth.validateAuthResponse(server, { client_id: client.clientId }, callback, grant.state);
  } catch (error) {
    if (error instanceof oauth.AuthorizationResponseError)
      throw new OAuthRefusal(error.error.slice(0, 100), error.error_description?.slice(0, 300), 400);
    throw strayCallback(connector);
  }
  const code = checked.get('code');
  if (code === null || code === '' || !isSigned(scheme, client, callback)) throw strayCallback(connector);
  const repeated = scheme.callbackParams.flatMap((name) => {
    const value = checked.get(name);
    return value === null ? [] : [[name, value]];
  });
  const input = {
    ...grant,
    server,
    secrets: [code, verifier],
    params: Object.fromEntries(repeated),
    complete: true,
  };
  return requestTokens(context, input, (caller, auth, options) =>
    oauth.authorizationCodeGrantRequest(
      server,
      caller,
      auth,
      checked,
      redirectUri,
      scheme.pkce === 'none' ? oauth.nopkce : verifier,
      options,
    ),
  );
}

/**
 * Renews tokens (RFC 6749 section 6). `refreshToken` is absent in the result when the old one stays valid.
 * @throws OAuthRefusal (`invalid_grant`: the refresh token is no longer valid), GatehouseError upstream_*
 */
export async function refreshTokens(
  context: OAuthContext,
  grant: Grant & Cancellable & { scheme: OAuth2; refreshToken: string },
): Promise<Tokens> {
  const { scheme, refreshToken } = grant;
  const oauth = await import('oauth4webapi');
  const server = serverAt(filledAddress(grant, scheme.refreshUrl ?? scheme.tokenUrl));
  const fill = filler(grant);
  const params = Object.fromEntries(
    Object.entries(scheme.refreshParams).map(([name, template]) => [name, fill(template)]),
  );
  const input = { ...grant, server, secrets: [refreshToken], params, complete: false };
  return requestTokens(context, input, (caller, auth, options) =>
    oauth.refreshTokenGrantRequest(server, caller, auth, refreshToken, options),
  );
}

/**
 * Requests tokens for the user's own client id and secret, which are among `values`.
 * @throws OAuthRefusal (`invalid_client`: wrong id or secret), GatehouseError upstream_*
 */
export async function clientCredentialsTokens(
  context: OAuthContext,
  grant: Omit<Grant, 'client'> & Cancellable & { scheme: OAuth2ClientCredentials },
): Promise<Tokens> {
  const { scheme, values } = grant;
  const client: OAuthClient = {
    clientId: values['clientId'] ?? '',
    clientSecret: new Secret(values['clientSecret'] ?? ''),
    scopes: undefined,
    fields: {},
  };
  const oauth = await import('oauth4webapi');
  const server = serverAt(filledAddress({ ...grant, client }, scheme.tokenUrl));
  const params: Record<string, string> =
    scheme.scopes.length > 0 ? { scope: scheme.scopes.join(scheme.scopeSeparator) } : {};
  const input = { ...grant, client, server, secrets: [], complete: true };
  return requestTokens(context, input, (caller, auth, options) =>
    oauth.clientCredentialsGrantRequest(server, caller, auth, params, options),
  );
}

/**
 * Revokes tokens at the third party, if the scheme supports it (RFC 7009). Waits 5 s at most.
 * Sends the refresh token if the scheme names it and there is one, else the access token.
 * @throws OAuthRefusal when the app refused, GatehouseError upstream_* when it did not answer.
 */
export async function revokeTokens(
  context: Pick<Base, 'outbound'>,
  grant: Grant & Cancellable & { scheme: OAuth2 },
): Promise<void> {
  const { connector, scheme, client, values, signal } = grant;
  const { revocation } = scheme;
  const refreshToken = revocation?.token === 'refresh' ? values['refreshToken'] : undefined;
  const token = refreshToken ?? values['accessToken'];
  if (!revocation || token === undefined) return;
  const params = new URLSearchParams();
  const headers = new Headers();
  const style = revocation.clientAuthentication ?? scheme.clientAuthentication;
  if (style === 'bearer') headers.set('authorization', `Bearer ${token}`);
  else {
    if (revocation.token !== 'none' && !revocation.url.includes('{token}'))
      params.set(revocation.param, token);
    await clientAuth(style, client)({ issuer: '' }, { client_id: client.clientId }, params, headers);
  }
  const fill = filler(grant, { clientSecret: client.clientSecret?.open() ?? '' });
  for (const [name, template] of Object.entries(revocation.params)) params.set(name, fill(template));
  for (const [name, template] of Object.entries(revocation.headers)) headers.set(name, fill(template));
  const answer = await sendParams(context, grant, {
    url: filledAddress(grant, revocation.url, { token }).href,
    method: revocation.method,
    style: revocation.request,
    params,
    headers: Object.fromEntries(headers),
    timeoutMs: REVOKE_TIMEOUT_MS,
    signal,
  });
  if (answer.status >= 200 && answer.status < 300) return;
  if (answer.status >= 500 || answer.status === 429) throw noAnswer(connector, answer);
  throw new OAuthRefusal(`http_${answer.status}`, undefined, answer.status);
}

interface TokenRequest extends Grant, Cancellable {
  server: AuthorizationServer;
  callback?: URLSearchParams;
  /** Parameters for this kind of request. */
  params?: Record<string, string>;
  /** Secrets of this request other than the client secret. */
  secrets: string[];
  /** Whether every captured value is required. */
  complete: boolean;
}

/** Sends a grant through oauth4webapi. Deviations from the standard are translated by readTokenAnswer(). */
async function requestTokens(
  context: OAuthContext,
  input: TokenRequest,
  send: (client: Client, auth: ClientAuth, options: TokenEndpointRequestOptions) => Promise<Response>,
): Promise<Tokens> {
  const oauth = await import('oauth4webapi');
  const { connector, scheme, server } = input;
  const client = { client_id: input.client.clientId };
  const sentAt = context.clock.now();
  let raw: Json = null;
  const options: TokenEndpointRequestOptions = {
    // The outbound client rejects plain http itself, because it knows for which hosts http is allowed.
    [oauth.allowInsecureRequests]: true,
    [oauth.customFetch]: async (url, { body, headers }) => {
      const answer = await sendParams(context, input, {
        url,
        method: 'POST',
        style: scheme.tokenRequest,
        ...withTemplates(input, new URLSearchParams(body), headers),
        timeoutMs: TOKEN_TIMEOUT_MS,
        signal: input.signal,
      });
      const wire = { status: answer.status, headers: answer.headers, text: answerText(answer) };
      const read = readTokenAnswer(scheme, wire, sentAt);
      if (!read) throw noAnswer(connector, answer);
      ({ raw } = read);
      return Response.json(read.body, { status: read.status });
    },
  };
  let granted;
  try {
    const response = await send(client, clientAuth(scheme.clientAuthentication, input.client), options);
    granted = await oauth.processGenericTokenEndpointResponse(server, client, response);
  } catch (error) {
    throw translated(connector, error, [...input.secrets, input.client.clientSecret?.open() ?? '']);
  }
  // A renewal without account data leaves the stored data unchanged.
  const lookup = input.complete ? await lookUp(context, input, granted.access_token) : undefined;
  const source: CaptureSource = { raw, lookup, callback: input.callback, clientId: input.client.clientId };
  const refreshSeconds = refreshSecondsOf(scheme, raw);
  return {
    accessToken: granted.access_token,
    ...(granted.refresh_token === undefined ? {} : { refreshToken: granted.refresh_token }),
    ...(granted.expires_in === undefined ? {} : { expiresAt: sentAt + granted.expires_in * SECOND }),
    ...(refreshSeconds === undefined ? {} : { refreshExpiresAt: sentAt + refreshSeconds * SECOND }),
    ...(granted.scope === undefined ? {} : { scopes: granted.scope.split(' ') }),
    ...accountFacts(input, source),
  };
}

/** Returns the values that depend on the account, or the accounts to choose from. */
function accountFacts(
  { connector, scheme, complete }: TokenRequest,
  source: CaptureSource,
): Pick<Tokens, 'captured' | 'account' | 'choices'> {
  if (complete && scheme.lookup?.choose)
    return { captured: {}, choices: choicesOf(connector, scheme, source) };
  const account = accountOf(scheme, source);
  return {
    captured: captureValues(connector, scheme, { source, complete }),
    ...(account ? { account } : {}),
  };
}

function withTemplates(input: TokenRequest, params: URLSearchParams, headers: Record<string, string>) {
  const fill = filler(input);
  const { tokenParams, tokenHeaders } = input.scheme;
  for (const [name, template] of Object.entries(tokenParams)) params.set(name, fill(template));
  for (const [name, value] of Object.entries(input.params ?? {})) params.set(name, value);
  const added = Object.entries(tokenHeaders).map(([name, template]) => [name.toLowerCase(), fill(template)]);
  return { params, headers: { ...headers, ...Object.fromEntries(added) } };
}

/** Translates an error without a cause, because the library's errors contain the answer with the tokens. */
function translated({ name, connectorId }: Connector, error: unknown, secrets: string[]): unknown {
  if (error instanceof GatehouseError) return error;
  if (error instanceof Error && 'error' in error && typeof error.error === 'string') {
    const description =
      'error_description' in error && typeof error.error_description === 'string'
        ? scrub(error.error_description, secrets)
        : undefined;
    const status = 'status' in error && typeof error.status === 'number' ? error.status : 400;
    return new OAuthRefusal(scrub(error.error, secrets), description, status);
  }
  return new GatehouseError('upstream_failed', `${name} answered with a body that is not a token response.`, {
    details: { connectorId, reason: 'token_endpoint' },
  });
}

/**
 * Returns the issuer that `iss` must equal.
 * If the connector file names none, the origin of the consent page or of the token endpoint is accepted.
 */
function issuerOf(grant: Authorization, iss: string | null): string {
  const { scheme } = grant;
  if (scheme.issuer !== undefined) return filler(grant)(scheme.issuer);
  const origins = [scheme.authorizeUrl, scheme.tokenUrl].map((one) => filledAddress(grant, one).origin);
  if (iss !== null && URL.canParse(iss) && origins.includes(new URL(iss).origin)) return iss;
  return origins[0] ?? '';
}

function serverAt(address: URL): AuthorizationServer & { token_endpoint: string } {
  return { issuer: address.origin, token_endpoint: address.href };
}

function strayCallback({ name }: Connector): GatehouseError {
  return new GatehouseError(
    'invalid_request',
    `The redirect back from ${name} does not belong to this authorization: its state, issuer, code or signature is not right. Start again.`,
  );
}
