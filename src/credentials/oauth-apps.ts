import type { Selectable } from 'kysely';
import { z } from 'zod';
import { requireConnector, SANDBOX_ID, type Connector } from '../connectors/catalog.ts';
import type { CredentialField } from '../connectors/format/format.ts';
import { bindingOf, keepsOrigins } from '../connectors/origins.ts';
import type { Base } from '../base.ts';
import { GatehouseError, invalidRequest } from '../lib/errors.ts';
import { SANDBOX_CLIENT_ID } from '../lib/sandbox-names.ts';
import { Secret } from '../lib/secret.ts';
import type { Tables } from '../store/schema.ts';
import type { Environment } from '../store/environments.ts';
import type { Context } from './context.ts';
import { scopesIn } from './credential.ts';
import { appFields, checkFields, defaultsOf } from './fields.ts';
import type { OAuthClient } from './oauth-client.ts';
import { OTHER_ORIGIN } from './sealed-values.ts';
import { boundTo } from '../store/sealed-columns.ts';

/** An OAuth app that the operator registered at a third party, so that users can sign in there. */
export interface OAuthApp extends Omit<ReturnType<typeof toOAuthApp>, 'createdAt' | 'updatedAt'> {
  /** Epoch ms; null for an app that is part of Gatehouse. So is `updatedAt`. */
  createdAt: number | null;
  updatedAt: number | null;
}

const fieldsText = z.record(z.string(), z.string());

/** Returns the OAuth app of a connector in an environment. The sandbox always has one. */
export async function findOAuthApp(
  context: Pick<Base, 'db' | 'keys' | 'catalog'>,
  environment: Environment,
  connectorId: string,
): Promise<OAuthApp | undefined> {
  const row = await context.db
    .selectFrom('oauth_apps')
    .selectAll()
    .where('environment', '=', environment)
    .where('connector_id', '=', connectorId)
    .executeTakeFirst();
  if (row) return toOAuthApp(context, row);
  if (connectorId !== SANDBOX_ID || !context.catalog.connector(environment, connectorId)) return undefined;
  return {
    connectorId,
    clientId: SANDBOX_CLIENT_ID,
    clientSecret: undefined,
    scopes: null,
    origins: '',
    fields: {},
    createdAt: null,
    updatedAt: null,
  };
}

/**
 * Returns the connectors that people can sign in to, with the scopes of their OAuth app: those with an OAuth app, and
 * the sandbox. null: the app has the scopes of the connector.
 */
export async function connectorsWithOAuthApp(
  { db }: Pick<Base, 'db'>,
  environment: Environment,
): Promise<Map<string, string[] | null>> {
  const rows = await db
    .selectFrom('oauth_apps')
    .select(['connector_id', 'scopes'])
    .where('environment', '=', environment)
    .execute();
  return new Map([
    [SANDBOX_ID, null],
    ...rows.map((row): [string, string[] | null] => [row.connector_id, scopesIn(row.scopes)]),
  ]);
}

/** Returns the client for a grant. @throws GatehouseError `oauth_app_missing` */
export async function requireOAuthClient(
  context: Pick<Base, 'db' | 'keys' | 'catalog'>,
  environment: Environment,
  connector: Connector,
): Promise<OAuthClient> {
  const { connectorId, name } = connector;
  const app = await findOAuthApp(context, environment, connectorId);
  if (app && !keepsOrigins(connector, app.origins))
    throw new GatehouseError(
      'oauth_app_missing',
      `The OAuth app for ${name} in ${environment} was stored for another address than the connector has now.`,
      {
        details: { connectorId, environment, reason: OTHER_ORIGIN },
        fix: `Store it again with PUT /api/connectors/${connectorId}/oauth-app.`,
      },
    );
  if (app) {
    const { clientId, clientSecret, scopes } = app;
    const fields = { ...defaultsOf(fieldsOfApp(connector)), ...app.fields };
    return { clientId, clientSecret, scopes: scopes ?? undefined, fields };
  }
  throw new GatehouseError('oauth_app_missing', `There is no OAuth app for ${name} in ${environment}.`, {
    details: { connectorId, environment },
    fix: `Register one there and store its client id and secret with PUT /api/connectors/${connectorId}/oauth-app.`,
  });
}

/**
 * Stores the OAuth app of a connector in place of an earlier one.
 * @throws GatehouseError `connector_not_found`; `invalid_request` when the connector has no consent page, or
 * when a required secret or host field is missing.
 */
export async function saveOAuthApp(
  context: Pick<Context, 'db' | 'keys' | 'catalog' | 'clock' | 'credentialMemory'>,
  { environment, connectorId }: { environment: Environment; connectorId: string },
  input: {
    clientId: string;
    clientSecret?: string | undefined;
    scopes?: string[] | undefined;
    fields?: Record<string, string> | undefined;
  },
): Promise<OAuthApp> {
  const connector = requireConnector(context, environment, connectorId);
  const { name, definition } = connector;
  const scheme = definition.authentication.find(({ type }) => type === 'oauth2');
  if (!scheme || scheme.type !== 'oauth2')
    throw invalidRequest([{ field: 'connectorId', rule: `${name} does not offer oauth2` }], 'The OAuth app');
  if (input.clientSecret === undefined && scheme.clientAuthentication !== 'none')
    throw invalidRequest([{ field: 'clientSecret', rule: `is required for ${name}` }], 'The OAuth app');
  const { values, faults } = checkFields(fieldsOfApp(connector), input.fields ?? {});
  if (faults.length > 0) {
    const here = faults.map(({ field, rule }) => ({ field: field.replace(/^data\./, 'fields.'), rule }));
    throw invalidRequest(here, 'The OAuth app');
  }
  const now = context.clock.now();
  const bound = { connector_id: connectorId, client_id: input.clientId, origins: bindingOf(connector) };
  const set = {
    client_id: input.clientId,
    origins: bound.origins,
    sealed: context.keys.seal(input.clientSecret ?? '', binding({ environment, ...bound })),
    scopes: input.scopes ? JSON.stringify(input.scopes) : null,
    fields: JSON.stringify(values),
    updated_at: now,
  };
  const row = await context.db
    .insertInto('oauth_apps')
    .values({ environment, connector_id: connectorId, ...set, created_at: now })
    .onConflict((c) => c.columns(['environment', 'connector_id']).doUpdateSet(set))
    .returningAll()
    .executeTakeFirstOrThrow();
  // Renewals that wait because the app rejected the old client need not wait any longer.
  await context.db
    .updateTable('credentials')
    .set({ refresh_after: null })
    .where('environment', '=', environment)
    .where('connector_id', '=', connectorId)
    .where('refresh_after', 'is not', null)
    .execute();
  context.credentialMemory.forgetChoices();
  return toOAuthApp(context, row);
}

/**
 * Removes an OAuth app. Its credentials work until their access tokens expire.
 * @throws GatehouseError `oauth_app_not_found`
 */
export async function deleteOAuthApp(
  { db }: Pick<Base, 'db'>,
  environment: Environment,
  connectorId: string,
): Promise<void> {
  const { numDeletedRows } = await db
    .deleteFrom('oauth_apps')
    .where('environment', '=', environment)
    .where('connector_id', '=', connectorId)
    .executeTakeFirst();
  if (numDeletedRows === 0n) throw oauthAppNotFound(connectorId);
}

export function oauthAppNotFound(connectorId: string): GatehouseError {
  return new GatehouseError(
    'oauth_app_not_found',
    `There is no OAuth app for the connector "${connectorId.slice(0, 64)}".`,
  );
}

function toOAuthApp({ keys }: Pick<Base, 'keys'>, row: Selectable<Tables['oauth_apps']>) {
  const secret = keys.open(row.sealed, binding(row));
  return {
    connectorId: row.connector_id,
    clientId: row.client_id,
    /** Absent for public clients. */
    clientSecret: secret === '' ? undefined : new Secret(secret),
    /** The scopes to request; null means the connector's own. */
    scopes: scopesIn(row.scopes),
    /** The origins that the secret may be sent to; see connectors/origins.ts. */
    origins: row.origins,
    /** Values of the host fields (see `appFields`), by name. An absent field has the connector's default. */
    fields: fieldsText.parse(JSON.parse(row.fields)),
    /** Epoch milliseconds. */
    createdAt: row.created_at,
    updatedAt: row.updated_at,
  };
}

function fieldsOfApp(connector: Connector): Map<string, CredentialField> {
  const scheme = connector.definition.authentication.find(({ type }) => type === 'oauth2');
  return scheme ? appFields(connector, scheme) : new Map();
}

function binding(
  row: Pick<Selectable<Tables['oauth_apps']>, 'environment' | 'connector_id' | 'client_id' | 'origins'>,
): string {
  return boundTo('oauth_apps.sealed', row);
}
