import { createHash, createHmac, randomBytes } from 'node:crypto';
import express, { type Request, type Response, type Router } from 'express';
import { z } from 'zod';
import { MINUTE, type Clock } from '../lib/clock.ts';
import { errorHandler } from '../lib/http/express-errors.ts';
import { SANDBOX_CLIENT_ID, SANDBOX_HOST } from '../lib/sandbox-names.ts';
import type { Logger } from '../log.ts';
import { Refusal, refusalOf } from './answers.ts';
import { consentPage, MAX_ACCOUNT_CHARS, pageHeaders, refusalPage } from './oauth-page.ts';
import { SCOPES, signer, type Grants } from './oauth-tokens.ts';

/** The needs of the OAuth side other than its grants. */
interface OAuthContext {
  readonly clock: Clock;
  readonly log: Logger;
  /** The address at which browsers reach this process, without trailing slash; read at each request. */
  readonly publicUrl: string;
}

/** The only known client. It is public: it has no secret, and PKCE binds its codes. */
const CLIENT = { clientId: SANDBOX_CLIENT_ID, name: 'Gatehouse', callbackPath: '/oauth/callback/sandbox' };
/** The issuer (RFC 9207): a fixed name, equal at every address of this process. */
const ISSUER = `http://${SANDBOX_HOST}/sandbox/oauth`;
const LOOPBACK = new Set(['127.0.0.1', '[::1]', 'localhost']);
const MAX_BODY = '16kb';
const CONSENT_MS = 10 * MINUTE;
const COOKIE = 'sandbox_consent';
const FIRST_NAME = 'Demo shop';

/** A client's request, after its `redirectUri` was accepted. */
const inputShape = z.strictObject({
  redirectUri: z.string(),
  state: z.string().optional(),
  scopes: z.array(z.enum(SCOPES)),
  challenge: z.string(),
});
type Input = z.infer<typeof inputShape>;
const formShape = inputShape.extend({ browser: z.string(), until: z.number() });

/**
 * Returns an OAuth 2.0 server (RFC 6749) for one public client: authorization code with PKCE (RFC 7636), `iss` in the
 * answer (RFC 9207), rotating refresh tokens, revocation (RFC 7009). `key` signs codes and tokens.
 */
export function oauthRoutes(context: OAuthContext, { grants, key }: { grants: Grants; key: Buffer }): Router {
  const { sign, open } = signer(createHmac('sha256', key).update('consent').digest());
  const router = express.Router();
  const form = express.text({ type: 'application/x-www-form-urlencoded', limit: MAX_BODY });

  router.get('/authorize', (req, res) => {
    const query = new URL(req.originalUrl, context.publicUrl).searchParams;
    const redirectUri = redirectUriOf(query, context.publicUrl);
    const input = inputOf(query, redirectUri);
    if ('error' in input) return goBack(res, { redirectUri, state: query.get('state') ?? undefined }, input);
    const browser = browserOf(req) ?? randomBytes(16).toString('base64url');
    const secure = context.publicUrl.startsWith('https:') ? '; Secure' : '';
    res.append('Set-Cookie', `${COOKIE}=${browser}; HttpOnly; SameSite=Lax${secure}`);
    const until = context.clock.now() + CONSENT_MS;
    const request = sign('consent', { ...input, browser: digest(browser), until });
    return sendPage(res, 200, consentPage({ ...viewOf(input), request, account: FIRST_NAME }));
  });

  router.post('/authorize', form, (req, res) => {
    const sent = parametersOf(req);
    const asked = open('consent', formShape, sent['request'] ?? '');
    // The cookie proves that this browser saw the page; otherwise another page could answer in the person's name.
    const browser = browserOf(req);
    if (!asked || browser === undefined || digest(browser) !== asked.browser) {
      throw new Refusal(
        { status: 400, kind: 'foreign_form' },
        'This browser was not asked for consent, or it accepts no cookies.',
      );
    }
    if (context.clock.now() >= asked.until) {
      throw new Refusal({ status: 400, kind: 'too_late' }, 'This page was open for more than ten minutes.');
    }
    if (sent['decision'] !== 'allow') {
      return goBack(res, asked, { error: 'access_denied', error_description: 'The user denied access.' });
    }
    const account = accountName.safeParse(sent['account'] ?? '');
    if (!account.success) {
      const view = { ...viewOf(asked), request: sent['request'] ?? '', account: sent['account'] ?? '' };
      return sendPage(res, 422, consentPage({ ...view, fault: account.error.issues[0]?.message }));
    }
    const { redirectUri, scopes, challenge } = asked;
    return goBack(res, asked, {
      code: grants.code({ account: account.data, scopes, redirectUri, challenge }),
    });
  });

  router.use(
    '/authorize',
    errorHandler((error, res) => {
      const { status, message } = refusalOf(error, context.log);
      sendPage(res, status, refusalPage(message));
    }),
  );

  router.post('/token', form, (req, res) => {
    const sent = parametersOf(req);
    assertClient(req, sent);
    const need = (name: string): string => {
      const value = sent[name];
      if (value) return value;
      throw new Refusal({ status: 400, kind: 'invalid_request' }, `${name} is missing.`);
    };
    const grantType = need('grant_type');
    if (grantType === 'authorization_code') {
      const proof = { redirectUri: need('redirect_uri'), verifier: need('code_verifier') };
      return sendJson(res, 200, grants.redeem(need('code'), proof));
    }
    if (grantType === 'refresh_token') {
      const scopes = sent['scope'] ? namesOf(sent['scope']) : undefined;
      return sendJson(res, 200, grants.refresh(need('refresh_token'), scopes));
    }
    throw new Refusal(
      { status: 400, kind: 'unsupported_grant_type' },
      'grant_type must be authorization_code or refresh_token.',
    );
  });

  router.post('/revoke', form, (req, res) => {
    const sent = parametersOf(req);
    assertClient(req, sent);
    if (!sent['token']) throw new Refusal({ status: 400, kind: 'invalid_request' }, 'token is missing.');
    grants.revoke(sent['token']);
    res.status(200).end();
  });

  router.use(
    errorHandler((error, res) => {
      const { status, kind, message } = refusalOf(error, context.log);
      if (status === 401) res.set('WWW-Authenticate', 'Basic realm="sandbox"');
      const code = kind === 'bad_body' ? 'invalid_request' : kind;
      sendJson(res, status, { error: code, error_description: message });
    }),
  );
  return router;
}

const accountName = z
  .string()
  .transform((text) => text.normalize('NFC').trim().replaceAll(/\s+/g, ' '))
  .pipe(
    z
      .string()
      .min(1, 'Name a shop.')
      .max(MAX_ACCOUNT_CHARS, `Use at most ${MAX_ACCOUNT_CHARS} characters.`)
      .regex(/^[^\p{C}]*$/u, 'Use letters, digits and signs only.'),
  );

/**
 * Returns the address for the answer: the client's callback at our public address or at any loopback port (RFC 8252
 * section 7.3).
 * @throws Refusal with a message for the person, because a browser is never sent to an unknown address.
 */
function redirectUriOf(query: URLSearchParams, publicUrl: string): string {
  const { client_id: clientId, redirect_uri: redirectUri = '' } = uniqueParams(query);
  if (clientId !== CLIENT.clientId) {
    throw new Refusal(
      { status: 400, kind: 'unknown_client' },
      'The app that sent you here is not known: its client_id is wrong.',
    );
  }
  if (redirectUri === publicUrl + CLIENT.callbackPath) return redirectUri;
  const url = URL.canParse(redirectUri) ? new URL(redirectUri) : undefined;
  const plain = url && `${url.protocol}//${url.host}${CLIENT.callbackPath}`;
  if (url && /^https?:$/.test(url.protocol) && LOOPBACK.has(url.hostname) && redirectUri === plain) {
    return redirectUri;
  }
  throw new Refusal(
    { status: 400, kind: 'foreign_redirect' },
    `The app that sent you here wants to send you back to an address that is not its own: redirect_uri must be ` +
      `${publicUrl}${CLIENT.callbackPath}.`,
  );
}

/** Returns the rest of the request, or the error for the client (RFC 6749 section 4.1.2.1). */
function inputOf(
  query: URLSearchParams,
  redirectUri: string,
): Input | { error: string; error_description: string } {
  const sent = uniqueParams(query);
  const refused = (error: string, error_description: string) => ({ error, error_description });
  if (sent['response_type'] !== 'code') {
    return refused('unsupported_response_type', 'response_type must be code.');
  }
  const challenge = sent['code_challenge'] ?? '';
  if (sent['code_challenge_method'] !== 'S256' || !/^[\w-]{43}$/.test(challenge)) {
    return refused('invalid_request', 'PKCE is required: code_challenge, and code_challenge_method=S256.');
  }
  const scopes = z
    .array(z.enum(SCOPES))
    .min(1)
    .safeParse(namesOf(sent['scope'] ?? SCOPES[0]));
  if (!scopes.success) return refused('invalid_scope', `scope must be among: ${SCOPES.join(' ')}.`);
  return {
    redirectUri,
    ...(sent['state'] === undefined ? {} : { state: sent['state'] }),
    scopes: scopes.data,
    challenge,
  };
}

/** Rejects requests that do not name the public client or that send a secret (RFC 6749 section 2.3). */
function assertClient(
  req: Request,
  { client_id: clientId, client_secret: secret }: Record<string, string>,
): void {
  if (clientId === CLIENT.clientId && !secret && req.get('authorization') === undefined) return;
  throw new Refusal(
    { status: 401, kind: 'invalid_client' },
    `client_id must be ${CLIENT.clientId}, which has no secret.`,
  );
}

/**
 * Returns the parameters of a form.
 * @throws Refusal invalid_request when the body is not a form or repeats a parameter.
 */
function parametersOf(req: Request): Record<string, string> {
  const body: unknown = req.body;
  if (typeof body !== 'string') {
    throw new Refusal(
      { status: 400, kind: 'invalid_request' },
      'Send a body of application/x-www-form-urlencoded.',
    );
  }
  return uniqueParams(new URLSearchParams(body));
}

/** Rejects repeated parameters (RFC 6749 section 3.1). */
function uniqueParams(params: URLSearchParams): Record<string, string> {
  const entries = Object.fromEntries(params);
  if (Object.keys(entries).length === params.size) return entries;
  throw new Refusal({ status: 400, kind: 'invalid_request' }, 'A parameter is repeated.');
}

function namesOf(scope: string): string[] {
  return [...new Set(scope.split(' ').filter((name) => name !== ''))];
}

function viewOf({ scopes, redirectUri }: Input) {
  return { clientName: CLIENT.name, scopes, returnsTo: new URL(redirectUri).host };
}

/** Returns the random value that identifies a browser here, if its cookie has one. */
function browserOf(req: Request): string | undefined {
  return new RegExp(`(?:^|;\\s*)${COOKIE}=([\\w-]{22})(?:;|$)`).exec(req.get('cookie') ?? '')?.[1];
}

function digest(text: string): string {
  return createHash('sha256').update(text).digest('base64url');
}

/** Redirects the browser to the client. 303 prevents a posted form from being posted again. */
function goBack(
  res: Response,
  { redirectUri, state }: { redirectUri: string; state?: string | undefined },
  answer: Record<string, string>,
): void {
  const url = new URL(redirectUri);
  const params = { ...answer, ...(state === undefined ? {} : { state }), iss: ISSUER };
  for (const [name, value] of Object.entries(params)) url.searchParams.set(name, value);
  res
    .set({ ...pageHeaders(), Location: url.href })
    .status(303)
    .end();
}

function sendPage(res: Response, status: number, html: string): void {
  res.set(pageHeaders()).status(status).send(html);
}

function sendJson(res: Response, status: number, body: unknown): void {
  res.set({ 'Cache-Control': 'no-store', Pragma: 'no-cache' }).status(status).json(body);
}
