import { expect, test } from 'vitest';
import { GatehouseError, type ErrorCode } from '../../src/lib/errors.ts';
import { hadNoEffect, isOutcomeUnknown } from '../../src/upstream/outcome.ts';

const failure = (code: ErrorCode, reason?: string) =>
  new GatehouseError(code, 'It failed.', reason === undefined ? {} : { details: { reason } });

test.each<[ErrorCode, string | undefined]>([
  ['upstream_timeout', undefined],
  ['upstream_failed', undefined],
  ['upstream_failed', 'reset'],
  ['upstream_failed', 'cancelled'],
  ['upstream_too_large', undefined],
  ['internal', undefined],
])('a failure %s with the reason %s leaves the effect unknown', (code, reason) => {
  expect([isOutcomeUnknown(failure(code, reason)), hadNoEffect(failure(code, reason))]).toEqual([
    true,
    false,
  ]);
});

test.each<[ErrorCode, string | undefined]>([
  ['upstream_failed', 'refused'],
  ['upstream_failed', 'dns'],
  ['upstream_failed', 'renewal_failed'],
  ['upstream_timeout', 'renewal_pending'],
  ['upstream_rejected', 'permission'],
  ['upstream_rate_limited', undefined],
  ['unavailable', undefined],
])('a failure %s with the reason %s had no effect', (code, reason) => {
  expect([isOutcomeUnknown(failure(code, reason)), hadNoEffect(failure(code, reason))]).toEqual([
    false,
    true,
  ]);
});

test('a rejected call has a known outcome, and may have had an effect', () => {
  const rejected = failure('upstream_rejected');
  expect([isOutcomeUnknown(rejected), hadNoEffect(rejected)]).toEqual([false, false]);
});
