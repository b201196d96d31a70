import type { Connector } from '../connectors/catalog.ts';
import type { Authentication, TokenExchange, TokenScheme } from '../connectors/format/format.ts';
import type { Context } from './context.ts';
import { MINUTE } from '../lib/clock.ts';
import { GatehouseError, invalidRequest, type Fault } from '../lib/errors.ts';
import type { Json, JsonObject } from '../lib/json.ts';
import type { Environment } from '../store/environments.ts';
import type { Account } from './credential.ts';
import { checkEntered } from './derived.ts';
import { exchangeTokens } from './token-exchange.ts';
import { accountInValues } from './oauth-capture.ts';
import { probeTokens, valuesOf } from './granted.ts';
import { requireOAuthClient } from './oauth-apps.ts';
import {
  clientCredentialsTokens,
  OAuthRefusal,
  refreshTokens,
  type OAuth2ClientCredentials,
  type Tokens,
} from './oauth.ts';
import type { OAuth2 } from './oauth-client.ts';
import { unsavedCredential } from './sealed-values.ts';
import { probe, type ProbeContext } from './probe.ts';
import { refreshByOf } from './renewal-times.ts';
import { momentOf } from './token-answer.ts';

export type PrepareContext = ProbeContext &
  Pick<Context, 'db' | 'keys' | 'catalog' | 'operator' | 'credentialMemory'>;

/** Values for a new credential or for a change of one. */
interface PrepareRequest {
  environment: Environment;
  connector: Connector;
  scheme: Authentication;
  credentialId: string;
  data: JsonObject;
  signal?: AbortSignal | undefined;
}

/** The values to store. Times are epoch milliseconds. */
export interface Prepared {
  values: Record<string, string>;
  account?: Account | undefined;
  scopes?: string[] | undefined;
  expiresAt?: number | undefined;
  refreshBy?: number | undefined;
}

/**
 * Checks the input, calls the connector's probe if it has one, and returns the values to store.
 * Client credentials fetch their first token. Tokens of a live account are imported.
 * @throws GatehouseError `invalid_request` with every fault by field, `credential_invalid` when the third party
 * rejects it, `oauth_app_missing`, upstream_* when it gave no definite answer.
 */
export async function prepareCredential(context: PrepareContext, request: PrepareRequest): Promise<Prepared> {
  const { connector, scheme, credentialId, data, signal } = request;
  if (scheme.type === 'oauth2') return takeOver(context, { ...request, scheme });
  const { values, faults } = checkEntered(connector, scheme, { data });
  if (faults.length > 0) throw invalidRequest(faults, 'The credential');
  if (scheme.type === 'oauth2_client_credentials' || scheme.type === 'token_exchange')
    return fetchTokens(context, { ...request, scheme }, values);
  const credential = unsavedCredential(connector, scheme, { credentialId, values });
  const { account } = await probe(context, connector, { credential, signal });
  return { values, account };
}

/** Returns the members of `data` that are facts about the tokens, not values of the credential. */
export function grantFacts({ type }: Authentication): string[] {
  return type === 'oauth2' ? ['expiresAt', 'scopes'] : [];
}

/** Imports the tokens of an account that was connected elsewhere, with their fields. */
async function takeOver(
  context: PrepareContext,
  request: PrepareRequest & { scheme: OAuth2 },
): Promise<Prepared> {
  const { connector, scheme, credentialId, signal } = request;
  const { expiresAt, scopes, rest, faults } = readFacts(scheme, request.data);
  const checked = checkEntered(connector, scheme, { data: rest, stored: true });
  faults.push(...checked.faults);
  const { values } = checked;
  const ended = expiresAt !== undefined && expiresAt <= context.clock.now() + MINUTE;
  if (ended && values['refreshToken'] === undefined)
    faults.push({
      field: 'data.expiresAt',
      rule: 'has passed; send refreshToken too, or a live accessToken',
    });
  if (faults.length > 0) throw invalidRequest(faults, 'The credential');

  if (ended) return renewedOver(context, request, values);
  const refreshBy = refreshByOf(scheme, { refreshToken: values['refreshToken'] }, context.clock.now());
  const credential = unsavedCredential(connector, scheme, { credentialId, values });
  const { account: probed } = await probe(context, connector, { credential, signal });
  const known = accountInValues(scheme, values);
  const account = known ? { ...known, name: probed?.name } : probed;
  return { values, account, scopes, expiresAt, refreshBy };
}

/** Imports a live account whose access token has expired, by its refresh token. */
async function renewedOver(
  context: PrepareContext,
  request: PrepareRequest & { scheme: OAuth2 },
  values: Record<string, string>,
): Promise<Prepared> {
  const { connector, scheme, environment } = request;
  const client = await requireOAuthClient(context, environment, connector);
  const refreshToken = values['refreshToken'] ?? '';
  const tokens = await granted(connector, () =>
    refreshTokens(context, { connector, scheme, client, values, refreshToken }),
  );
  const account = tokens.account ?? accountInValues(scheme, values);
  return keepable(context, request, {
    values,
    tokens: {
      ...tokens,
      ...(account ? { account } : {}),
      refreshToken: tokens.refreshToken ?? refreshToken,
    },
  });
}

async function fetchTokens(
  context: PrepareContext,
  request: PrepareRequest & { scheme: OAuth2ClientCredentials | TokenExchange },
  values: Record<string, string>,
): Promise<Prepared> {
  const { connector, scheme, signal } = request;
  const tokens = await granted(connector, () =>
    scheme.type === 'token_exchange'
      ? exchangeTokens(context, { connector, scheme, values, signal })
      : clientCredentialsTokens(context, { connector, scheme, values, signal }),
  );
  // A refresh token in the answer has no use: id and secret are enough to ask again (RFC 6749 section 4.4.3).
  const { refreshToken: _unused, ...kept } = tokens;
  return keepable(context, request, { values, tokens: kept });
}

async function keepable(
  context: PrepareContext,
  { connector, scheme, credentialId }: PrepareRequest & { scheme: TokenScheme },
  { values, tokens }: { values: Record<string, string>; tokens: Tokens },
): Promise<Prepared> {
  const account = await probeTokens(context, { connector, scheme, credentialId, values, tokens });
  return {
    values: valuesOf({ values, tokens }),
    account,
    scopes: tokens.scopes,
    expiresAt: tokens.expiresAt,
    refreshBy: refreshByOf(scheme, tokens, context.clock.now()),
  };
}

async function granted(connector: Connector, ask: () => Promise<Tokens>): Promise<Tokens> {
  try {
    return await ask();
  } catch (error) {
    if (!(error instanceof OAuthRefusal)) throw error;
    throw new GatehouseError(
      'credential_invalid',
      `${connector.name} gave no access token: ${error.message}. Check what was entered.`,
      { details: { reason: 'refused', status: error.status, error: error.error } },
    );
  }
}

/** Reads `expiresAt` and `scopes` of an imported account, which are facts and not values. */
function readFacts(scheme: OAuth2, data: JsonObject) {
  const { expiresAt: end, scopes: granted, ...rest } = data;
  const faults: Fault[] = [];
  const expiresAt = end === undefined || end === null ? undefined : momentOf(end);
  if (end !== undefined && end !== null && expiresAt === undefined)
    faults.push({ field: 'data.expiresAt', rule: 'must be a time such as 2026-03-01T12:00:00Z' });
  const scopes = granted === undefined || granted === null ? undefined : scopesOf(scheme, granted);
  if (granted !== undefined && granted !== null && scopes === undefined)
    faults.push({ field: 'data.scopes', rule: 'must be an array of strings' });
  return { expiresAt, scopes, rest, faults };
}

function scopesOf({ scopeSeparator }: OAuth2, value: Json): string[] | undefined {
  const list = typeof value === 'string' ? value.split(scopeSeparator) : value;
  if (!Array.isArray(list) || list.length > 500) return undefined;
  const scopes = list.filter((scope) => typeof scope === 'string' && scope !== '' && scope.length <= 500);
  return scopes.length === list.length ? scopes.map(String) : undefined;
}
