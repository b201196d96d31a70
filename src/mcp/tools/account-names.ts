import { choices, severalAccounts } from '../../credentials/active-credentials.ts';
import { listed } from '../../credentials/choose.ts';
import type { Credential } from '../../credentials/credential.ts';
import { GatehouseError, withDetails } from '../../lib/errors.ts';
import { withoutHidden } from '../../lib/hidden-characters.ts';
import type { JsonObject } from '../../lib/json.ts';
import { nearestNames, questionOf } from '../../lib/words.ts';
import type { ToolScope } from '../scope/tool.ts';

/*
 * The accounts of a user by their names. A name comes from the app or the user, so our own messages never hold it: a
 * model must be able to trust them.
 */

/**
 * Returns the id of the account that a call names by its id, or by an exact name that only one account of the app has. An
 * unknown name is returned unchanged, and the choice of the credential rejects it later.
 * @throws GatehouseError `credential_ambiguous` for a name of several accounts.
 */
export async function accountIdFor(scope: ToolScope, connectorId: string, named: string): Promise<string> {
  const all = await accountsOf(scope, connectorId);
  if (all.some(({ credentialId }) => credentialId === named)) return named;
  const found = withName(all, named);
  const [only, ...others] = found;
  if (!only) return named;
  if (others.length === 0) return only.credentialId;
  throw sameNames(found);
}

/** Returns the error for a name that several accounts have. */
export function sameNames(found: readonly Credential[]): GatehouseError {
  return new GatehouseError(
    'credential_ambiguous',
    `${found.length} accounts have this name. Choose one by its id with credentialId.`,
    { details: { credentials: found.map(listed) } },
  );
}

/** Returns the active accounts with exactly this name, or the others with this name if none is active. */
export function withName(all: readonly Credential[], named: string): Credential[] {
  const same = all.filter((one) => namesOf(one).includes(named));
  const active = same.filter(({ state }) => state === 'active');
  return active.length > 0 ? active : same;
}

/** Adds the user's active accounts of the app, and the one with the nearest name, to the error for an unknown account. */
export async function withChoices(
  scope: ToolScope,
  connectorId: string,
  { error, named }: { error: GatehouseError; named: string },
): Promise<GatehouseError> {
  const active = (await accountsOf(scope, connectorId)).filter(({ state }) => state === 'active');
  return unknownAccount(error, active, named);
}

/** Adds these accounts, and the one with the nearest name, to the error for an unknown account. */
export function unknownAccount(
  error: GatehouseError,
  accounts: readonly Credential[],
  named: string,
): GatehouseError {
  if (accounts.length === 0) return error;
  const near = nearestNames(named, accounts.flatMap(namesOf));
  const meant = accounts.filter((one) => namesOf(one).some((name) => near.includes(name)));
  const question = questionOf(meant.map(({ credentialId }) => credentialId));
  const proposed = new GatehouseError(error.code, `${error.message}${question}`, {
    details: error.details ?? {},
  });
  return withDetails(proposed, { credentials: accounts.map(listed) });
}

/** Returns the account for an answer while the user has several of the app; undefined otherwise. */
export async function shownAccount(
  { context, grant }: Pick<ToolScope, 'context' | 'grant'>,
  credential: Credential | undefined,
): Promise<JsonObject | undefined> {
  if (!credential) return undefined;
  const several = await severalAccounts(context, grant);
  return several.has(credential.connectorId) ? accountView(credential) : undefined;
}

/** Returns an account by id and name, with hidden characters of the name written out. */
export function accountView({ credentialId, name }: Credential): JsonObject {
  return { credentialId, name: withoutHidden(name) };
}

async function accountsOf({ context, grant }: ToolScope, connectorId: string): Promise<Credential[]> {
  const { environment, userId } = grant;
  return userId === undefined ? [] : choices(context, { environment, userId, connectorId });
}

/** Returns the names that a model may have seen: of the credential and its account, also with hidden characters written out. */
function namesOf({ name, account }: Credential): string[] {
  return [name, account?.name ?? name].flatMap((one) => [one, withoutHidden(one)]);
}
