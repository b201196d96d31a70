import type { IncomingMessage } from 'node:http';
import type { Base } from '../../base.ts';
import type { Caller } from '../../identity/caller.ts';
import { touchConsoleSession } from '../../identity/console-sessions.ts';
import { foreignOrigin } from '../../identity/visit.ts';
import { GatehouseError } from '../../lib/errors.ts';
import type { Context } from '../context.ts';
import { isSecure, tokenOf } from './browser.ts';

/** Header of every request of the console's page. A page of another origin cannot send it without our consent. */
const CONSOLE_HEADER = 'x-gatehouse-console';
/** Its value when a person caused the request. Other requests do not keep a session alive. */
const BY_PERSON = 'person';

type CookieContext = Pick<Base, 'publicUrl' | 'config'>;

/**
 * Returns the token of a request by the console's page; undefined for other requests and without a cookie.
 * @throws GatehouseError `forbidden` as assertConsolePage().
 */
export function consoleToken(context: CookieContext, req: IncomingMessage): string | undefined {
  if (!context.config.console || req.headers[CONSOLE_HEADER] === undefined) return undefined;
  assertConsolePage(context, req);
  return tokenOf(req.headers.cookie, nameAt(context.publicUrl));
}

/** Returns the key of the console's session; undefined when the request sends a bearer or has no session's cookie. */
export async function consoleCaller(context: Context, req: IncomingMessage): Promise<Caller | undefined> {
  if (req.headers.authorization !== undefined) return undefined;
  const token = consoleToken(context, req);
  if (token === undefined) return undefined;
  const caller = await context.callers.fromSession(token);
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

/** Returns the header that stores a session's token in the browser. Scripts cannot read the cookie. */
export function setConsoleCookie({ publicUrl }: CookieContext, token: string, maxAgeMs: number): string {
  return cookie(publicUrl, token, Math.max(0, Math.floor(maxAgeMs / 1000)));
}

/** Returns the header that removes the cookie. */
export function clearConsoleCookie({ publicUrl }: CookieContext): string {
  return cookie(publicUrl, '', 0);
}

function cookie(publicUrl: string, value: string, seconds: number): string {
  const secure = isSecure(publicUrl) ? '; Secure' : '';
  return `${nameAt(publicUrl)}=${value}; Path=/; Max-Age=${seconds}; HttpOnly; SameSite=Strict${secure}`;
}

/** Cookies ignore ports, and two Gatehouses may run on one machine, so the name has the port. */
function nameAt(publicUrl: string): string {
  if (isSecure(publicUrl)) return '__Host-gatehouse-console';
  return `gatehouse-console-${new URL(publicUrl).port || '80'}`;
}
