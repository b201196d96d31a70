import { z } from 'zod';
import type { Connector } from '../connectors/catalog.ts';
import type { Authentication } from '../connectors/format/format.ts';
import { keepsOrigins, movedSignIn, originsOf } from '../connectors/origins.ts';
import type { Base } from '../base.ts';
import { KeyError } from '../crypto/key-ring.ts';
import { GatehouseError } from '../lib/errors.ts';
import { Secret } from '../lib/secret.ts';
import type { OpenCredential } from '../upstream/open-credential.ts';
import type { Context } from './context.ts';
import type { Credential } from './credential.ts';
import { credentialFields, defaultsOf } from './fields.ts';
import { boundTo } from '../store/sealed-columns.ts';

const sealedValues = z.record(z.string(), z.string());
type Values = Record<string, string>;

type OpenContext = Pick<Context, 'keys' | 'credentialMemory'>;

/** The binding of a seal: the row, and the app that its values may be sent to. */
type Bound = Pick<Credential, 'environment' | 'userId' | 'credentialId' | 'connectorId' | 'type' | 'origins'>;

/** Seals the values of a credential to their row, connector and type (KeyRing, AES-256-GCM). */
export function sealValues({ keys }: Pick<Base, 'keys'>, bound: Bound, values: Values): string {
  return keys.sealJson(values, binding(bound));
}

/**
 * Returns the plain values of a credential for a change.
 * @throws KeyError when the row was altered or moved.
 */
export function openValues({ keys }: Pick<Base, 'keys'>, credential: Bound & { sealed: string }): Values {
  return keys.openJson(sealedValues, credential.sealed, binding(credential));
}

/** Returns the plain values of a credential; undefined when its row was altered or its key is gone. */
export function valuesIfOpen(
  context: Pick<Base, 'keys'>,
  credential: Bound & { sealed: string },
): Values | undefined {
  try {
    return openValues(context, credential);
  } catch (error) {
    if (error instanceof KeyError) return undefined;
    throw error;
  }
}

/**
 * Returns a stored credential, ready for a call of its connector.
 * @throws GatehouseError `credential_invalid` when the connector no longer offers its type or sends credentials to
 * another origin, KeyError when the row was altered or moved.
 */
export function openCredential(
  context: OpenContext,
  connector: Connector,
  credential: Credential,
): OpenCredential {
  assertOrigins(connector, credential);
  const scheme = connector.definition.authentication.find(({ type }) => type === credential.type);
  if (!scheme) {
    throw new GatehouseError(
      'credential_invalid',
      `${connector.name} no longer accepts credentials of type ${credential.type}. Create a new one.`,
      { details: { reason: 'type_gone', credentialId: credential.credentialId } },
    );
  }
  return {
    credentialId: credential.credentialId,
    connectorId: connector.connectorId,
    scheme,
    oauthApp: scheme.type === 'oauth2' ? `${credential.environment} ${connector.connectorId}` : undefined,
    values: { ...defaultValues(connector, scheme), ...openedValues(context, credential) },
  };
}

/** The reason of a refused credential whose connector now has another origin. The credential itself may be good. */
export const OTHER_ORIGIN = 'other_origin';

/**
 * Checks that a credential goes only where it was meant to go.
 * @throws GatehouseError `credential_invalid`, because a custom connector of the same id may belong to another app.
 */
export function assertOrigins(
  connector: Connector,
  credential: Pick<Credential, 'credentialId' | 'origins'>,
): void {
  if (keepsOrigins(connector, credential.origins)) return;
  const { credentialId } = credential;
  const { name } = connector;
  const message = movedSignIn(connector, credential.origins)
    ? `${name} now signs users in at another OAuth server than the one that gave the credential "${credentialId}". ` +
      'Connect the account again.'
    : `The credential "${credentialId}" was made for another address than ${name} has now. Connect the account ` +
      'again, or restore the connector with its earlier address.';
  throw new GatehouseError('credential_invalid', message, {
    details: { reason: OTHER_ORIGIN, credentialId, origins: originsOf(connector.definition) },
  });
}

/** Returns a credential that is not stored yet, for the probe. */
export function unsavedCredential(
  connector: Connector,
  scheme: Authentication,
  { credentialId, values }: { credentialId: string; values: Values },
): OpenCredential {
  return {
    credentialId,
    connectorId: connector.connectorId,
    scheme,
    values: { ...defaultValues(connector, scheme), ...toSecrets(withoutRefreshToken(scheme.type, values)) },
  };
}

function openedValues(context: OpenContext, credential: Credential): Readonly<Record<string, Secret>> {
  const { opened } = context.credentialMemory;
  // The binding is part of the cache key. Otherwise a seal copied to another row would be found in the cache.
  const name = `${binding(credential)}|${credential.sealed}`;
  const known = opened.get(name);
  if (known) return known;
  const values = toSecrets(withoutRefreshToken(credential.type, openValues(context, credential)));
  opened.set(name, values);
  return values;
}

/** Returns the values for a request without the refresh token, which goes only to the token endpoint. */
function withoutRefreshToken(type: string, values: Values): Values {
  if (type !== 'oauth2' || values['refreshToken'] === undefined) return values;
  const { refreshToken: _kept, ...rest } = values;
  return rest;
}

/** Default values by scheme, cached because every call needs them. */
const defaults = new WeakMap<Authentication, Readonly<Record<string, Secret>>>();

function defaultValues(connector: Connector, scheme: Authentication): Readonly<Record<string, Secret>> {
  let values = defaults.get(scheme);
  if (!values) {
    values = toSecrets(defaultsOf(credentialFields(connector, scheme)));
    defaults.set(scheme, values);
  }
  return values;
}

function toSecrets(values: Values): Record<string, Secret> {
  return Object.fromEntries(Object.entries(values).map(([name, value]) => [name, new Secret(value)]));
}

/** Returns the binding of a seal. */
function binding({ environment, userId, credentialId, connectorId, type, origins }: Bound): string {
  return boundTo('credentials.sealed', {
    environment,
    user_id: userId,
    credential_id: credentialId,
    connector_id: connectorId,
    type,
    origins,
  });
}
