import type { Connector } from '../connectors/catalog.ts';
import type { Context } from '../context.ts';
import { SECOND } from '../lib/clock.ts';
import { GatehouseError } from '../lib/errors.ts';
import type { DbOrTx } from '../store/schema.ts';
import type { Credential } from './credential.ts';
import { markRefused } from './health.ts';
import { openCredential } from './open.ts';
import { probe, type ProbeContext } from './probe.ts';

/** How long the answer of a probe holds: a client that repeats a forbidden call probes twice a minute. */
const HELD_MS = 30 * SECOND;
/** An app that gave no answer is left alone for as long. */
const UNKNOWN_HELD_MS = 5 * SECOND;
const MAX_HELD = 1000;

type RefusalContext = ProbeContext & Pick<Context, 'db' | 'keys' | 'operator'>;

/** What the probe says of a credential. `unknown`: the app gave no definite answer. `none`: there is no probe. */
type Verdict = 'works' | 'refused' | 'unknown' | 'none';

interface Held {
  asked: Promise<Verdict>;
  /** Set once the probe has answered. */
  verdict?: Verdict;
  /** Epoch ms. */
  until: number;
}

/** By database, then by nameOf(). */
const heldByDb = new WeakMap<DbOrTx, Map<string, Held>>();

/** The call that an app refused. */
interface RefusedCall {
  connector: Connector;
  /** As the call was made with it; undefined for a call without one. */
  credential: Credential | undefined;
  effect: 'read' | 'write' | 'destructive';
}

/**
 * Judges a call that failed. An app says 401 or 403 of a dead key and of a missing right alike, so its probe is asked
 * before the credential's state changes. Without a probe a refused read ends the credential, which every key can read
 * with; a refused write changes nothing.
 * @returns the error for the caller: `upstream_rejected` with `details.reason` "permission" where the probe works,
 * `credential_invalid` where it is refused too, `upstream_failed` where it gives no answer; other errors as they are.
 */
export async function judgeFailure(
  context: RefusalContext,
  { connector, credential, effect }: RefusedCall,
  error: unknown,
): Promise<unknown> {
  if (!(error instanceof GatehouseError) || !credential) return error;
  if (!isRefusal(error)) {
    const broken = error.code === 'credential_invalid' && error.details?.['reason'] !== 'revoked';
    if (broken) await markRefused(context, credential, error);
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

/** Whether the probe of these very values worked a moment ago: then a refused call lacks a right, and new tokens help nothing. */
export function workedJustNow({ db, clock }: Pick<Context, 'db' | 'clock'>, credential: Credential): boolean {
  const held = heldByDb.get(db)?.get(nameOf(credential));
  return held?.verdict === 'works' && held.until > clock.now();
}

/** The third party refused the credential, or the call with a status that stands for both. */
function isRefusal({ code, details }: GatehouseError): boolean {
  if (code === 'credential_invalid') return details?.['reason'] === 'refused';
  return code === 'upstream_rejected' && details?.['status'] === 403;
}

/** Calls that are refused at once share a probe, and what it says holds for a while. */
async function verdictOn(
  context: RefusalContext,
  connector: Connector,
  credential: Credential,
): Promise<Verdict> {
  if (connector.definition.probe === undefined) return 'none';
  let held = heldByDb.get(context.db);
  if (!held) heldByDb.set(context.db, (held = new Map()));
  const name = nameOf(credential);
  const found = held.get(name);
  if (found && found.until > context.clock.now()) return found.asked;
  const asking: Held = { asked: ask(context, connector, credential), until: Infinity };
  held.delete(name);
  if (held.size >= MAX_HELD) held.delete(held.keys().next().value ?? '');
  held.set(name, asking);
  const verdict = await asking.asked;
  asking.verdict = verdict;
  asking.until = context.clock.now() + (verdict === 'unknown' ? UNKNOWN_HELD_MS : HELD_MS);
  return verdict;
}

async function ask(context: RefusalContext, connector: Connector, credential: Credential): Promise<Verdict> {
  try {
    // No signal: others may wait for the same answer when this caller goes away.
    await probe(context, connector, openCredential(context, connector, credential));
    return 'works';
  } catch (error) {
    if (!(error instanceof GatehouseError)) throw error;
    return error.code === 'credential_invalid' ? 'refused' : 'unknown';
  }
}

/** New values are asked about again, and so are those that were put right since. */
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
    `${name} refused the call (${told(error)}). The credential works, but it has no right to do this. ` +
      'Give its key or sign-in that right at the app, or use another account.',
    { details: { ...error.details, reason: 'permission', credentialId }, cause: error },
  );
}

function refusedAltogether(
  { name }: Connector,
  { credentialId }: Credential,
  error: GatehouseError,
): GatehouseError {
  return new GatehouseError('credential_invalid', `${name} refused the credential (${told(error)}).`, {
    details: { ...error.details, reason: 'refused', credentialId },
    cause: error,
  });
}

function unchecked({ name }: Connector, { credentialId }: Credential, error: GatehouseError): GatehouseError {
  return new GatehouseError(
    'upstream_failed',
    `${name} refused the call (${told(error)}), and did not answer when asked whether the credential still works. ` +
      'Nothing was done. Try again in a moment.',
    { details: { ...error.details, reason: 'credential_unchecked', credentialId }, cause: error },
  );
}

/** The status, and the app's own words as other refusals quote them: surfaces take them out again. */
function told({ details }: GatehouseError): string {
  const said = details?.['message'];
  return `HTTP ${String(details?.['status'])}${typeof said === 'string' ? `: ${said}` : ''}`;
}
