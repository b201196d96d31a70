import type { Action, Connector } from '../connectors/catalog.ts';
import { runsWith, schemesFor, unnamedScopes } from '../connectors/needs.ts';
import { isoTime } from '../lib/clock.ts';
import { GatehouseError } from '../lib/errors.ts';
import type { DbOrTx } from '../store/schema.ts';
import type { Environment } from '../store/environments.ts';
import { credentialNotFound, type Credential } from './credential.ts';
import { credentialFields, isRequired } from './fields.ts';
import { choices } from './active-credentials.ts';
import { findCredential } from './credential-records.ts';

type ChooseContext = Parameters<typeof choices>[0];

export interface Choice {
  environment: Environment;
  userId: string | undefined;
  connector: Connector;
  /** When given, a credential that cannot run this action is not chosen. */
  action?: Action | undefined;
  /** The header x-credential-id. It counts for calls of its own connector only. */
  header?: string | undefined;
  /** The argument `credentialId`. */
  argument?: string | undefined;
  /** How a caller of this operation names an account, for the message of `credential_ambiguous`. Default: `credentialId`. */
  namedBy?: string | undefined;
  /** Gets the credential of the call before it is judged, so that a refusal can be recorded with its account. */
  onPicked?: ((credential: Credential) => void) | undefined;
}

/**
 * Returns the credential that a call runs with; undefined when the connector needs none.
 * The order is: the header's, the argument's, the user's default, the single active one.
 * A default that needs to be reconnected is rejected even if another account works. The call must not act in another
 * account. The scopes of a credential order a choice, and never make it.
 * @throws GatehouseError `credential_not_found` (absent or another user's), `credential_conflict`,
 * `credential_required`, `credential_ambiguous` (`details.credentials`), `credential_invalid`, `user_id_missing`.
 */
export async function chooseCredential(
  context: ChooseContext,
  choice: Choice,
): Promise<Credential | undefined> {
  const { connector, userId, action } = choice;
  const optional = runsWithout(connector, action);
  if (userId === undefined) {
    if (optional && choice.argument === undefined) return undefined;
    throw new GatehouseError(
      'user_id_missing',
      `${connector.name} acts with the credential of an end user, and no user is known.`,
      { fix: 'Send x-svc-userid.' },
    );
  }
  const named = await namedCredential(context.db, { ...choice, userId });
  if (named) return judged(choice, named);

  const { environment } = choice;
  const { connectorId } = connector;
  const credentials = await choices(context, { environment, userId, connectorId });
  const all = credentials.filter(({ state }) => state === 'active');
  const fitting = all.filter(({ type }) => !action || runsWith(action, type));
  const marked = credentials.find(({ isDefault }) => isDefault);
  if (marked) return judged(choice, sameAccount(marked, fitting) ?? marked);
  const active = fitting.length > 0 ? fitting : all;
  const [first, ...others] = active;
  if (first && (others.length === 0 || fitting.length === 0)) return judged(choice, first);
  if (first) {
    throw new GatehouseError(
      'credential_ambiguous',
      `This user has ${active.length} active credentials for ${connector.name}. ` +
        `Choose one with ${choice.namedBy ?? 'credentialId'}.`,
      { details: { credentials: likeliestFirst(active, action).map(listed) } },
    );
  }
  if (optional) return undefined;
  const [only, ...rest] = credentials;
  if (only && rest.length === 0) return judged(choice, only);
  throw new GatehouseError(
    'credential_required',
    `This user has no active credential for ${connector.name}.`,
    {
      fix: `Create one with POST /users/${userId}/credentials.`,
      details: {
        connectorId: connector.connectorId,
        authentication: connector.definition.authentication.map(({ type }) => type),
        ...(credentials.length > 0 ? { credentials: credentials.map(listed) } : {}),
      },
    },
  );
}

/** Returns the credential that the caller named, if it belongs to the user and the connector. */
async function namedCredential(
  db: DbOrTx,
  { environment, userId, connector, header, argument }: Choice & { userId: string },
): Promise<Credential | undefined> {
  const find = async (credentialId: string): Promise<Credential> => {
    const found = await findCredential(db, { environment, userId, credentialId });
    if (!found) throw credentialNotFound(credentialId);
    return found;
  };
  const fromHeader = header === undefined ? undefined : await find(header);
  if (fromHeader?.connectorId === connector.connectorId) {
    if (argument === undefined || argument === header) return fromHeader;
    throw new GatehouseError(
      'credential_conflict',
      'x-credential-id and the argument credentialId name different credentials. Leave one of them out.',
    );
  }
  if (argument === undefined) return undefined;
  const found = await find(argument);
  if (found.connectorId === connector.connectorId) return found;
  throw new GatehouseError(
    'credential_not_found',
    `The credential "${found.credentialId}" belongs to ${found.connectorId}, not to ${connector.connectorId}.`,
  );
}

/** Returns the default or, if it cannot run the action, another credential of its account that can. */
function sameAccount(marked: Credential, fitting: Credential[]): Credential | undefined {
  return (
    fitting.find((one) => one === marked) ??
    fitting.find(({ account }) => account !== null && account.id === marked.account?.id)
  );
}

/** @throws GatehouseError `credential_invalid`, and those of able(). */
function judged(choice: Choice, credential: Credential): Credential {
  choice.onPicked?.(credential);
  return able(choice, usable(choice.connector, credential));
}

function usable(connector: Connector, credential: Credential): Credential {
  if (credential.state === 'active') return credential;
  const reason = credential.reason ?? 'It was revoked.';
  throw new GatehouseError(
    'credential_invalid',
    `The credential "${credential.credentialId}" for ${connector.name} cannot be used. ${reason}`,
    {
      details: {
        reason,
        ...(credential.appMessage === null ? {} : { message: credential.appMessage }),
        state: credential.state,
        credentialId: credential.credentialId,
      },
      fix: 'Replace its key (PUT), or check it again once the cause is gone (POST …/check).',
    },
  );
}

/** Puts the accounts first whose grants name the scopes of the action. */
function likeliestFirst(credentials: Credential[], action: Action | undefined): Credential[] {
  if (!action) return credentials;
  const unnamed = ({ scopes }: Credential) =>
    scopes === null ? 0 : unnamedScopes(action.definition, scopes).length;
  return credentials.toSorted((a, b) => unnamed(a) - unnamed(b));
}

/** @throws GatehouseError `credential_required` (`details.reason`) when the credential cannot run the action. */
function able({ connector, action }: Choice, credential: Credential): Credential {
  const { credentialId, type } = credential;
  if (!action || runsWith(action, type)) return credential;
  const authentication = schemesFor(connector, action).map((scheme) => scheme.type);
  throw new GatehouseError(
    'credential_required',
    `${connector.name}: "${action.name}" runs with a credential of type ${authentication.join(' or ')}, and ` +
      `"${credentialId}" is of type ${type}. Connect the account that way too.`,
    {
      details: {
        connectorId: connector.connectorId,
        credentialId,
        authentication,
        reason: 'authentication',
      },
    },
  );
}

/** Returns the facts by which a user recognises an account, for `details.credentials`. */
export function listed({ credentialId, name, type, state, account, reason, createdAt }: Credential) {
  return {
    credentialId,
    name,
    type,
    state,
    ...(account ? { account } : {}),
    ...(reason === null ? {} : { reason }),
    createdAt: isoTime(createdAt),
  };
}

/** Returns whether a call can run with nothing stored: no authentication and no variable without a default. */
function runsWithout(connector: Connector, action: Action | undefined): boolean {
  if (action && !runsWith(action, 'none')) return false;
  const none = connector.definition.authentication.find(({ type }) => type === 'none');
  return none !== undefined && ![...credentialFields(connector, none).values()].some(isRequired);
}
