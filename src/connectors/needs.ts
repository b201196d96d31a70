import type { Action, Connector } from './catalog.ts';
import type { ActionDefinition, Authentication } from './format.ts';

/** The scheme of a credential. `scopes`: the granted scopes; null where they are unknown. */
export interface Access {
  type: string;
  scopes: readonly string[] | null;
}

/** Why a credential cannot run an action: it needs another scheme, or scopes that were not granted. */
export type Lack = { authentication: string[] } | { scopes: string[] };

/** Returns whether an action requires more than every credential of its connector has. */
export function hasNeeds({ authentication, scopes }: ActionDefinition): boolean {
  return authentication !== undefined || scopes.length > 0;
}

/** Returns what a credential lacks for an action; undefined where nothing is known to be missing. */
export function lackOf(
  { definition }: Pick<Action, 'definition'>,
  { type, scopes }: Access,
): Lack | undefined {
  const { authentication } = definition;
  if (authentication && !authentication.some((one) => one === type)) return { authentication };
  if (scopes === null) return undefined;
  const missing = missingScopes(definition, scopes);
  return missing.length > 0 ? { scopes: missing } : undefined;
}

/** Returns the scopes of an action that are not among these; alternatives as `a or b`. */
export function missingScopes({ scopes }: ActionDefinition, granted: readonly string[]): string[] {
  return scopes
    .map((scope) => [scope].flat())
    .filter((alternatives) => !alternatives.some((one) => granted.includes(one)))
    .map((alternatives) => alternatives.join(' or '));
}

/** Returns the schemes of a connector whose credentials can run an action, as far as the file shows. */
export function schemesFor(
  { definition: { authentication } }: Pick<Connector, 'definition'>,
  { definition }: Pick<Action, 'definition'>,
): string[] {
  return authentication
    .filter(
      (scheme) => lackOf({ definition }, { type: scheme.type, scopes: signInScopes(scheme) }) === undefined,
    )
    .map(({ type }) => type);
}

/**
 * Returns the scopes that a sign-in requests; null for schemes without, and where they belong to the app's
 * registration.
 */
function signInScopes(scheme: Authentication): readonly string[] | null {
  return 'scopes' in scheme && scheme.scopes.length > 0 ? scheme.scopes : null;
}
