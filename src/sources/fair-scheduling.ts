import type { Context, SourceTurn } from './context.ts';
import { beginJobs, dueJobs, type JobKind } from '../runtime/jobs.ts';
import { SECOND } from '../lib/clock.ts';

/**
 * Wait before the next look while a limit is reached. Each look scans the jobs that wait for the limit, and
 * webhooks cause thousands of looks a second.
 */
const PAUSE_MS = SECOND / 2;

/** App and user of the source of a job. Null is not limited. */
interface Owner {
  connector_id: string | null;
  user_id: string | null;
}

/**
 * Creates the round that claims and starts due jobs of sources. One app gets at most half of all slots, and one
 * user at most three quarters. An app that hangs, or a user with many sources, therefore leaves slots for others.
 */
export function createFairTurn(
  kindsOf: (context: Context) => { readonly [kind: string]: JobKind },
): SourceTurn {
  const running = new Map<string, Owner>();
  /** Time of the next look, by performance.now(). */
  let pausedUntil = 0;
  return async (context, { signal, freeSlots }) => {
    if (performance.now() < pausedUntil) return [];
    const kinds = kindsOf(context);
    const { chosen, isExhausted } = await choose(context, {
      kinds: Object.keys(kinds),
      running,
      most: freeSlots,
    });
    if (isExhausted) pausedUntil = performance.now() + PAUSE_MS;
    const begun = await beginJobs(context, kinds, { jobIds: [...chosen.keys()], signal });
    return begun.map(({ jobId, work }) => {
      const owner = chosen.get(jobId);
      if (owner) running.set(jobId, owner);
      return work.finally(() => {
        running.delete(jobId);
        pausedUntil = 0;
        // Another job of the same app or user may have waited for this slot.
        if (isExhausted) context.sources.wake();
      });
    });
  };
}

/** Returns the jobs to start by id, longest waiting first, and whether a limit is reached. */
async function choose(
  { db, clock }: Pick<Context, 'db' | 'clock'>,
  { kinds, running, most }: { kinds: string[]; running: ReadonlyMap<string, Owner>; most: number },
): Promise<{ chosen: Map<string, Owner>; isExhausted: boolean }> {
  const total = most + running.size;
  const apps = new Quota(Math.ceil(total / 2));
  const users = new Quota(Math.ceil((total * 3) / 4));
  for (const owner of running.values()) {
    apps.take(owner.connector_id);
    users.take(owner.user_id);
  }
  const chosen = new Map<string, Owner>();
  for (let more = most > 0; more;) {
    const wanted = most - chosen.size;
    const due = await ownedJobs(dueJobs(db, clock.now(), kinds), {
      apps: apps.exhausted(),
      users: users.exhausted(),
    })
      .$if(chosen.size > 0, (query) => query.where('jobs.job_id', 'not in', [...chosen.keys()]))
      .limit(wanted)
      .execute();
    for (const { job_id: jobId, ...owner } of due) {
      if (!apps.hasFree(owner.connector_id) || !users.hasFree(owner.user_id)) continue;
      apps.take(owner.connector_id);
      users.take(owner.user_id);
      chosen.set(jobId, owner);
    }
    more = due.length === wanted && chosen.size < most;
  }
  return { chosen, isExhausted: apps.exhausted().length + users.exhausted().length > 0 };
}

/** Selects the due jobs, without those of some apps and users. */
function ownedJobs(due: ReturnType<typeof dueJobs>, { apps, users }: { apps: string[]; users: string[] }) {
  return (
    due
      // The key of a backfill is its subscription; the key of all other jobs is the source.
      .leftJoin('subscriptions', 'subscriptions.subscription_id', 'jobs.key')
      .leftJoin('sources', (join) =>
        join.on((e) => e('sources.source_id', '=', e.fn.coalesce('subscriptions.source_id', 'jobs.key'))),
      )
      .select(['jobs.job_id', 'sources.connector_id', 'sources.user_id'])
      .$if(apps.length > 0, (query) =>
        query.where((e) =>
          e.or([e('sources.connector_id', 'is', null), e('sources.connector_id', 'not in', apps)]),
        ),
      )
      .$if(users.length > 0, (query) =>
        query.where((e) => e.or([e('sources.user_id', 'is', null), e('sources.user_id', 'not in', users)])),
      )
  );
}

/** Slots in use by owner, with the limit of one owner. */
class Quota {
  readonly #limit: number;
  readonly #taken = new Map<string, number>();

  constructor(limit: number) {
    this.#limit = limit;
  }

  hasFree(owner: string | null): boolean {
    return owner === null || (this.#taken.get(owner) ?? 0) < this.#limit;
  }

  take(owner: string | null): void {
    if (owner !== null) this.#taken.set(owner, (this.#taken.get(owner) ?? 0) + 1);
  }

  exhausted(): string[] {
    return [...this.#taken.keys()].filter((owner) => !this.hasFree(owner));
  }
}
