import type { KeyObject } from 'node:crypto';
import { newId } from '../lib/ids.ts';
import type { Tables } from '../store/schema.ts';
import { keyedHash } from './audit-chain.ts';

type Execution = Tables['executions'];
type Batch = Tables['execution_batches'];

/** The chain of the executions that a process writes. A batch of them is one link. */
export interface ExecutionChain {
  /** Returns the link for the executions that are written next, at least one. */
  linkOf(executions: readonly Execution[]): Batch;
  /** Called after the batch was stored. */
  stored(batch: Batch): void;
  /** Begins a new chain after a failed statement, because it is unknown whether the statement stored its batch. */
  restart(): void;
}

export function createExecutionChain(hashKey: KeyObject): ExecutionChain {
  let chainId = newId('ech');
  let last: Batch | undefined;
  return {
    linkOf(executions) {
      const times = executions.map(({ at }) => at);
      const unhashed = {
        chain_id: chainId,
        sequence: (last?.sequence ?? 0) + 1,
        executions: JSON.stringify(executions.map((one) => one.execution_id)),
        first_at: Math.min(...times),
        at: Math.max(...times),
        previous_at: last?.at ?? null,
        content_hash: contentHash(hashKey, executions),
        previous_hash: last?.hash ?? '',
      };
      return { ...unhashed, hash: hashOfBatch(hashKey, unhashed) };
    },
    stored(batch) {
      last = batch;
    },
    restart() {
      chainId = newId('ech');
      last = undefined;
    },
  };
}

/** Returns the hash of all columns of executions, under the key of the audit log. */
export function contentHash(hashKey: KeyObject, executions: readonly Execution[]): string {
  return keyedHash(hashKey, 'executions', executions.map(factsOf));
}

/** Returns the hash of a batch, over its columns and the hash of the batch before it. */
export function hashOfBatch(hashKey: KeyObject, batch: Omit<Batch, 'hash'>): string {
  const { chain_id, sequence, executions, first_at, at } = batch;
  const { previous_at, content_hash, previous_hash } = batch;
  const facts = [chain_id, sequence, executions, first_at, at, previous_at, content_hash, previous_hash];
  return keyedHash(hashKey, 'batch of executions', facts);
}

function factsOf(row: Execution): unknown[] {
  return [
    row.execution_id,
    row.environment,
    row.at,
    row.request_id,
    row.caller,
    row.server_id,
    row.user_id,
    row.connector_id,
    row.action_id,
    row.credential_id,
    row.outcome,
    row.rule,
    row.error_code,
    row.upstream_status,
    row.duration_ms,
    row.attempts,
    row.program_id,
    row.undo_of,
  ];
}
