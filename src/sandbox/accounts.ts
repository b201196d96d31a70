import { createHash } from 'node:crypto';
import type { Response } from 'express';
import { SECOND, type Clock } from '../lib/clock.ts';
import type { Webhook } from './webhooks.ts';
import { seedAccount, type Customer, type Order, type Product, type Seeded } from './seed.ts';

export interface Message {
  id: string;
  to: string;
  subject: string | null;
  text: string;
  created_at: string;
}

export interface Contact {
  id: string;
  email: string;
  name: string | null;
  tags: string[];
  created_at: string;
  updated_at: string;
}

export interface Ticket {
  id: string;
  title: string;
  body: string;
  priority: 'low' | 'normal' | 'high';
  status: 'open';
  customer_id: string | null;
  created_at: string;
}

/** What a key sees: the data that it was seeded with, and what was written with it since this process began. */
export interface Account {
  /** Such as acc_1f0c52a7b3de. */
  readonly id: string;
  readonly customers: Customer[];
  readonly orders: Order[];
  readonly products: readonly Product[];
  readonly messages: Message[];
  readonly contacts: Contact[];
  readonly tickets: Ticket[];
  readonly webhooks: Webhook[];
  /** Answers of writes by Idempotency-Key. */
  readonly answers: Map<string, { request: string; status: number; body: unknown }>;
  /** The next id of a kind of record: `cus_1121`. */
  nextId(prefix: string): string;
  /** Counts a record that was added. @returns false when the account is full. */
  hasRoom(): boolean;
  /** Counts a request: the milliseconds to wait when there were too many, else 0. */
  admit(): number;
}

/** The account of the key that came with the request of this answer. */
export type AccountOf = (res: Response) => Account;

/** Accounts by key, which is an API key or that of a name. The one that was used longest ago goes when there are too many; its writes go with it. */
export interface Accounts {
  of(key: string): Account;
}

/** The key of the account that a person named at the consent; no API key is like it. */
export function keyOfName(name: string): string {
  return `named ${name.toLowerCase()}`;
}

/** The id of the account that a key opens. */
export function identityOf(key: string): string {
  return `acc_${createHash('sha256').update(`id ${key}`).digest('hex').slice(0, 12)}`;
}

const MAX_ACCOUNTS = 100;
/** Records that one key may add, all kinds together. */
export const MAX_WRITTEN = 500;
/** Requests that one key may make in a second. */
export const REQUESTS_PER_SECOND = 50;
/**
 * Ids of new records begin with the seconds since then: nothing outlives a restart here, but who listens remembers the ids
 * of an earlier run, and would take a new record for one that it has seen.
 */
const ID_EPOCH_MS = Date.UTC(2020, 0, 1);

export function createAccounts(clock: Clock): Accounts {
  const accounts = new Map<string, Account>();
  return {
    of(key) {
      // By digest: a key may be long, and need not lie around.
      const id = createHash('sha256').update(key).digest('base64');
      const account = accounts.get(id) ?? openAccount(clock, identityOf(key), seedAccount(key));
      accounts.delete(id);
      accounts.set(id, account);
      if (accounts.size > MAX_ACCOUNTS) accounts.delete(accounts.keys().next().value ?? '');
      return account;
    },
  };
}

function openAccount(clock: Clock, id: string, { customers, orders, products }: Seeded): Account {
  const counters = new Map<string, number>();
  const firstId = Math.floor((clock.now() - ID_EPOCH_MS) / SECOND);
  let written = 0;
  let windowStart = 0;
  let inWindow = 0;
  return {
    id,
    customers,
    orders,
    products,
    messages: [],
    contacts: [],
    tickets: [],
    webhooks: [],
    answers: new Map(),
    nextId(prefix) {
      const next = counters.get(prefix) ?? firstId;
      counters.set(prefix, next + 1);
      return `${prefix}_${next}`;
    },
    hasRoom() {
      if (written >= MAX_WRITTEN) return false;
      written++;
      return true;
    },
    admit() {
      const now = clock.now();
      if (now - windowStart >= SECOND) {
        windowStart = now;
        inWindow = 0;
      }
      inWindow++;
      return inWindow > REQUESTS_PER_SECOND ? windowStart + SECOND - now : 0;
    },
  };
}
