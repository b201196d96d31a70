import { GatehouseError } from '../lib/errors.ts';
import { isoTime, SECOND } from '../lib/clock.ts';
import type { Base } from '../base.ts';
import type { Attempt } from '../upstream/upstream-call.ts';
import {
  claimTrial,
  closeCircuit,
  endTrial,
  noteFailure,
  type CircuitCall,
  type CircuitKey,
  type CircuitState,
} from './circuit-rows.ts';
import { createCircuitMemory } from './circuit-memory.ts';

/**
 * Refuses calls of an action with an account after several failures in a row. Agents then get an error at once, instead
 * of waiting for the timeout of each call.
 */
export interface Circuits {
  /**
   * Runs a call, unless its circuit is open. After the time of an open circuit, one call is let through as a trial.
   * @throws GatehouseError `circuit_open` (`details.closesAt`) with Retry-After, and what the call throws.
   */
  through<T>(call: RunningCall, run: () => Promise<T>): Promise<T>;
}

/** A call, and the list of its requests to the app, which grows while the call runs. */
type RunningCall = CircuitCall & { attempts: readonly Attempt[] };

export function createCircuits({
  db,
  clock,
  log,
  telemetry,
}: Pick<Base, 'db' | 'clock' | 'log' | 'telemetry'>): Circuits {
  const memory = createCircuitMemory({ db, clock });

  /** Returns whether the call is the trial of an open circuit. */
  const admit = async (call: CircuitCall, key: CircuitKey): Promise<boolean> => {
    const known = await memory.stateOf(key);
    if (!known || known.openUntil === null) return false;
    const now = clock.now();
    if (known.openUntil > now) throw circuitOpen(call, { ...known, closesAt: known.openUntil, now });
    const claim = await claimTrial(db, key, now);
    if (claim === 'closed') await memory.note(key, undefined);
    if (typeof claim === 'string') return claim === 'trial';
    throw circuitOpen(call, { ...claim, now });
  };

  /** Notes how a call ended. A failure of the store must not replace the result of the call. */
  const note = async (call: RunningCall, key: CircuitKey, end: { isTrial: boolean; error: unknown }) => {
    try {
      const how = end.error === undefined ? 'answered' : endOf(call.attempts, end.error);
      const known = await memory.lastStateOf(key);
      if (how === 'failed') {
        const state = await noteFailure(db, key, { call, now: clock.now() });
        if (isOpening(known, state, clock.now())) telemetry.circuitsOpened.count(call.connectorId);
        await memory.note(key, state);
      } else if (how === 'answered' && known) {
        await closeCircuit(db, key);
        await memory.note(key, undefined);
      } else if (end.isTrial) await endTrial(db, key);
    } catch (err) {
      log.warn({ err }, 'end of a call not noted in its circuit');
    }
  };

  return {
    async through(call, run) {
      const { connectorId, actionId } = call;
      const key = { account: accountOf(call), connectorId, actionId };
      const isTrial = await admit(call, key);
      let result;
      try {
        result = await run();
      } catch (error) {
        await note(call, key, { isTrial, error: error ?? null });
        throw error;
      }
      await note(call, key, { isTrial, error: undefined });
      return result;
    },
  };
}

/**
 * Returns whose calls share a circuit: those of a credential. Calls without one belong to the user of a server, because
 * the input of one user must not stop the calls of another.
 */
function accountOf({ credentialId, serverId, userId }: CircuitCall): string {
  if (credentialId !== undefined) return credentialId;
  return userId === undefined ? serverId : `${serverId} ${userId}`;
}

/** Reasons of outbound errors that mean that the app could not be reached; see outbound/outbound-errors.ts. */
const UNREACHED: ReadonlySet<unknown> = new Set([
  'dns',
  'refused',
  'reset',
  'tls',
  'unreachable',
  'protocol',
]);

/** Returns whether the app failed in the last request. Our own refusal, a cancelled call and a 429 give `unknown`. */
function endOf(attempts: readonly Attempt[], error: unknown): 'failed' | 'answered' | 'unknown' {
  const last = attempts.at(-1);
  if (!last) return 'unknown';
  const { status, errorCode } = last;
  if (status !== undefined) {
    if (status >= 500) return 'failed';
    return status === 429 ? 'unknown' : 'answered';
  }
  if (errorCode === 'upstream_timeout') return 'failed';
  const reason = error instanceof GatehouseError ? error.details?.['reason'] : undefined;
  return errorCode === 'upstream_failed' && UNREACHED.has(reason) ? 'failed' : 'unknown';
}

function isOpening(before: CircuitState | undefined, { openUntil }: CircuitState, now: number): boolean {
  const wasOpen = (before?.openUntil ?? 0) > now;
  return openUntil !== null && !wasOpen;
}

function circuitOpen(
  { connectorId, actionId, credentialId }: CircuitCall,
  { failures, closesAt, now }: { failures: number; closesAt: number; now: number },
): GatehouseError {
  const seconds = Math.max(1, Math.ceil((closesAt - now) / SECOND));
  const account = credentialId === undefined ? '' : ' with this account';
  return new GatehouseError(
    'circuit_open',
    `The last ${failures} calls of ${connectorId}.${actionId}${account} failed at the app, so this one was not sent. ` +
      `The next one is possible at ${isoTime(closesAt)}, in ${seconds} s.`,
    { details: { closesAt: isoTime(closesAt) }, retryAfterSeconds: seconds },
  );
}
