import { iconPath } from '../connectors/icon.ts';
import type { Connector } from '../connectors/catalog.ts';
import type { Authentication, CredentialField } from '../connectors/format/format.ts';
import type { Base } from '../base.ts';
import { appFields, checkFields, credentialFields } from '../credentials/fields.ts';
import { authenticationMetadata, type AuthenticationMetadata } from '../credentials/metadata.ts';
import { connectorsWithOAuthApp, requireOAuthClient } from '../credentials/oauth-apps.ts';
import { requestedScopes, type OAuthClient } from '../credentials/oauth-client.ts';
import { GatehouseError, invalidRequest, type Fault } from '../lib/errors.ts';
import type { JsonObject } from '../lib/json.ts';
import { schemeOf } from '../credentials/credential-records.ts';
import type { Environment } from '../store/environments.ts';
import type { ConnectSession } from './connect-sessions.ts';

type AppContext = Pick<Base, 'db' | 'catalog' | 'keys' | 'publicUrl'>;

/**
 * Returns the apps that a session offers, with the forms of their ways to authenticate. `given`: fields with known
 * values, which the form leaves out.
 */
export async function appsOf(
  context: AppContext,
  session: Pick<ConnectSession, 'environment' | 'connectors' | 'type'> & { scopes?: readonly string[] },
  given: readonly string[] = [],
) {
  const { environment, connectors, type: only, scopes = [] } = session;
  const withOAuthApp = await connectorsWithOAuthApp(context, environment);
  return context.catalog
    .connectors(environment)
    .filter(({ connectorId }) => connectors === null || connectors.includes(connectorId))
    .filter(({ definition }) => definition.authentication.some(({ type }) => type !== 'none'))
    .map((connector) => ({
      connectorId: connector.connectorId,
      name: connector.name,
      description: connector.description,
      categories: connector.categories,
      iconUrl: context.publicUrl + iconPath(connector),
      color: connector.definition.color,
      authentication: authenticationMetadata(connector)
        .filter(({ type }) => type !== 'none' && (only === null || type === only))
        .map((metadata) => withoutFields(metadata, [...given, ...appFieldNames(connector, metadata.type)]))
        .map((metadata) => ({
          ...metadata,
          ...(metadata.type === 'oauth2'
            ? { scopes: requestedScopes(metadata, withOAuthApp.get(connector.connectorId), scopes) }
            : {}),
          /** False when signing in needs an OAuth app that is not stored. */
          ready: metadata.type !== 'oauth2' || withOAuthApp.has(connector.connectorId),
        })),
    }));
}

/**
 * Returns the connector ids that `app`, `category` or `connectors` select; undefined means all.
 * @throws GatehouseError `connector_not_found`; `invalid_request` for `app` together with another one, or a category
 * without apps.
 */
export function chosenConnectors(
  { catalog }: Pick<Base, 'catalog'>,
  environment: Environment,
  {
    app,
    category,
    connectors,
  }: { app?: string | undefined; category?: string | undefined; connectors?: string[] | undefined },
): string[] | undefined {
  if (app !== undefined && (category !== undefined || connectors !== undefined)) {
    throw invalidRequest([{ field: 'app', rule: 'cannot be given together with category or connectors' }]);
  }
  const named = app === undefined ? connectors : [app];
  for (const connectorId of named ?? []) requireConnector({ catalog }, environment, connectorId);
  if (category === undefined) return named;
  const inCategory = catalog
    .connectors(environment)
    .filter(({ categories }) => categories.includes(category.toLowerCase()))
    .map(({ connectorId }) => connectorId)
    .filter((connectorId) => named === undefined || named.includes(connectorId));
  if (inCategory.length > 0) return inCategory;
  throw invalidRequest([{ field: 'category', rule: 'names no category that has apps here' }]);
}

/**
 * Returns the connector and scheme that the person chose.
 * @throws GatehouseError `connector_not_found`, `invalid_request`
 */
export function chosenScheme(
  context: Pick<Base, 'catalog'>,
  session: ConnectSession,
  { connectorId, type }: { connectorId: string; type: string },
): { connector: Connector; scheme: Exclude<Authentication, { type: 'none' }> } {
  if (session.connectors && !session.connectors.includes(connectorId)) throw connectorNotFound(connectorId);
  const connector = requireConnector(context, session.environment, connectorId);
  const scheme = connector.definition.authentication.find((one) => one.type === type);
  const offered = session.type === null || session.type === type;
  if (scheme && scheme.type !== 'none' && offered) return { connector, scheme };
  const known = session.type ?? connector.definition.authentication.map((one) => one.type).join(', ');
  throw invalidRequest([{ field: 'type', rule: `must be one of: ${known}` }]);
}

/**
 * Returns the fields that are known before the sign-in to a new OAuth credential; undefined when no sign-in is
 * needed. Checks them now, so that the caller that creates the link gets the faults, not the user.
 * @throws GatehouseError `connector_not_found`, `oauth_app_missing`, `invalid_request` with every fault by field.
 */
export async function beforeSignIn(
  context: AppContext,
  input: {
    environment: Environment;
    connectorId: string;
    type?: string | undefined;
    data?: JsonObject | undefined;
  },
): Promise<Record<string, string> | undefined> {
  const connector = requireConnector(context, input.environment, input.connectorId);
  const scheme = schemeOf(connector, input.type, input.data);
  const { data = {} } = input;
  if (scheme.type !== 'oauth2' || data['accessToken'] !== undefined) return undefined;
  const fields = [...credentialFields(connector, scheme)].map(([name, field]): [string, CredentialField] => [
    name,
    Object.hasOwn(data, name) ? field : { ...field, required: false },
  ]);
  const client = await requireOAuthClient(context, input.environment, connector);
  const { values, faults } = checkFields(new Map(fields), data);
  faults.push(...appFieldFaults(client, values));
  if (faults.length > 0) throw invalidRequest(faults, 'The credential');
  return values;
}

/** Returns a fault for each value that differs from the one of the OAuth app. */
export function appFieldFaults({ fields }: OAuthClient, values: Record<string, string>): Fault[] {
  return Object.entries(fields)
    .filter(([name, value]) => values[name] !== undefined && values[name] !== value)
    .map(([name, value]) => ({
      field: `data.${name}`,
      rule: `must be ${value}, where the OAuth app is registered`,
    }));
}

function requireConnector(
  { catalog }: Pick<Base, 'catalog'>,
  environment: Environment,
  connectorId: string,
): Connector {
  const connector = catalog.connector(environment, connectorId);
  if (connector) return connector;
  throw connectorNotFound(connectorId);
}

function connectorNotFound(connectorId: string): GatehouseError {
  return new GatehouseError('connector_not_found', `There is no app "${connectorId.slice(0, 64)}" here.`);
}

/** Returns the fields that the OAuth app sets, so the form leaves them out. */
function appFieldNames(connector: Connector, type: string): string[] {
  return connector.definition.authentication
    .filter((scheme) => scheme.type === type)
    .flatMap((scheme) => [...appFields(connector, scheme).keys()]);
}

function withoutFields(metadata: AuthenticationMetadata, given: readonly string[]): AuthenticationMetadata {
  if (given.length === 0) return metadata;
  const { properties = {}, required = [] } = metadata.inputSchema;
  const left = Object.entries(properties ?? {}).filter(([name]) => !given.includes(name));
  const sample = Object.entries(metadata.sampleInput).filter(([name]) => !given.includes(name));
  return {
    ...metadata,
    sampleInput: Object.fromEntries(sample),
    inputSchema: {
      ...metadata.inputSchema,
      properties: Object.fromEntries(left),
      required: Array.isArray(required) ? required.filter((name) => !given.includes(String(name))) : [],
    },
  };
}
