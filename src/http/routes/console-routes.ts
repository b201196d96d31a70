import { z } from 'zod';
import { endConsoleSession, openConsoleSession } from '../../identity/console-sessions.ts';
import { unknownKey, type Caller } from '../../identity/caller.ts';
import { findKeyName } from '../../identity/named-keys.ts';
import { KEY_SCOPES } from '../../identity/scopes.ts';
import { isoTime } from '../../lib/clock.ts';
import { GatehouseError } from '../../lib/errors.ts';
import type { Context } from '../context.ts';
import { assertConsolePage, clearConsoleCookie, setConsoleCookie } from '../server/console-cookie.ts';
import { openLiveStream } from '../server/live-stream.ts';
import { defineRoute, type Route } from '../server/route.ts';
import { time } from '../server/shapes.ts';

/* The console's own routes. They serve its page alone, so the reference leaves them out. */

const ofConsole = { tag: 'Console' } as const;

const session = z.object({
  environment: z.enum(['development', 'production']),
  keyId: z.string(),
  keyName: z.string(),
  scopes: z.array(z.string()),
  expiresAt: time.nullable(),
  publicUrl: z.string(),
});

const signInRoute = defineRoute({
  ...ofConsole,
  method: 'POST',
  path: '/console/session',
  operationId: 'signInToConsole',
  summary: 'Sign in to the console with an API key',
  auth: 'none',
  headers: { 'x-gatehouse-console': 'Sent by the page of the console.' },
  body: z.strictObject({ apiKey: z.string().max(200) }),
  success: { status: 201, description: 'The session. Its token is in a cookie.', schema: session },
  errors: ['unauthorized', 'forbidden', 'rate_limited'],
  async handler({ context, requestId, request, body }) {
    assertConsolePage(context, request);
    const caller = await context.callers.fromBearer(body.apiKey.trim());
    if (caller.kind !== 'api_key') throw unknownKey();
    const opened = await openConsoleSession(context, body.apiKey.trim());
    if (!opened) throw unknownKey();
    const { environment, label } = caller;
    const audited = { operation: 'signInToConsole', target: undefined, status: 201 };
    await context.audit.record({ environment, requestId, caller: label, ...audited });
    const cookie = setConsoleCookie(context, opened.token, opened.expiresAt - context.clock.now());
    return {
      body: await view(context, { ...caller, endsAt: opened.expiresAt }),
      headers: { 'Set-Cookie': cookie },
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
    description: 'The session; null before the sign-in.',
    schema: z.object({ session: session.nullable() }),
  },
  async handler({ context, consoleToken }) {
    const caller = await callerOf(context, consoleToken());
    return { body: { session: caller && (await view(context, caller)) } };
  },
});

const signOutRoute = defineRoute({
  ...ofConsole,
  method: 'DELETE',
  path: '/console/session',
  operationId: 'signOutOfConsole',
  summary: 'Sign out of the console',
  auth: 'api_key',
  success: { status: 200, description: 'The session ended.', schema: z.object({ message: z.string() }) },
  audited: true,
  async handler({ context, consoleToken }) {
    const token = consoleToken();
    if (token !== undefined) await endConsoleSession(context, token);
    context.callers.forget();
    return {
      body: { message: 'The session of the console ended.' },
      headers: { 'Set-Cookie': clearConsoleCookie(context) },
    };
  },
});

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
      if (token !== undefined) await context.callers.fromSession(token);
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
export const CONSOLE_ROUTES: Route[] = [signInRoute, getSessionRoute, signOutRoute, liveRoute];

async function callerOf({ callers }: Context, token: string | undefined): Promise<Caller | null> {
  if (token === undefined) return null;
  try {
    return await callers.fromSession(token);
  } catch (error) {
    if (error instanceof GatehouseError && error.status === 401) return null;
    throw error;
  }
}

async function view(context: Context, caller: Caller): Promise<z.input<typeof session>> {
  const keyId = caller.label.slice('key:'.length);
  return {
    environment: caller.environment,
    keyId,
    keyName: (await findKeyName(context.db, keyId)) ?? caller.environment,
    scopes: caller.scopes === 'all' ? [...KEY_SCOPES] : [...caller.scopes],
    expiresAt: isoTime(caller.endsAt ?? null),
    publicUrl: context.publicUrl,
  };
}
