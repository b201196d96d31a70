import { z } from 'zod';
import type { IncomingMessage } from 'node:http';
import { openPersonSession } from '../../../identity/console-sessions.ts';
import { SignInError, type Oidc, type SignedInPerson } from '../../../identity/oidc.ts';
import { labelOfPerson, savePerson } from '../../../identity/people.ts';
import { countRefusal } from '../../../identity/visit.ts';
import { GatehouseError } from '../../../lib/errors.ts';
import { ENVIRONMENTS } from '../../../store/environments.ts';
import type { Context } from '../../context.ts';
import {
  assertConsolePage,
  clearSignInCookie,
  consoleCaller,
  setConsoleCookie,
  setSignInCookie,
  signInToken,
} from '../../server/console-cookie.ts';
import { defineRoute, type Route } from '../../server/route.ts';
import { anyQuery, searchParamsOf } from '../../server/shapes.ts';

/* The sign-in to the console by OpenID Connect. The page begins it, and the provider sends the browser back. */

const beginRoute = defineRoute({
  method: 'POST',
  path: '/console/oidc/sign-in',
  operationId: 'beginConsoleSignIn',
  tag: 'Console',
  summary: 'Begin a sign-in at the OpenID Connect provider',
  auth: 'none',
  headers: { 'x-gatehouse-console': 'Sent by the page of the console.' },
  success: {
    status: 201,
    description: 'The address of the provider.',
    schema: z.object({ authorizationUrl: z.string() }),
  },
  errors: ['forbidden', 'not_found', 'unavailable'],
  async handler({ context, request, requestId }) {
    assertConsolePage(context, request);
    const oidc = requireOidc(context);
    try {
      const { authorizationUrl, token } = await oidc.begin();
      return {
        body: { authorizationUrl },
        headers: { 'Set-Cookie': setSignInCookie(context, token) },
      };
    } catch (error) {
      if (!(error instanceof SignInError)) throw error;
      context.log.warn(
        { requestId, fault: error.fault, reason: error.message },
        'sign-in to the console not begun',
      );
      throw new GatehouseError(
        'unavailable',
        SENTENCES[error.fault === 'unreachable' ? 'unreachable' : 'other'],
      );
    }
  },
});

const SENTENCES = {
  unreachable:
    'The sign-in provider cannot be reached. Try again in a minute, or sign in with an API key. The log has the reason.',
  other:
    'The sign-in provider does not answer as GATEHOUSE_OIDC says it should. Sign in with an API key; the log has the reason.',
};

const callbackRoute = defineRoute({
  method: 'GET',
  path: '/console/oidc/callback',
  operationId: 'finishConsoleSignIn',
  tag: 'Console',
  summary: 'Return from the OpenID Connect provider',
  auth: 'none',
  actsOnGet: true,
  query: anyQuery,
  success: { status: 303, description: 'Redirect to the console.', schema: z.string() },
  errors: ['not_found', 'rate_limited'],
  async handler({ context, request, requestId, query }) {
    const oidc = requireOidc(context);
    try {
      const person = await oidc.finish(signInToken(context, request), searchParamsOf(query));
      return to(`${context.publicUrl}/console`, [
        clearSignInCookie(context),
        await signIn(context, person, requestId),
      ]);
    } catch (error) {
      if (!(error instanceof SignInError)) throw error;
      // A reload of the address comes after the sign-in that it finished.
      if (await isSignedIn(context, request)) return to(`${context.publicUrl}/console`, []);
      context.log.warn(
        { requestId, fault: error.fault, reason: error.message },
        'sign-in to the console refused',
      );
      await assertNotTooMany(context, request);
      const values = new URLSearchParams({ 'sign-in': error.fault, request: requestId });
      return to(`${context.publicUrl}/console?${values}`, [clearSignInCookie(context)]);
    }
  },
});

/** Opens the session of a person. Returns the header of its cookie. */
async function signIn(context: Context, found: SignedInPerson, requestId: string): Promise<string> {
  const { personId, role } = await savePerson(context, found);
  const { token, expiresAt } = await openPersonSession(context, { personId, idToken: found.idToken });
  // The session is of both environments, so both logs have it.
  for (const environment of ENVIRONMENTS)
    await context.audit.record({
      environment,
      requestId,
      caller: labelOfPerson(personId),
      operation: 'signInToConsole',
      target: `${role} ${found.email ?? found.subject}`,
      status: 303,
    });
  return setConsoleCookie(context, token, expiresAt - context.clock.now());
}

async function isSignedIn(context: Context, request: IncomingMessage): Promise<boolean> {
  try {
    return (await consoleCaller(context, request)) !== undefined;
  } catch {
    return false;
  }
}

/** Counts a refused sign-in as other refusals are. @throws GatehouseError `rate_limited` */
async function assertNotTooMany(context: Context, request: IncomingMessage): Promise<void> {
  const refusal = new GatehouseError('unauthorized', 'The sign-in was refused.');
  const counted = await countRefusal(context, { req: request }, refusal);
  if (counted !== refusal) throw counted;
}

function requireOidc({ oidc }: Context): Oidc {
  if (oidc) return oidc;
  throw new GatehouseError('not_found', 'This Gatehouse has no OpenID Connect provider (GATEHOUSE_OIDC).');
}

function to(location: string, cookies: string[]) {
  return { body: '', headers: { Location: location, 'Set-Cookie': cookies } };
}

/** The routes of the sign-in by OpenID Connect. */
export const OIDC_ROUTES: Route[] = [beginRoute, callbackRoute];
