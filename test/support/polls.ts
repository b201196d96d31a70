import type { IncomingMessage, ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { sql, type CompiledQuery } from 'kysely';
import { TIMING } from '../../src/outbox/delivery-timing.ts';
import { SHORT_INTERVALS } from './clock.ts';
import { until } from './until.ts';
import { connectClient } from './mcp.ts';
import type { Service } from './service.ts';

/** Records the tables that a process reads outside of transactions. One record at a time. */
export function recordReads({ context: { db } }: Service): Disposable & { tables: string[] } {
  const original = db.selectFrom.bind(db);
  const tables: string[] = [];
  Object.defineProperty(db, 'selectFrom', {
    configurable: true,
    value: (...args: Parameters<typeof db.selectFrom>) => {
      tables.push(String(args[0]));
      return original(...args);
    },
  });
  return { tables, [Symbol.dispose]: () => void Reflect.deleteProperty(db, 'selectFrom') };
}

/** Returns how many polls for changes a record contains. */
export const pollsIn = (tables: readonly string[]): number =>
  tables.filter((table) => table === 'changes').length;

/**
 * Waits until a process has polled this many times for changes. It polls while a client listens.
 * @returns the tables that it read until then.
 */
export async function polled(service: Service, times = 2): Promise<string[]> {
  using reads = recordReads(service);
  // Polls do not overlap, so the next one begins after the last one.
  await until(() => pollsIn(reads.tables) > times);
  return reads.tables;
}

/**
 * Waits until the dispatcher of a process has looked this many times for due deliveries, and has begun those that it
 * found. One call at a time.
 */
export async function scanned({ context: { db } }: Pick<Service, 'context'>, times = 2): Promise<void> {
  const original = db.executeQuery.bind(db);
  let scans = 0;
  Object.defineProperty(db, 'executeQuery', {
    configurable: true,
    value: (query: CompiledQuery) => {
      if (query.sql.includes('deliveries.offered = 1')) scans++;
      return original(query);
    },
  });
  // Scans do not overlap, so the next one begins after the attempts of the last one.
  await until(() => scans > times).finally(() => Reflect.deleteProperty(db, 'executeQuery'));
}

/** Waits until a process has polled this many times for changes and for work: its timers fire in their order. */
export const pollIntervals = (times = 4): Promise<void> => sleep(times * SHORT_INTERVALS.workMs);

/**
 * Waits until the running attempts count as slow, which they do after a second. Timers of the same duration fire in
 * their order.
 */
export const slowness = (): Promise<void> => sleep(TIMING.slowMs);

/** Waits until a statement of a PostgreSQL database waits for a lock. */
export function lockAwaited({ context: { db } }: Pick<Service, 'context'>): Promise<void> {
  const waiting = sql<{ count: number }>`select count(*)::int as count from pg_stat_activity
    where datname = current_database() and wait_event_type = 'Lock'`;
  return until(async () => (await waiting.execute(db)).rows.some(({ count }) => count > 0));
}

/** Connects a client, and waits until its standing stream is open and was checked once. */
export async function connectListener(
  service: Service,
  url: string,
  headers: Record<string, string> = {},
): Promise<Client> {
  const streams: ServerResponse[] = [];
  const onRequest = ({ method }: IncomingMessage, res: ServerResponse) =>
    void (method === 'GET' && streams.push(res));
  service.app.server.on('request', onRequest);
  const client = await connectClient(url, headers);
  // The standing stream opens after connect().
  await until(() => streams.some(({ headersSent }) => headersSent));
  service.app.server.off('request', onRequest);
  await polled(service);
  return client;
}
