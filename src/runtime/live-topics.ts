import { sql } from 'kysely';
import type { Base } from '../base.ts';
import { MINUTE } from '../lib/clock.ts';
import type { Environment } from '../store/environments.ts';
import type { Db } from '../store/schema.ts';
import { createLoop, type Loop } from './loop.ts';

/** Kinds of things that a page shows and that change without it. */
export const TOPICS = ['executions', 'administration', 'accounts', 'runs'] as const;
export type Topic = (typeof TOPICS)[number];

/** Notifications of changed topics. Processes share nothing but the store, so each compares what is newest there. */
export interface LiveTopics {
  /**
   * Calls `changed` with the topics of an environment that changed after this resolved, and `closed` at close().
   * Resolves to the function that ends it.
   */
  watch(watcher: Watcher): Promise<() => void>;
  /** Number of open watches: of one caller, and of all. */
  count(label: string): { own: number; all: number };
  close(): Promise<void>;
}

export interface Watcher {
  environment: Environment;
  /** The caller's label. */
  label: string;
  changed(topics: Topic[]): void;
  closed(): void;
}

/** Rows older than this are not looked at, so that no query grows with the table. */
const RECENT_MS = MINUTE;

type Marks = Record<Topic, string>;

export function createLiveTopics({
  db,
  clock,
  log,
  intervals,
}: Pick<Base, 'db' | 'clock' | 'log' | 'intervals'>): LiveTopics {
  const watchers = new Set<Watcher>();
  const marks = new Map<Environment, Marks>();
  let loop: Loop | undefined;
  let isClosed = false;

  const turn = async (): Promise<void> => {
    const watched = new Set([...watchers].map(({ environment }) => environment));
    for (const environment of watched) {
      const before = marks.get(environment);
      const now = await newestMarks(db, environment, clock.now() - RECENT_MS);
      marks.set(environment, now);
      const topics = before ? TOPICS.filter((topic) => isNewer(now[topic], before[topic])) : [];
      if (topics.length === 0) continue;
      for (const watcher of watchers) if (watcher.environment === environment) watcher.changed(topics);
    }
  };
  const start = (): Loop => {
    const started = createLoop({
      turn,
      onError: (error) => log.warn({ err: error }, 'changes for the console not read'),
    });
    started.every(intervals.workMs);
    return started;
  };
  const stop = async (): Promise<void> => {
    const ending = loop;
    loop = undefined;
    marks.clear();
    await ending?.close();
  };

  return {
    async watch(watcher) {
      if (isClosed) {
        watcher.closed();
        return () => {};
      }
      watchers.add(watcher);
      loop ??= start();
      loop.wake();
      await loop.idle();
      return () => {
        watchers.delete(watcher);
        if (watchers.size === 0) void stop();
      };
    },
    count: (label) => ({
      own: [...watchers].filter((watcher) => watcher.label === label).length,
      all: watchers.size,
    }),
    async close() {
      isClosed = true;
      for (const watcher of watchers) watcher.closed();
      watchers.clear();
      await stop();
    },
  };
}

/** A mark that vanished left the recent time. Nothing changed then. */
function isNewer(now: string, before: string): boolean {
  return now !== '' && now !== before;
}

/** Returns what is newest of each topic. Each query reads the end of an index. */
async function newestMarks(db: Db, environment: Environment, since: number): Promise<Marks> {
  const execution = await db
    .selectFrom('executions')
    .select('execution_id')
    .where('environment', '=', environment)
    .where('at', '>=', since)
    .orderBy('at', 'desc')
    .orderBy('execution_id', 'desc')
    .limit(1)
    .executeTakeFirst();
  // An answer with an access token is recorded too, and changes nothing.
  const change = await db
    .selectFrom('audit')
    .select('audit_id')
    .where('environment', '=', environment)
    .where('at', '>=', since)
    .where(sql<boolean>`operation not like 'get%' and operation not like 'list%'`)
    .orderBy('at', 'desc')
    .orderBy('audit_id', 'desc')
    .limit(1)
    .executeTakeFirst();
  const note = await db
    .selectFrom('changes')
    .select('change_id')
    .where('at', '>=', since)
    .where('environment', '=', environment)
    .orderBy('at', 'desc')
    .limit(1)
    .executeTakeFirst();
  const begun = await db
    .selectFrom('workflow_runs')
    .select('run_id')
    .where('environment', '=', environment)
    .orderBy('run_id', 'desc')
    .limit(1)
    .executeTakeFirst();
  const ended = await db
    .selectFrom('workflow_runs')
    .select('run_id')
    .where('ended_at', '>=', since)
    .where('environment', '=', environment)
    .orderBy('ended_at', 'desc')
    .limit(1)
    .executeTakeFirst();
  return {
    executions: execution?.execution_id ?? '',
    administration: change?.audit_id ?? '',
    accounts: note?.change_id ?? '',
    runs: begun || ended ? `${begun?.run_id} ${ended?.run_id}` : '',
  };
}
