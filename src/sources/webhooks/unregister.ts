import { setTimeout as sleep } from 'node:timers/promises';
import type { Context } from '../context.ts';
import { isRunning, type JobKind } from '../../runtime/jobs.ts';
import { SECOND } from '../../lib/clock.ts';
import { GatehouseError, publicError } from '../../lib/errors.ts';
import { openHook, saveHook } from './hook.ts';
import {
  listed,
  load,
  OTHER_JOB_WAIT_MS,
  payloadSchema,
  remove,
  type Registration,
} from './registrations.ts';
import { deleteSource } from '../source-records.ts';

/** Longest time that the deletion of a credential waits for an app. */
const REMOVAL_MS = 5 * SECOND;

/** Removes our registrations at the app, then the source. */
export function unregisterJob(context: Context): JobKind {
  return {
    attempts: 8,
    async run(payload, signal) {
      const { sourceId } = payloadSchema.parse(payload);
      const found = await load(context, payload, signal);
      if (found === 'away')
        throw new GatehouseError('unavailable', 'The connector of this source is missing.');
      if (found !== 'gone') {
        if (found.source.status !== 'ending') return undefined;
        if (await isRunning(context.db, context, { kind: 'register', key: sourceId }))
          return OTHER_JOB_WAIT_MS;
        await removeAll(context, found);
      }
      await deleteSource(context, sourceId);
      return undefined;
    },
    async gaveUp(payload, error) {
      const { sourceId } = payloadSchema.parse(payload);
      context.log.warn({ sourceId, reason: error.message }, 'webhook removal failed, will not retry');
      await deleteSource(context, sourceId);
      return undefined;
    },
  };
}

/**
 * Removes the registrations of credentials before they are deleted, because no call is possible afterwards.
 * It takes a few seconds at most and ignores failures. The credentials are deleted in any case, and an app
 * drops addresses that answer 404.
 */
export async function removeHooksOf(
  context: Context,
  of: { credentialId: string } | { userId: string },
): Promise<void> {
  let query = context.db.selectFrom('sources').select('source_id').where('hook_sealed', 'is not', null);
  query =
    'userId' in of
      ? query.where('user_id', '=', of.userId)
      : query.where('credential_id', '=', of.credentialId);
  const rows = await query.execute();
  if (rows.length === 0) return;
  const removal = Promise.all(
    rows.map(({ source_id: sourceId }) =>
      removeOf(context, sourceId).catch((error: unknown) => logRemovalFailure(context, sourceId, error)),
    ),
  );
  const end = new AbortController();
  await Promise.race([removal, sleep(REMOVAL_MS, undefined, { signal: end.signal, ref: false })]);
  end.abort();
}

async function removeOf(context: Context, sourceId: string): Promise<void> {
  const found = await load(context, { sourceId });
  if (typeof found === 'object') await removeAll(context, found);
}

/** Removes the registrations of a source, and logs failures. */
export async function removeQuietly(context: Context, found: Registration): Promise<void> {
  try {
    await removeAll(context, found);
  } catch (error) {
    logRemovalFailure(context, found.source.sourceId, error);
  }
}

export function logRemovalFailure({ log }: Context, sourceId: string, error: unknown): void {
  log.warn({ sourceId, code: publicError(error).code }, 'webhook removal failed');
}

/**
 * Removes the listed registrations of a source, and the stored ones that the app does not list. Each id is
 * deleted with its registration, because the source may get a consumer again before the last removal.
 */
async function removeAll(context: Context, found: Registration): Promise<void> {
  const hook = openHook(context, found.source);
  if (!hook) return;
  const there = await listed(context, found, hook);
  const ours = there?.ours ?? [];
  const stored = Object.entries(hook.ids).map(([topic, id]) => ({ topic, id }));
  const unlisted = there?.isWhole ? [] : stored.filter(({ id }) => !ours.some((one) => one.id === id));
  for (const one of [...ours, ...unlisted]) {
    await remove(context, found, one);
    hook.ids = Object.fromEntries(Object.entries(hook.ids).filter(([, id]) => id !== one.id));
    await saveHook(context, found.source, { value: hook });
  }
}
