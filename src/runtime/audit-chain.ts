import { createHmac, type KeyObject } from 'node:crypto';
import type { Tables } from '../store/schema.ts';

type Entry = Tables['audit'];
type Checkpoint = Tables['audit_checkpoints'];

/** An entry of a chain. */
export type ChainedEntry = Entry & {
  chain_id: string;
  sequence: number;
  previous_hash: string;
  hash: string;
};

/** The last entry of a chain. */
export interface ChainHead {
  chainId: string;
  sequence: number;
  hash: string;
  /** Time of the head of a chain of executions, which are stored for a limited time. */
  at?: number;
}

/**
 * Returns the hash of an entry, over all its columns and the hash of the entry before it. The key is sealed under the
 * master key, so a writer of the database alone cannot make a valid entry.
 */
export function hashOfEntry(hashKey: KeyObject, entry: Omit<ChainedEntry, 'hash'>): string {
  const { audit_id, environment, at, request_id, caller, operation, target, status } = entry;
  const { chain_id, sequence, previous_hash } = entry;
  const facts = [audit_id, environment, at, request_id, caller, operation, target, status];
  return keyedHash(hashKey, 'audit entry', facts.concat(chain_id, sequence, previous_hash));
}

/** Returns the signature of a checkpoint, over its heads and the signature of the checkpoint before it. */
export function signatureOf(hashKey: KeyObject, checkpoint: Omit<Checkpoint, 'signature'>): string {
  const { sequence, at, heads, previous_signature } = checkpoint;
  return keyedHash(hashKey, 'audit checkpoint', [sequence, at, heads, previous_signature]);
}

/** Returns the HMAC of values for a purpose. */
export function keyedHash(hashKey: KeyObject, purpose: string, values: readonly unknown[]): string {
  return createHmac('sha256', hashKey)
    .update(JSON.stringify([purpose, ...values]))
    .digest('base64url');
}
