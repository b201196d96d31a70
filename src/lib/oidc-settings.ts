import { z } from 'zod';
import { isLoopback } from './addresses.ts';
import { faultsOf } from './errors.ts';
import { forFaults } from './for-faults.ts';
import { Secret } from './secret.ts';

/** The roles of people in the console, from the least rights to the most. */
export const CONSOLE_ROLES = ['viewer', 'operator', 'owner'] as const;
export type ConsoleRole = (typeof CONSOLE_ROLES)[number];

const text = z.string().min(1, 'must not be empty').max(500, 'must have at most 500 characters');
const values = z
  .union([text.transform((one) => [one]), z.array(text).min(1).max(100)], {
    error: 'must be a value of the claim, or a list of values',
  })
  .default([]);

const oidcSettings = z.strictObject({
  issuer: text.refine(
    isIssuer,
    'must be an https address without query or fragment; http only for this machine',
  ),
  clientId: text,
  clientSecret: text.transform((secret) => new Secret(secret)).optional(),
  /** How the client sends its secret to the token endpoint. Undefined: as the provider's metadata say. */
  clientAuthentication: z.enum(['basic', 'post']).optional(),
  scopes: z.array(text).min(1).default(['openid', 'profile', 'email']),
  /** The name of a claim, or a dotted path such as `realm_access.roles`. */
  roleClaim: text,
  /** The values of the claim that give a role. */
  roles: z
    .strictObject({ viewer: values, operator: values, owner: values })
    .refine(
      (roles) => CONSOLE_ROLES.some((role) => roles[role].length > 0),
      'must name a value for viewer, operator or owner; otherwise nobody could sign in',
    ),
});

/** The OpenID Connect provider by which people sign in to the console. */
export type OidcSettings = z.infer<typeof oidcSettings>;

/** Reads the JSON of GATEHOUSE_OIDC. @throws Error that names each wrong member, and never the secret. */
export function readOidcSettings(json: string): OidcSettings {
  let value: unknown;
  try {
    value = JSON.parse(json);
  } catch {
    throw new Error(
      'is not JSON; write {"issuer":…,"clientId":…,"clientSecret":…,"roleClaim":…,"roles":{"viewer":…,"operator":…,"owner":…}}',
    );
  }
  const parsed = oidcSettings.safeParse(value, forFaults());
  if (!parsed.success)
    throw new Error(
      faultsOf(parsed.error.issues)
        .map(({ field, rule }) => `${field} ${rule}`)
        .join('; '),
    );
  const { scopes } = parsed.data;
  return scopes.includes('openid') ? parsed.data : { ...parsed.data, scopes: ['openid', ...scopes] };
}

function isIssuer(address: string): boolean {
  const url = URL.canParse(address) ? new URL(address) : undefined;
  if (!url || url.search !== '' || url.hash !== '' || url.username !== '') return false;
  return url.protocol === 'https:' || (url.protocol === 'http:' && isLoopback(url.hostname));
}
