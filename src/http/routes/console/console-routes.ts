import { z } from 'zod';
import { endConsoleSession, openConsoleSession } from '../../../identity/console-sessions.ts';
import { unknownKey } from '../../../identity/caller.ts';
import type { Context } from '../../context.ts';
import {
  assertConsolePage,
  clearConsoleCookie,
  environmentOf,
  setConsoleCookie,
} from '../../server/console-cookie.ts';
import { openLiveStream } from '../../server/live-stream.ts';
import { defineRoute, type Route } from '../../server/route.ts';
import { OIDC_ROUTES } from './console-oidc.ts';
import { PEOPLE_ROUTES } from './console-people.ts';
import {
  consoleSession,
  keyOf,
  sessionOf,
  sessionView,
  signInWays,
  signInWaysOf,
} from './console-session.ts';

/* The console's own routes. They serve its page alone, so the reference leaves them out. */

const ofConsole = { tag: 'Console' } as const;

const signInRoute = defineRoute({
  ...ofConsole,
  method: 'POST',
  path: '/console/session',
  operationId: 'signInToConsole',
  summary: 'Sign in to the console with an API key',
  auth: 'none',
  headers: { 'x-gatehouse-console': 'Sent by the page of the console.' },
  body: z.strictObject({ apiKey: z.string().max(200) }),
  success: { status: 201, description: 'The session. Its token is in a cookie.', schema: consoleSession },
  errors: ['unauthorized', 'forbidden', 'rate_limited'],
  async handler({ context, requestId, request, body }) {
    assertConsolePage(context, request);
    const caller = await keyOf(context, body.apiKey.trim());
    const opened = await openConsoleSession(context, body.apiKey.trim());
    if (!opened) throw unknownKey();
    const { environment, label } = caller;
    const audited = { operation: 'signInToConsole', target: undefined, status: 201 };
    await context.audit.record({ environment, requestId, caller: label, ...audited });
    const { token, expiresAt: sessionEndsAt } = opened;
    return {
      body: await sessionView(context, { ...caller, person: undefined, sessionEndsAt }),
      headers: { 'Set-Cookie': setConsoleCookie(context, token, sessionEndsAt - context.clock.now()) },
    };
  },
});

const getSessionRoute = defineRoute({
  ...ofConsole,
  method: 'GET',
  path: '/console/session',
  operationId: 'getConsoleSession',
  summary: 'Read the session of the console',
  // A page without a session is no refused attempt, so the answer is no 401.
  auth: 'none',
  success: {
    status: 200,
    description: 'The session, null before the sign-in; and the ways to sign in.',
    schema: z.object({ session: consoleSession.nullable(), signIn: signInWays }),
  },
  errors: ['forbidden'],
  async handler({ context, request, consoleToken }) {
    const caller = await sessionOf(context, consoleToken(), environmentOf(request));
    return {
      body: { session: caller && (await sessionView(context, caller)), signIn: signInWaysOf(context) },
    };
  },
});

const signOutRoute = defineRoute({
  ...ofConsole,
  method: 'DELETE',
  path: '/console/session',
  operationId: 'signOutOfConsole',
  summary: 'Sign out of the console',
  auth: 'api_key',
  success: {
    status: 200,
    description:
      'The session ended. `continueAt` ends the session at the provider; null where there is none.',
    schema: z.object({ message: z.string(), continueAt: z.string().nullable() }),
  },
  audited: true,
  async handler({ context, caller, consoleToken }) {
    const token = consoleToken();
    const idToken = token === undefined ? undefined : await endConsoleSession(context, token);
    context.callers.forget();
    return {
      body: {
        message: 'The session of the console ended.',
        continueAt: caller.kind === 'person' ? await endAtProvider(context, idToken) : null,
      },
      headers: { 'Set-Cookie': clearConsoleCookie(context) },
    };
  },
});

/** Returns the address that ends the session at the provider too. Our own session ends also when that is unknown. */
async function endAtProvider({ oidc, log }: Context, idToken: string | undefined): Promise<string | null> {
  try {
    return (await oidc?.signOutUrl(idToken)) ?? null;
  } catch (err) {
    log.warn({ err }, 'sign-out at the OpenID Connect provider failed');
    return null;
  }
}

const liveRoute = defineRoute({
  ...ofConsole,
  method: 'GET',
  path: '/console/live',
  operationId: 'watchConsole',
  summary: 'Stream the names of what changed',
  description: 'Server-sent events `changed` with `{topics}`, within two seconds of a change.',
  auth: 'api_key',
  success: {
    status: 200,
    description: 'A stream of events.',
    schema: z.string(),
    contentType: 'text/event-stream',
  },
  errors: ['rate_limited'],
  async handler({ context, caller, consoleToken, signal }) {
    const token = consoleToken();
    const renew = async () => {
      if (token !== undefined) await context.callers.fromSession(token, caller.environment);
    };
    const stream = await openLiveStream(context, { caller, renew, signal });
    return { body: stream, headers: STREAM_HEADERS };
  },
});

const STREAM_HEADERS = {
  'Content-Type': 'text/event-stream; charset=utf-8',
  // Proxies that buffer answers would hold the events back.
  'X-Accel-Buffering': 'no',
};

/** The routes of the console's page. */
export const CONSOLE_ROUTES: Route[] = [
  signInRoute,
  getSessionRoute,
  signOutRoute,
  liveRoute,
  ...OIDC_ROUTES,
  ...PEOPLE_ROUTES,
];
