import type { ErrorCode, GatehouseError } from '../lib/errors.ts';

/** Returns how a call ended, for its record. */
export function outcomeOf(error: GatehouseError | undefined): 'succeeded' | 'failed' | 'denied' {
  if (!error) return 'succeeded';
  return isDenial(error) ? 'denied' : 'failed';
}

/** Returns whether a rule of the operator refused the call; `details.rule` names it. */
export function isDenial(error: GatehouseError | undefined): error is GatehouseError {
  return error !== undefined && DENIALS.has(error.code);
}

const DENIALS = new Set<ErrorCode>([
  'restricted',
  'confirmation_required',
  'confirmation_declined',
  'confirmation_too_large',
  'budget_exceeded',
  'possible_duplicate',
]);
