import { z } from 'zod';
import { unknownKey, type SessionCaller } from '../../../identity/caller.ts';
import { findKeyName } from '../../../identity/named-keys.ts';
import { personInWords } from '../../../identity/people.ts';
import { KEY_SCOPES } from '../../../identity/scopes.ts';
import { isoTime } from '../../../lib/clock.ts';
import { GatehouseError } from '../../../lib/errors.ts';
import { CONSOLE_ROLES } from '../../../lib/oidc-settings.ts';
import { ENVIRONMENTS } from '../../../store/environments.ts';
import type { Context } from '../../context.ts';
import { time } from '../../server/shapes.ts';

/** A session as the page of the console reads it. */
export const consoleSession = z.object({
  environment: z.enum(ENVIRONMENTS),
  /** A person may change the environment. A key has one. */
  environments: z.array(z.enum(ENVIRONMENTS)),
  /** Id of the key; null for a person. */
  keyId: z.string().nullable(),
  /** Name of the key or of the person. */
  name: z.string(),
  /** Role of the person; null for a key. */
  role: z.enum(CONSOLE_ROLES).nullable(),
  scopes: z.array(z.string()),
  expiresAt: time.nullable(),
  publicUrl: z.string(),
});

/** The ways to sign in: the host of the OpenID Connect provider, null where there is none. */
export const signInWays = z.object({ provider: z.string().nullable() });

export function signInWaysOf({ oidc }: Pick<Context, 'oidc'>): z.input<typeof signInWays> {
  return { provider: oidc ? new URL(oidc.settings.issuer).host : null };
}

export async function sessionView(
  { db, publicUrl }: Pick<Context, 'db' | 'publicUrl'>,
  { environment, label, scopes, person, sessionEndsAt }: SessionCaller,
): Promise<z.input<typeof consoleSession>> {
  const keyId = label.slice('key:'.length);
  return {
    environment,
    environments: person ? [...ENVIRONMENTS] : [environment],
    keyId: person ? null : keyId,
    name: person ? personInWords(person) : ((await findKeyName(db, keyId)) ?? environment),
    role: person?.role ?? null,
    scopes: scopes === 'all' ? [...KEY_SCOPES] : [...scopes],
    expiresAt: isoTime(sessionEndsAt),
    publicUrl,
  };
}

/** Returns the session of a token; null when it has none or the session ended. */
export async function sessionOf(
  { callers }: Pick<Context, 'callers'>,
  token: string | undefined,
  environment: (typeof ENVIRONMENTS)[number] | undefined,
): Promise<SessionCaller | null> {
  if (token === undefined) return null;
  try {
    return await callers.fromSession(token, environment);
  } catch (error) {
    if (error instanceof GatehouseError && error.status === 401) return null;
    throw error;
  }
}

/** Returns the API key of a text, as a bearer of it would. @throws GatehouseError `unauthorized` */
export async function keyOf({ callers }: Pick<Context, 'callers'>, text: string) {
  const caller = await callers.fromBearer(text);
  if (caller.kind !== 'api_key') throw unknownKey();
  return caller;
}
