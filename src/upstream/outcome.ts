import { GatehouseError, type ErrorCode } from '../lib/errors.ts';
import type { OutboundReason } from '../outbound/outbound-errors.ts';
import type { UpstreamCall } from './upstream-call.ts';

/* The effect of failed calls: which failures leave it unknown, and which calls may be repeated. */

/** Refusals of calls that reached nothing, or that the third party refused without effect. */
const REFUSED: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  'invalid_request',
  'credential_invalid',
  'oauth_app_missing',
  'upstream_rate_limited',
  'rate_limited',
  'budget_exceeded',
  'circuit_open',
  'unavailable',
]);
/** Reasons of calls that never left this process; see outbound/outbound-errors.ts. */
const NOT_SENT: ReadonlySet<unknown> = new Set<OutboundReason>(['blocked_address', 'dns', 'refused', 'tls']);
/**
 * Reasons why a call has no effect until tokens are renewed or rights are given. See credentials/renew.ts and
 * credentials/refusal.ts.
 */
const NOT_ADMITTED: ReadonlySet<unknown> = new Set([
  'renewal_failed',
  'renewal_pending',
  'permission',
  'credential_unchecked',
]);
const UNKNOWN: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  'upstream_failed',
  'upstream_timeout',
  'upstream_too_large',
  'internal',
]);
/** Methods that RFC 9110, section 9.2.2, calls idempotent. */
const IDEMPOTENT_METHODS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'PUT', 'DELETE']);

type Failure = Pick<GatehouseError, 'code' | 'details'>;

/** Returns whether the failed call certainly had no effect, and the same call may succeed later. */
export function hadNoEffect({ code, details }: Failure): boolean {
  const reason = details?.['reason'];
  if (REFUSED.has(code) || NOT_ADMITTED.has(reason)) return true;
  return code === 'upstream_failed' && NOT_SENT.has(reason);
}

/** Returns whether the failed call may have had its effect. */
export function isOutcomeUnknown(failure: Failure): boolean {
  return UNKNOWN.has(failure.code) && !hadNoEffect(failure);
}

/** Returns the error for a call whose process ended before the answer. The message names the next step. */
export function outcomeUnknown(message: string): GatehouseError {
  return new GatehouseError('upstream_failed', message, { details: { outcome: 'unknown' } });
}

/** Returns whether a second try does no harm: by its method, by its file, or because the app recognises the key. */
export function isRepeatable({
  action,
  connector,
  idempotencyKey,
}: Pick<UpstreamCall, 'action' | 'connector' | 'idempotencyKey'>): boolean {
  if (action.definition.idempotent !== undefined) return action.definition.idempotent;
  if (IDEMPOTENT_METHODS.has(action.method) || action.effect === 'read') return true;
  const { idempotencyHeader, idempotencyQuery } = connector.definition;
  const place = action.definition.idempotencyParam ?? idempotencyHeader ?? idempotencyQuery;
  return idempotencyKey !== undefined && place !== undefined;
}
