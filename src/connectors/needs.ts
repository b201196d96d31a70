import type { Action, Connector } from './catalog.ts';
import type { ActionDefinition, Authentication } from './format/format.ts';

/** Returns whether some credentials of its connector cannot run an action. */
export function hasNeeds({ authentication }: ActionDefinition): boolean {
  return authentication !== undefined;
}

/** Returns whether credentials of a scheme can run an action. */
export function runsWith({ definition }: Pick<Action, 'definition'>, type: string): boolean {
  const { authentication } = definition;
  return authentication === undefined || authentication.some((one) => one === type);
}

/** Returns the schemes of a connector whose credentials can run an action. */
export function schemesFor(
  { definition: { authentication } }: Pick<Connector, 'definition'>,
  action: Pick<Action, 'definition'>,
): Authentication[] {
  return authentication.filter(({ type }) => runsWith(action, type));
}

/**
 * Returns the scopes of an action that a text of scopes does not name; of alternatives, the one that `preferred` has,
 * else the first. Such a text is a claim about names, not about rights: authorization servers leave names out, spell
 * them in another way, or name a broader scope. It therefore never refuses, hides or reroutes a call.
 */
export function unnamedScopes(
  { scopes }: ActionDefinition,
  named: readonly string[],
  preferred: readonly string[] = [],
): string[] {
  const names = named.flatMap((one) => one.toLowerCase().split(/[\s,]+/));
  const unnamed = scopes
    .map((scope) => [scope].flat())
    .filter((alternatives) => !alternatives.some((one) => isNamed(one.toLowerCase(), names)))
    .flatMap((alternatives) => alternatives.find((one) => preferred.includes(one)) ?? alternatives[0] ?? []);
  return [...new Set(unnamed)];
}

/** Returns whether a scope is among names. A full address has the name at its end. */
function isNamed(scope: string, names: readonly string[]): boolean {
  return names.some((name) => name === scope || endsIn(name, scope) || endsIn(scope, name));
}

function endsIn(address: string, name: string): boolean {
  return address.includes('://') && (address.endsWith(`/${name}`) || address.endsWith(`.${name}`));
}

/**
 * Returns the scopes that a sign-in requests; undefined for schemes without, and where they belong to the app's
 * registration.
 */
export function signInScopes(scheme: Authentication | undefined): readonly string[] | undefined {
  return scheme && 'scopes' in scheme && scheme.scopes.length > 0 ? scheme.scopes : undefined;
}
