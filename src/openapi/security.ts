import type { Import, Written } from './context.ts';
import { entriesOf, itemsOf, LeftOut, memberOf, type Node } from './node.ts';
import type { Operation, Parameter } from './operation.ts';
import { readScheme, type Scheme } from './security-scheme.ts';
import { combinedScheme } from './security-combined.ts';

/*
 * Security requirements become schemes of a connector file. A file has at most one scheme of each type, so a second
 * API key becomes a `custom` one.
 */

/** One alternative of a requirement: schemes that are needed together, with their OAuth scopes. */
type Alternative = { name: string; scopes: string[] }[];

export interface Security {
  /** Returns the members `authentication` and `scopes` of an action, where not every credential can run it. */
  needs(operation: Operation): Written;
  /** Returns whether the credential supplies a parameter, so that a caller does not. */
  supplies(operation: Operation, parameter: Parameter): boolean;
  /** Returns the schemes of the file; call it after all operations. */
  schemes(): Written[];
}

const CREDENTIAL_NAMES = new Set(['token', 'accesstoken', 'apikey', 'apitoken', 'authtoken']);

export function readSecurity(context: Import): Security {
  const { documents, reporter, isSwagger2 } = context;
  const declared = new Map(
    entriesOf(
      isSwagger2
        ? memberOf(documents.root, 'securityDefinitions')
        : memberOf(memberOf(documents.root, 'components'), 'securitySchemes'),
    ).map(([name, node]) => [name, readScheme(context, name, documents.follow(node))]),
  );
  const keys = new Set([...declared.values()].map((one) => `${one?.in} ${one?.parameter?.toLowerCase()}`));
  const common = alternativesOf(memberOf(documents.root, 'security'));
  /** Types by the names of the schemes that are needed together. */
  const types = new Map<string, string | undefined>();
  const schemes = new Map<string, Written>();
  const scopesAsked = new Set<string>();
  let open = false;

  function typeFor(alternative: Alternative): string | undefined {
    const key = alternative
      .map(({ name }) => name)
      .sort()
      .join(' ');
    if (types.has(key)) return types.get(key);
    const parts = alternative.map(({ name }) => declared.get(name));
    const known = parts.filter((part): part is Scheme => part !== undefined);
    const found = known.length === parts.length ? combinedScheme(known, new Set(schemes.keys())) : undefined;
    if (found) schemes.set(found.type, found.written);
    else
      reporter.approximate(
        '#/security',
        `credentials by "${key}" are missing, because a connector cannot hold them next to the others`,
      );
    types.set(key, found?.type);
    return found?.type;
  }

  function alternativesFor(operation: Operation): Alternative[] | undefined {
    const own = memberOf(operation.node, 'security');
    if (own.value !== undefined) return alternativesOf(own);
    // A document that declares schemes but no requirement does not say where they apply. Each scheme is then allowed.
    return (
      common ?? (declared.size > 0 ? [...declared.keys()].map((name) => [{ name, scopes: [] }]) : undefined)
    );
  }

  return {
    needs(operation) {
      const alternatives = alternativesFor(operation);
      if (!alternatives || alternatives.length === 0) {
        open ||= alternatives !== undefined;
        return {};
      }
      const isOptional = alternatives.some((one) => one.length === 0);
      const possible = alternatives.filter((one) => one.length > 0);
      const found = possible.map((one) => ({
        type: typeFor(one),
        scopes: one.flatMap(({ scopes }) => scopes),
      }));
      const usable = found.filter(({ type }) => type !== undefined);
      if (usable.length === 0 && !isOptional)
        throw new LeftOut('it needs a credential of a kind that connectors do not have');
      if (isOptional) {
        open = true;
        return {};
      }
      for (const { type, scopes } of usable)
        if (type?.startsWith('oauth2')) for (const scope of scopes) scopesAsked.add(scope);
      return { authentication: [...new Set(usable.map(({ type }) => type))], ...neededScopes(usable) };
    },
    supplies(operation, parameter) {
      if (operation.parameters.length === 0) return false;
      const place = parameter.in;
      if (keys.has(`${place} ${parameter.name.toLowerCase()}`)) return true;
      return declared.size > 0 && isCredential(parameter);
    },
    schemes() {
      if (schemes.size === 0) {
        if (!open)
          reporter.approximate(
            '#/security',
            'the document requires no credential; a bearer token is optional',
          );
        return [{ type: 'none' }, { type: 'bearer', title: 'Access token' }];
      }
      const all = [...schemes.values()].map((scheme) => withScopes(scheme, scopesAsked));
      return open ? [...all, { type: 'none' }] : all;
    },
  };
}

/** Returns whether a parameter holds the credential, judged by its name and description, without a scheme that says so. */
export function isCredential({ name, in: place, node }: Parameter): boolean {
  if (place !== 'header' && place !== 'query') return false;
  const description = memberOf(node, 'description').value;
  return (
    CREDENTIAL_NAMES.has(name.toLowerCase().replaceAll(/[^a-z]/g, '')) &&
    typeof description === 'string' &&
    /authenticat/i.test(description)
  );
}

/** Returns the scopes of an action with one OAuth alternative. Several alternatives of one scope each become an inner list. */
function neededScopes(usable: { type: string | undefined; scopes: string[] }[]): Written {
  const oauth = usable.filter(({ type }) => type?.startsWith('oauth2'));
  const [only] = oauth;
  if (!only || oauth.some(({ scopes }) => scopes.length === 0)) return {};
  if (oauth.length === 1) return { scopes: [...new Set(only.scopes)] };
  if (oauth.some(({ scopes }) => scopes.length !== 1)) return {};
  const choice = [...new Set(oauth.flatMap(({ scopes }) => scopes))];
  return { scopes: choice.length === 1 ? choice : [choice] };
}

function withScopes(scheme: Written, asked: ReadonlySet<string>): Written {
  if (!String(scheme['type']).startsWith('oauth2') || asked.size === 0) return scheme;
  return { ...scheme, scopes: [...asked].sort() };
}

/** Returns the alternatives of a `security` list; undefined where there is none. */
function alternativesOf(node: Node): Alternative[] | undefined {
  if (!Array.isArray(node.value)) return undefined;
  return itemsOf(node).map((entry) =>
    entriesOf(entry).map(([name, scopes]) => ({
      name,
      scopes: itemsOf(scopes).flatMap(({ value }) =>
        typeof value === 'string' && value.trim() !== '' && value.length <= 300 ? [value] : [],
      ),
    })),
  );
}
