import { CONSOLE_ROLES, type ConsoleRole, type OidcSettings } from '../lib/oidc-settings.ts';
import { shownName } from '../lib/hidden-characters.ts';
import { isJsonObject } from '../lib/json.ts';

const MAX_TEXT = 200;

/** Claims of a provider about a person. */
export type Claims = Readonly<Record<string, unknown>>;

/** Returns the highest role that the claims give; undefined when none fits. */
export function roleOf(
  claims: Claims,
  { roleClaim, roles }: Pick<OidcSettings, 'roleClaim' | 'roles'>,
): ConsoleRole | undefined {
  const held = new Set(textsOf(claimAt(claims, roleClaim)));
  return CONSOLE_ROLES.toReversed().find((role) => roles[role].some((value) => held.has(value)));
}

/**
 * Returns a claim by its name, which may contain dots (`https://northwind.example/roles`), else by a dotted path
 * (`realm_access.roles`).
 */
export function claimAt(claims: Claims, path: string): unknown {
  if (Object.hasOwn(claims, path)) return claims[path];
  let value: unknown = claims;
  for (const name of path.split('.')) {
    if (!isJsonObject(value) || !Object.hasOwn(value, name)) return undefined;
    value = value[name];
  }
  return value;
}

/** Returns the name and the address of a person that the provider gives, each in one line. */
export function personOf(claims: Claims): { name: string | null; email: string | null } {
  const first = (...names: string[]) =>
    names
      .flatMap((name) => textsOf(claims[name]).map(shownName))
      .find((text) => text !== '')
      ?.slice(0, MAX_TEXT) ?? null;
  return { name: first('name', 'preferred_username', 'nickname'), email: first('email') };
}

function textsOf(claim: unknown): string[] {
  return [claim]
    .flat()
    .flatMap((one) => (['string', 'number', 'boolean'].includes(typeof one) ? [String(one)] : []));
}
