import { randomUUID } from 'node:crypto';
import type { Base } from '../base.ts';
import { MINUTE } from '../lib/clock.ts';
import { createExpiring } from '../lib/ttl-cache.ts';
import type { AuditLog } from '../runtime/audit-log.ts';
import type { Environment } from '../store/environments.ts';
import { labelOfKey } from './api-keys.ts';

/** Uses of one key closer together than this are written once. */
const USED_MS = MINUTE;
const MAX_KEYS = 10_000;

type UsedKey = { keyId: string; environment: Environment };

/** The record of uses of API keys, written in batches next to the requests. */
export interface KeyUses {
  /** Notes that a key was used. */
  used(key: UsedKey): void;
  /** Notes that a revoked or expired key was used, for the audit log. */
  refused(key: UsedKey): void;
  /** Writes the noted uses, and stops. */
  close(): Promise<void>;
}

export function createKeyUses(
  context: Pick<Base, 'db' | 'clock' | 'log' | 'intervals'> & { audit: AuditLog },
): KeyUses {
  const { clock, log, intervals } = context;
  const recent = createExpiring<true>({ ttlMs: USED_MS, max: MAX_KEYS, clock });
  let waiting: (() => Promise<unknown>)[] = [];
  let timer: NodeJS.Timeout | undefined;
  let writing = Promise.resolve();

  const note = (name: string, write: () => Promise<unknown>): void => {
    if (recent.has(name)) return;
    recent.set(name, true);
    waiting.push(async () => {
      try {
        await write();
      } catch (error) {
        // The next write is due in a minute. An earlier one would fill the log while the disk is full.
        log.warn({ err: error }, 'use of an API key not written');
      }
    });
    timer ??= setTimeout(flush, intervals.workMs);
  };

  const flush = (): void => {
    clearTimeout(timer);
    timer = undefined;
    const writes = waiting;
    waiting = [];
    writing = writeAll(writing, writes);
  };

  return {
    used: ({ keyId }) => note(`used ${keyId}`, () => recordUse(context, keyId)),
    refused: (key) => note(`refused ${key.keyId}`, () => recordRefusal(context, key)),
    async close() {
      flush();
      await writing;
    },
  };
}

async function writeAll(earlier: Promise<void>, writes: readonly (() => Promise<unknown>)[]): Promise<void> {
  await earlier;
  for (const write of writes) await write();
}

/** Sets the last use, unless another process did within the same minute. */
async function recordUse({ db, clock }: Pick<Base, 'db' | 'clock'>, keyId: string): Promise<void> {
  const now = clock.now();
  await db
    .updateTable('api_keys')
    .set({ last_used_at: now })
    .where('key_id', '=', keyId)
    .where((e) => e.or([e('last_used_at', 'is', null), e('last_used_at', '<=', now - USED_MS)]))
    .execute();
}

function recordRefusal({ audit }: { audit: AuditLog }, { keyId, environment }: UsedKey): Promise<void> {
  return audit.record({
    environment,
    requestId: randomUUID(),
    caller: labelOfKey(keyId),
    operation: 'useEndedKey',
    target: keyId,
    status: 401,
  });
}
