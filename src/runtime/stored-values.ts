import { sql, type SelectQueryBuilder } from 'kysely';
import type { Base } from '../base.ts';
import { SECOND } from '../lib/clock.ts';
import { withTimeout } from '../lib/with-timeout.ts';
import { ENVIRONMENTS } from '../store/environments.ts';
import type { Db, Tables } from '../store/schema.ts';
import { gaugeOf, type Family } from '../telemetry/series.ts';

/** Rows that one count looks at. A larger number is reported as this one, so that a scrape stays cheap. */
const MAX_COUNTED = 10_000;
const TIMEOUT_MS = 2 * SECOND;
/** How long values are cached, because several systems may scrape. */
const CACHE_MS = 5 * SECOND;

/** The metrics of the whole service that only the store knows. */
export interface StoredValues {
  /** Returns the values. A store that does not answer leaves them out, and `gatehouse_store_up` is 0. */
  read(): Promise<Family[]>;
}

export function createStoredValues(context: Pick<Base, 'db' | 'clock' | 'log'>): StoredValues {
  const { db, clock, log } = context;
  let cached: { at: number; families: Promise<Family[]> } | undefined;
  /** A read that has not ended, perhaps long after its timeout. The next one waits for it. */
  let running: Promise<Family[]> | undefined;
  const start = (): Promise<Family[]> => {
    running ??= readAll(db, clock.now()).finally(() => (running = undefined));
    return running;
  };
  const attempt = async (): Promise<Family[]> => {
    try {
      return [storeUp(1), ...(await withTimeout(start(), TIMEOUT_MS))];
    } catch (error) {
      log.warn({ err: error }, 'metrics of the store not read');
      return [storeUp(0)];
    }
  };
  return {
    read() {
      const now = clock.now();
      // A clock that was put back must not keep old values.
      if (!cached || Math.abs(now - cached.at) > CACHE_MS) cached = { at: now, families: attempt() };
      return cached.families;
    },
  };
}

function storeUp(value: 0 | 1): Family {
  const help = 'Whether the store answered the last read of its metrics within 2 s: 1 or 0.';
  return gaugeOf({ name: 'gatehouse_store_up', help, labels: [] }, [[value]]);
}

async function readAll(db: Db, now: number): Promise<Family[]> {
  return [
    ...(await deliveriesOf(db, now)),
    ...(await statesOf(db)),
    await circuitsOf(db),
    ...(await runsOf(db)),
    ...(await jobsOf(db, now)),
  ];
}

const UP_TO = 'Counted up to 10,000.';

async function deliveriesOf(db: Db, now: number): Promise<Family[]> {
  const waiting = db
    .selectFrom('deliveries')
    .select('next_at')
    .where(sql<boolean>`status = 'waiting' and offered = 0`);
  const oldest = await waiting.where('next_at', '<=', now).orderBy('next_at').limit(1).executeTakeFirst();
  const dead = db.selectFrom('deliveries').select('sequence').where('status', '=', sql.lit('dead'));
  const webhooks = db.selectFrom('inbox').select('next_at').where('processed_at', 'is', null);
  return [
    one(
      'gatehouse_deliveries_waiting',
      `Deliveries that wait for their time. ${UP_TO}`,
      await count(db, waiting),
    ),
    one(
      'gatehouse_oldest_due_delivery_age_seconds',
      'Time since the oldest due delivery should have been sent; 0 when none is due.',
      oldest ? Math.max(0, now - oldest.next_at) / SECOND : 0,
    ),
    one('gatehouse_deliveries_dead', `Deliveries that were given up. ${UP_TO}`, await count(db, dead)),
    one(
      'gatehouse_inbox_waiting',
      `Webhooks of apps that are stored and not processed. ${UP_TO}`,
      await count(db, webhooks),
    ),
  ];
}

async function statesOf(db: Db): Promise<Family[]> {
  const credentials = (state: 'needs_reconnect' | 'revoked') =>
    // The condition of the partial index must be in the query as it is.
    db
      .selectFrom('credentials')
      .select('state')
      .where(sql<boolean>`state <> 'active'`)
      .where('state', '=', state);
  const sources = (status: 'active' | 'suspended' | 'ending') =>
    db.selectFrom('sources').select('status').where('status', '=', status);
  const disabled = db.selectFrom('subscriptions').select('kind').where('status', '=', sql.lit('disabled'));
  return [
    gaugeOf(
      {
        name: 'gatehouse_credentials_unusable',
        help: `Credentials that do not work: needs_reconnect or revoked. ${UP_TO}`,
        labels: ['state'],
      },
      [
        [await count(db, credentials('needs_reconnect')), 'needs_reconnect'],
        [await count(db, credentials('revoked')), 'revoked'],
      ],
    ),
    gaugeOf(
      {
        name: 'gatehouse_sources',
        help: `Event sources, by status: active, suspended or ending. ${UP_TO}`,
        labels: ['status'],
      },
      [
        [await count(db, sources('active')), 'active'],
        [await count(db, sources('suspended')), 'suspended'],
        [await count(db, sources('ending')), 'ending'],
      ],
    ),
    one(
      'gatehouse_subscriptions_disabled',
      `Subscriptions that were disabled, by their owner or because the receiver failed. ${UP_TO}`,
      await count(db, disabled),
    ),
  ];
}

async function circuitsOf(db: Db): Promise<Family> {
  const open = db.selectFrom('circuits').select('circuit_id').where('open_until', 'is not', null);
  return one(
    'gatehouse_circuits_open',
    `Actions of accounts whose calls are stopped because they failed in a row. ${UP_TO}`,
    await count(db, open),
  );
}

async function runsOf(db: Db): Promise<Family[]> {
  const runs = async (status: 'queued' | 'running' | 'waiting') => {
    let sum = 0;
    // The index begins with the environment.
    for (const environment of ENVIRONMENTS) {
      const found = db
        .selectFrom('workflow_runs')
        .select('run_id')
        .where('environment', '=', environment)
        .where('status', '=', status);
      sum += await count(db, found);
    }
    return sum;
  };
  return [
    gaugeOf(
      {
        name: 'gatehouse_workflow_runs',
        help: `Workflow runs that have not ended, by status: queued, running or waiting. ${UP_TO}`,
        labels: ['status'],
      },
      [
        [await runs('queued'), 'queued'],
        [await runs('running'), 'running'],
        [await runs('waiting'), 'waiting'],
      ],
    ),
  ];
}

/** Returns the jobs by kind and state. Kinds are names of the code, so there are few. */
async function jobsOf(db: Db, now: number): Promise<Family[]> {
  const state = sql<string>`case when lease_until > ${now} then 'leased' when next_at <= ${now} then 'due' else 'waiting' end`;
  const some = db
    .selectFrom('jobs')
    .select(['kind', state.as('state')])
    .limit(MAX_COUNTED);
  const rows = await db
    .selectFrom(some.as('some'))
    .select((e) => ['kind', 'state', e.fn.countAll<number | string>().as('jobs')])
    .groupBy(['kind', 'state'])
    .execute();
  return [
    gaugeOf(
      {
        name: 'gatehouse_jobs',
        help: `Background jobs, by kind and state: waiting, due or leased by a process. ${UP_TO}`,
        labels: ['kind', 'state'],
      },
      rows.map(({ kind, state: one, jobs }) => [Number(jobs), kind, one]),
    ),
  ];
}

function one(name: string, help: string, value: number): Family {
  return gaugeOf({ name, help, labels: [] }, [[value]]);
}

/** Returns the number of rows, at most MAX_COUNTED. */
async function count<T extends keyof Tables, O>(
  db: Db,
  rows: SelectQueryBuilder<Tables, T, O>,
): Promise<number> {
  const { counted } = await db
    .selectFrom(rows.limit(MAX_COUNTED).as('counted'))
    .select((e) => e.fn.countAll<number | string>().as('counted'))
    .executeTakeFirstOrThrow();
  return Number(counted);
}
