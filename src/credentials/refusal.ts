import type { Action, Connector } from '../connectors/catalog.ts';
import type { Effect } from '../connectors/effects.ts';
import type { Context } from './context.ts';
import { SECOND } from '../lib/clock.ts';
import { GatehouseError } from '../lib/errors.ts';
import type { Credential } from './credential.ts';
import type { Verdict } from './memory.ts';
import { markRefused } from './credential-end.ts';
import { withMissingScopes } from './missing-scopes.ts';
import { openCredential, OTHER_ORIGIN } from './sealed-values.ts';
import { probe, probeOf, type ProbeContext } from './probe.ts';

/** How long the probe pauses after an app gave no answer. */
const UNKNOWN_MS = 5 * SECOND;

type RefusalContext = ProbeContext & Pick<Context, 'db' | 'keys' | 'operator' | 'credentialMemory'>;

/** A call that an app rejected. */
interface RefusedCall {
  connector: Connector;
  /** The credential as the call used it; undefined for a call without one. */
  credential: Credential | undefined;
  effect: Effect;
  /** Absent for a poll, which calls several actions. */
  action?: Action;
}

/**
 * Judges a failed call. Apps answer 401 or 403 for a dead key and for a missing permission alike.
 * The probe is therefore called before the credential's state changes.
 * Without a probe, a rejected read ends the credential, because every key can read. A rejected write changes nothing.
 * @returns the error for the caller: `upstream_rejected` with `details.reason` "permission" when the probe works,
 * `credential_invalid` when it is rejected too, `upstream_failed` when it gives no answer; other errors unchanged.
 * Refusals say which scopes the account may lack; see missing-scopes.ts.
 */
export async function judgeFailure(
  context: RefusalContext,
  { connector, credential, effect, action }: RefusedCall,
  error: unknown,
): Promise<unknown> {
  if (!(error instanceof GatehouseError) || !credential) return error;
  const judged = await judge(context, { connector, credential, effect }, error);
  return action ? withMissingScopes(judged, { connector, action, credential }) : judged;
}

async function judge(
  context: RefusalContext,
  { connector, credential, effect }: { connector: Connector; credential: Credential; effect: Effect },
  error: GatehouseError,
): Promise<GatehouseError> {
  if (!isRefusal(error)) {
    if (isBroken(error)) await markRefused(context, credential, error);
    return error;
  }
  switch (await verdictOn(context, connector, credential)) {
    case 'works':
      return lacksRight(connector, credential, error);
    case 'refused': {
      const refusal =
        error.code === 'credential_invalid' ? error : refusedAltogether(connector, credential, error);
      await markRefused(context, credential, refusal);
      return refusal;
    }
    case 'unknown':
      return error.code === 'credential_invalid' ? unchecked(connector, credential, error) : error;
    case 'none': {
      const ends = error.code === 'credential_invalid' && effect === 'read';
      if (ends) await markRefused(context, credential, error);
      return error;
    }
  }
}

/** Returns whether an error shows that a stored credential itself cannot be used. */
export function isBroken({ code, details }: GatehouseError): boolean {
  const reason = details?.['reason'];
  return code === 'credential_invalid' && reason !== 'revoked' && reason !== OTHER_ORIGIN;
}

/**
 * Returns whether the probe worked recently with these values. A rejected call then lacks a permission, and new
 * tokens do not help.
 */
export function workedJustNow(
  { credentialMemory }: Pick<Context, 'credentialMemory'>,
  credential: Credential,
): boolean {
  return credentialMemory.probes.get(nameOf(credential))?.verdict === 'works';
}

/** Returns whether the third party rejected the credential, or answered 403, which can mean both. */
function isRefusal({ code, details }: GatehouseError): boolean {
  if (code === 'credential_invalid') return details?.['reason'] === 'refused';
  return code === 'upstream_rejected' && details?.['status'] === 403;
}

/** Probes once for concurrent rejected calls and caches the verdict. */
async function verdictOn(
  context: RefusalContext,
  connector: Connector,
  credential: Credential,
): Promise<Verdict> {
  const scheme = connector.definition.authentication.find(({ type }) => type === credential.type);
  if (probeOf(connector, scheme) === undefined) return 'none';
  const { probes } = context.credentialMemory;
  const name = nameOf(credential);
  const found = probes.get(name);
  if (found) return found.asked;
  const asked = ask(context, connector, credential);
  // A running probe does not expire.
  probes.set(name, { asked }, { ttl: 0 });
  const verdict = await asked;
  probes.set(name, { asked, verdict }, verdict === 'unknown' ? { ttl: UNKNOWN_MS - 1 } : {});
  return verdict;
}

async function ask(context: RefusalContext, connector: Connector, credential: Credential): Promise<Verdict> {
  try {
    // No signal: others may wait for the same answer when this caller goes away.
    await probe(context, connector, { credential: openCredential(context, connector, credential) });
    return 'works';
  } catch (error) {
    if (!(error instanceof GatehouseError)) throw error;
    return error.code === 'credential_invalid' ? 'refused' : 'unknown';
  }
}

/** Returns the cache key. New values and corrected records are probed again. */
function nameOf({ credentialId, version, updatedAt }: Credential): string {
  return `${credentialId} ${version} ${updatedAt}`;
}

function lacksRight(
  { name }: Connector,
  { credentialId }: Credential,
  error: GatehouseError,
): GatehouseError {
  return new GatehouseError(
    'upstream_rejected',
    `${name} refused the call (${reportOf(error)}). The credential works, but it has no right to do this. ` +
      'Give its key or sign-in that right at the app, or use another account.',
    { details: { ...error.details, reason: 'permission', credentialId }, cause: error },
  );
}

function refusedAltogether(
  { name }: Connector,
  { credentialId }: Credential,
  error: GatehouseError,
): GatehouseError {
  return new GatehouseError('credential_invalid', `${name} refused the credential (${reportOf(error)}).`, {
    details: { ...error.details, reason: 'refused', credentialId },
    cause: error,
  });
}

function unchecked({ name }: Connector, { credentialId }: Credential, error: GatehouseError): GatehouseError {
  return new GatehouseError(
    'upstream_failed',
    `${name} refused the call (${reportOf(error)}), and did not answer when asked whether the credential still works. ` +
      'Nothing was done. Try again in a moment.',
    { details: { ...error.details, reason: 'credential_unchecked', credentialId }, cause: error },
  );
}

/** Returns the status and the app's own words; the surfaces remove the words again. */
function reportOf({ details }: GatehouseError): string {
  const said = details?.['message'];
  return `HTTP ${String(details?.['status'])}${typeof said === 'string' ? `: ${said}` : ''}`;
}
