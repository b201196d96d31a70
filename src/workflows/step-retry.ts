import { callableAction } from '../connectors/catalog.ts';
import { actionOfCall } from '../connectors/compile.ts';
import type { Context } from './context.ts';
import { MINUTE, SECOND } from '../lib/clock.ts';
import type { ErrorCode, GatehouseError } from '../lib/errors.ts';
import { backoff, jitter } from '../runtime/backoff.ts';
import { isOutcomeUnknown, isRepeatable, outcomeUnknown } from '../upstream/outcome.ts';
import type { RunRow } from './begin.ts';
import type { CallStep } from './perform.ts';

/** Returns whether repeating the call of a step under the same key is safe. */
export function mayRepeat({ catalog }: Pick<Context, 'catalog'>, run: RunRow, step: CallStep): boolean {
  // Calls of http steps carry an Idempotency-Key.
  if ('http' in step) return true;
  const connector = catalog.connector(run.environment, step.connectorId);
  const found = connector && callableAction(connector, step.actionId);
  if (!connector || !found) return false;
  const action = actionOfCall(connector, found, step.input);
  return isRepeatable({ connector, action, idempotencyKey: 'key' });
}

/** The consequence of a failure: repeat later, continue with the next step, or end the run. */
export type AfterFailure =
  | { next: 'again'; waitMs: number; newKey: boolean }
  | { next: 'continue' }
  | { next: 'stop' };

const TRANSIENT: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  'upstream_rate_limited',
  'rate_limited',
  'unavailable',
]);
/** Errors that repeat as long as the step, its input and its accounts stay the same. */
const PERMANENT: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  'invalid_request',
  'restricted',
  'forbidden',
  'confirmation_required',
  'connector_not_found',
  'action_not_found',
  'credential_not_found',
  'expression_failed',
  'upstream_too_large',
]);
/** Statuses that reject the call itself. After 404, 409 and 422 the app's data may have changed. */
const PERMANENT_STATUSES: ReadonlySet<unknown> = new Set([
  400, 401, 403, 405, 406, 410, 411, 413, 414, 415, 431,
]);
const MAX_TRANSIENT = 20;
const RETRIES = { firstMs: 5 * SECOND, longestMs: 10 * MINUTE };

/** Decides after `attempts` attempts. A call that may have had an effect is repeated only if that is safe. */
export function afterFailure(
  error: GatehouseError,
  onError: CallStep['onError'],
  { attempts, repeatable }: { attempts: number; repeatable: boolean },
): AfterFailure {
  const waitMs = waitAfter(error, attempts);
  if (TRANSIENT.has(error.code) && attempts < MAX_TRANSIENT) return { next: 'again', waitMs, newKey: false };
  const unknown = isOutcomeUnknown(error);
  const retryMayHelp = !isPermanent(error) && (repeatable || !unknown);
  if (typeof onError === 'object' && attempts <= onError.retry && retryMayHelp)
    return { next: 'again', waitMs, newKey: !unknown };
  return onError === 'continue' ? { next: 'continue' } : { next: 'stop' };
}

/** Returns whether the same call would be rejected again. */
function isPermanent({ code, details }: GatehouseError): boolean {
  if (code === 'upstream_rejected') return PERMANENT_STATUSES.has(details?.['status']);
  return PERMANENT.has(code) || details?.['reason'] === 'blocked_address';
}

function waitAfter(error: GatehouseError, attempts: number): number {
  const { retryAfterSeconds = 0 } = error;
  if (retryAfterSeconds > 0) return Math.min(retryAfterSeconds * SECOND, 24 * 60 * MINUTE);
  return jitter(backoff(attempts, RETRIES), 0.2);
}

/** Returns the error for a call whose process died, so that its effect is unknown. */
export function callAbandoned(): GatehouseError {
  return outcomeUnknown(
    'The process ended during this call, and the app supports no idempotency keys: whether it took effect is ' +
      'unknown. Check the app before you retry this run.',
  );
}
