import type { Base } from '../../base.ts';
import type { Deliveries } from '../../outbox/context.ts';
import type { GroupCommit } from '../../store/group-commit.ts';
import type { Tx } from '../../store/schema.ts';

/** Writes of polls by group. Each returns its number of deliveries; undefined after a lost lease. */
export type PollCommits = GroupCommit<PollWrite, number | undefined>;

type PollWrite = (tx: Tx) => Promise<number | undefined>;

/** Creates the shared commits of all polls. Most polls find nothing and only move their cursor. */
export function createPollCommits({
  store,
  dispatcher,
}: Pick<Base, 'store'> & { dispatcher: Deliveries }): PollCommits {
  const write = async (tx: Tx, writes: PollWrite[]) => {
    const results: (number | undefined)[] = [];
    for (const one of writes) results.push(await one(tx));
    return results;
  };
  return store.groupCommit(write, (tx) => dispatcher.committed(tx));
}
