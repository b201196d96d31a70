import { setTimeout as sleep } from 'node:timers/promises';
import { GatehouseError } from '../lib/errors.ts';
import type { UpstreamCall } from './upstream-call.ts';

/**
 * Waits before a call is sent or repeated.
 * @throws GatehouseError `upstream_failed` when the caller gives up.
 */
export async function pause(call: UpstreamCall, waitMs: number): Promise<void> {
  try {
    await sleep(waitMs, undefined, call.signal ? { signal: call.signal } : {});
  } catch {
    throw cancelled(call);
  }
}

export function cancelled({ connector }: UpstreamCall): GatehouseError {
  return new GatehouseError('upstream_failed', `The call of ${connector.name} was cancelled.`, {
    details: { reason: 'cancelled' },
  });
}
