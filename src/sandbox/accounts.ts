import { createHash } from 'node:crypto';
import type { Response } from 'express';
import { SECOND, type Clock } from '../lib/clock.ts';
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

/** The data of a key: seeded data, and records written with it since this process started. */
export interface Account {
  /** An id such as acc_1f0c52a7b3de. */
  readonly id: string;
  readonly customers: Customer[];
  readonly orders: Order[];
  readonly products: readonly Product[];
  readonly messages: Message[];
  readonly contacts: Contact[];
  readonly tickets: Ticket[];
  readonly webhooks: Webhook[];
  /** Responses of writes by Idempotency-Key. */
  readonly answers: Map<string, { request: string; status: number; body: unknown }>;
  /** Returns the next id of a kind of record: `cus_1121`. */
  nextId(prefix: string): string;
  /** Counts a new record. @returns false when the account is full. */
  countRecord(): boolean;
  /** Counts a request. @returns the milliseconds to wait when there were too many, else 0. */
  admit(): number;
}

/** Returns the account of the key that the request of this response carried. */
export type AccountOf = (res: Response) => Account;

/**
 * Accounts by key: an API key or the key of a name. Beyond the limit the least recently used one is dropped with its
 * writes.
 */
export interface Accounts {
  of(key: string): Account;
}

/** Returns the key of the account that a person named at the consent. It differs from every API key. */
export function keyOfName(name: string): string {
  return `named ${name.toLowerCase()}`;
}

/** Returns the id of the account that a key opens. */
export function identityOf(key: string): string {
  return `acc_${createHash('sha256').update(`id ${key}`).digest('hex').slice(0, 12)}`;
}

const MAX_ACCOUNTS = 100;
/** The limit of records that one key may add, all kinds together. */
export const MAX_WRITTEN = 500;
/** The limit of requests that one key may make in a second. */
export const REQUESTS_PER_SECOND = 50;
/**
 * Ids of new records begin with the seconds since this time. Records do not survive a restart, but clients remember
 * the ids of an earlier run. They would otherwise take a new record for a known one.
 */
const ID_EPOCH_MS = Date.UTC(2020, 0, 1);

export function createAccounts(clock: Clock): Accounts {
  const accounts = new Map<string, Account>();
  return {
    of(key) {
      // The map is keyed by digest, because a key may be long and should not stay in memory.
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
    countRecord() {
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

/** A registration for change notifications. */
export interface Webhook {
  id: string;
  url: string;
  topic: Topic;
  secret: string;
}

export const TOPICS = ['customer.created', 'customer.deleted'] as const;

export type Topic = (typeof TOPICS)[number];
