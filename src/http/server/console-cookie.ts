import type { IncomingMessage } from 'node:http';
import type { Base } from '../../base.ts';
import type { SessionCaller } from '../../identity/caller.ts';
import { touchConsoleSession } from '../../identity/console-sessions.ts';
import { foreignOrigin } from '../../identity/visit.ts';
import { SECOND } from '../../lib/clock.ts';
import { GatehouseError } from '../../lib/errors.ts';
import { ENVIRONMENTS, type Environment } from '../../store/environments.ts';
import type { Context } from '../context.ts';
import { isSecure, tokenOf } from './browser.ts';

/** Header of every request of the console's page. A page of another origin cannot send it without our consent. */
const CONSOLE_HEADER = 'x-gatehouse-console';
/** The environment that the address of the page names. A person's session covers both. */
const ENVIRONMENT_HEADER = 'x-gatehouse-environment';
/** The value of CONSOLE_HEADER when a person caused the request. Other requests do not keep a session alive. */
const BY_PERSON = 'person';

type CookieContext = Pick<Base, 'publicUrl' | 'config'>;

/**
 * Returns the token of a request by the console's page; undefined for other requests and without a cookie.
 * @throws GatehouseError `forbidden` as assertConsolePage().
 */
export function consoleToken(context: CookieContext, req: IncomingMessage): string | undefined {
  if (!context.config.console || req.headers[CONSOLE_HEADER] === undefined) return undefined;
  assertConsolePage(context, req);
  return tokenOf(req.headers.cookie, nameAt(context.publicUrl, SESSION));
}

/**
 * Returns the key or the person of the console's session; undefined when the request sends a bearer or has no session's
 * cookie.
 */
export async function consoleCaller(
  context: Context,
  req: IncomingMessage,
): Promise<SessionCaller | undefined> {
  if (req.headers.authorization !== undefined) return undefined;
  const token = consoleToken(context, req);
  if (token === undefined) return undefined;
  const caller = await context.callers.fromSession(token, environmentOf(req));
  if (req.headers[CONSOLE_HEADER] === BY_PERSON) await touchConsoleSession(context, token);
  return caller;
}

/**
 * Checks that a request comes from the console's own page. The browser states its origin in two headers, and adds our
 * header only to requests of the same origin.
 * @throws GatehouseError `forbidden`
 */
export function assertConsolePage(context: CookieContext, req: IncomingMessage): void {
  const site = req.headers['sec-fetch-site'];
  const isOwn = site === undefined || site === 'same-origin';
  if (req.headers[CONSOLE_HEADER] !== undefined && isOwn && foreignOrigin(context, req) === undefined) return;
  throw new GatehouseError(
    'forbidden',
    `Only the console's own page may send this. It sends the header ${CONSOLE_HEADER}.`,
  );
}

/** Returns the environment that the page names; undefined where it names none. */
export function environmentOf({ headers }: IncomingMessage): Environment | undefined {
  return ENVIRONMENTS.find((one) => one === headers[ENVIRONMENT_HEADER]);
}

/** Returns the header that stores a session's token in the browser. Scripts cannot read the cookie. */
export function setConsoleCookie({ publicUrl }: CookieContext, token: string, maxAgeMs: number): string {
  return cookie(publicUrl, SESSION, { value: token, seconds: Math.max(0, Math.floor(maxAgeMs / SECOND)) });
}

/** Returns the header that removes the cookie. */
export function clearConsoleCookie({ publicUrl }: CookieContext): string {
  return cookie(publicUrl, SESSION, { value: '', seconds: 0 });
}

/** Returns the header that stores the token of a sign-in at the provider, which sends the browser back from its site. */
export function setSignInCookie({ publicUrl }: CookieContext, token: string): string {
  return cookie(publicUrl, SIGN_IN, { value: token, seconds: SIGN_IN_SECONDS });
}

/** Returns the header that ends a sign-in at the provider. */
export function clearSignInCookie({ publicUrl }: CookieContext): string {
  return cookie(publicUrl, SIGN_IN, { value: '', seconds: 0 });
}

/** Returns the token of the sign-in that this browser began; undefined without one. */
export function signInToken({ publicUrl }: CookieContext, { headers }: IncomingMessage): string | undefined {
  return tokenOf(headers.cookie, nameAt(publicUrl, SIGN_IN));
}

interface CookieKind {
  name: string;
  /** `Lax` where a redirect from another site must carry the cookie. */
  sameSite: 'Strict' | 'Lax';
}

const SESSION: CookieKind = { name: 'console', sameSite: 'Strict' };
const SIGN_IN: CookieKind = { name: 'sign-in', sameSite: 'Lax' };
/** People may have to find their second factor first. */
const SIGN_IN_SECONDS = 900;

function cookie(
  publicUrl: string,
  kind: CookieKind,
  { value, seconds }: { value: string; seconds: number },
): string {
  const secure = isSecure(publicUrl) ? '; Secure' : '';
  return `${nameAt(publicUrl, kind)}=${value}; Path=/; Max-Age=${seconds}; HttpOnly; SameSite=${kind.sameSite}${secure}`;
}

/** Cookies ignore ports, and two Gatehouses may run on one machine, so the name has the port. */
function nameAt(publicUrl: string, { name }: CookieKind): string {
  if (isSecure(publicUrl)) return `__Host-gatehouse-${name}`;
  return `gatehouse-${name}-${new URL(publicUrl).port || '80'}`;
}
