import { createHash } from 'node:crypto';
import type { Response } from 'express';
import { SECOND, type Clock } from '../lib/clock.ts';
import type { Db, DbOrTx } from '../store/schema.ts';
import {
  insertWrites,
  lockAccount,
  readWrites,
  WRITES_KEPT_MS,
  type Change,
  type WriteRow,
} from './account-writes.ts';
import { Refusal } from './answers.ts';
import { seedAccount, type Customer, type Order, type Product } from './seed.ts';

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

/** The data of a key: seeded data, and the records that were written with it within a day. */
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
  readonly answers: Map<string, StoredResponse>;
}

export interface StoredResponse {
  request: string;
  status: number;
  body: unknown;
}

/** The records that a write may add, by their kind. */
interface Records {
  customer: Customer;
  order: Order;
  message: Message;
  contact: Contact;
  ticket: Ticket;
  webhook: Webhook;
}

/** Changes of a write. The account shows them after the commit. */
export interface Changes {
  /** Returns the next id of a kind of record: `cus_1121`. */
  nextId(prefix: string): string;
  /** Adds a record, or replaces the one with its id. @throws Refusal 507 when the account is full. */
  put<K extends keyof Records>(kind: K, record: Records[K]): void;
  remove(kind: 'customer' | 'webhook', id: string): void;
  answer(key: string, answer: StoredResponse): void;
}

/** A request's account, as all processes have written it. */
export interface OpenAccount {
  readonly now: Account;
  /** Runs a write that no other write of the account interleaves, and commits its changes. */
  change<T>(work: (account: Account, changes: Changes) => T): Promise<T>;
}

/** Returns the account of the key that the request of this response carried. */
export type AccountOf = (res: Response) => OpenAccount;

/**
 * Accounts by key: an API key or the key of a name. Their writes are rows of the store. Beyond the limit the least
 * recently used one is dropped from memory.
 */
export interface Accounts {
  /** Counts a request. @returns the milliseconds to wait when there were too many, else 0. */
  admit(key: string): number;
  open(key: string): Promise<OpenAccount>;
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
/** The limit of writes that one key may make in a day. */
export const MAX_WRITTEN = 10_000;
/** The limit of requests that one key may make in a second. */
export const REQUESTS_PER_SECOND = 50;
const MAX_ANSWERS = 200;
/**
 * Ids of new records begin with the seconds since this time. Records expire, but clients remember their ids. They would
 * otherwise take a new record for a known one.
 */
const ID_EPOCH_MS = Date.UTC(2020, 0, 1);

/** An account in memory, and how far its rows are read. */
interface Held {
  account: Account;
  /** Position of the last row. */
  last: number;
  /** Time of the oldest row that expires; Infinity without one. */
  oldestAt: number;
  written: number;
  /** Numbers of the last ids by prefix. */
  numbers: Map<string, number>;
  windowStart: number;
  inWindow: number;
}

export function createAccounts({ db, clock }: { db: Db; clock: Clock }): Accounts {
  const accounts = new Map<string, Held>();

  const heldOf = (key: string): Held => {
    const id = identityOf(key);
    const held = accounts.get(id) ?? { ...seeded(key), windowStart: 0, inWindow: 0 };
    accounts.delete(id);
    accounts.set(id, held);
    if (accounts.size > MAX_ACCOUNTS) accounts.delete(accounts.keys().next().value ?? '');
    return held;
  };

  /** Reads the rows of other processes and of later transactions. */
  const refresh = async (from: DbOrTx, key: string, held: Held): Promise<void> => {
    const now = clock.now();
    if (held.oldestAt <= now - WRITES_KEPT_MS) Object.assign(held, seeded(key));
    for (const row of await readWrites(from, identityOf(key), { after: held.last, now })) apply(held, row);
  };

  return {
    admit(key) {
      const held = heldOf(key);
      const now = clock.now();
      if (now - held.windowStart >= SECOND) {
        held.windowStart = now;
        held.inWindow = 0;
      }
      held.inWindow++;
      return held.inWindow > REQUESTS_PER_SECOND ? held.windowStart + SECOND - now : 0;
    },
    async open(key) {
      const held = heldOf(key);
      await refresh(db, key, held);
      return {
        get now() {
          return held.account;
        },
        async change(work) {
          const done = await db.transaction().execute(async (tx) => {
            await lockAccount(tx, held.account.id);
            await refresh(tx, key, held);
            const changes: Change[] = [];
            const result = work(held.account, changesOf(held, changes, clock));
            await insertWrites(tx, held.account.id, { changes, now: clock.now() });
            return result;
          });
          await refresh(db, key, held);
          return done;
        },
      };
    },
  };
}

function seeded(key: string): Omit<Held, 'windowStart' | 'inWindow'> {
  const account: Account = {
    id: identityOf(key),
    ...seedAccount(key),
    messages: [],
    contacts: [],
    tickets: [],
    webhooks: [],
    answers: new Map(),
  };
  return { account, last: 0, oldestAt: Infinity, written: 0, numbers: new Map() };
}

/** Collects the changes of a write. */
function changesOf({ numbers, written }: Held, changes: Change[], clock: Clock): Changes {
  const add = (kind: string, id: string, body: unknown): void => {
    if (body !== undefined && kind !== 'answer' && written >= MAX_WRITTEN)
      throw new Refusal(
        { status: 507, kind: 'full' },
        'This sandbox account is full. Use another key: any value that begins with sandbox_.',
      );
    changes.push({ kind, record_id: id, body: body === undefined ? null : JSON.stringify(body) });
  };
  return {
    nextId(prefix) {
      const seconds = Math.floor((clock.now() - ID_EPOCH_MS) / SECOND);
      return `${prefix}_${Math.max(seconds, (numbers.get(prefix) ?? 0) + 1)}`;
    },
    put: (kind, record) => add(kind, record.id, record),
    remove: (kind, id) => add(kind, id, undefined),
    answer: (key, answer) => add('answer', key, answer),
  };
}

/** Applies a row, unless another request of this process has done so. */
function apply(held: Held, { position, kind, record_id: id, body, written_at: at }: WriteRow): void {
  if (position <= held.last) return;
  held.last = position;
  if (kind !== 'webhook') held.oldestAt = Math.min(held.oldestAt, at);
  if (kind !== 'webhook' && kind !== 'answer') held.written++;
  const [, prefix = '', number = ''] = /^([a-z]+)_(\d+)$/.exec(id) ?? [];
  held.numbers.set(prefix, Math.max(held.numbers.get(prefix) ?? 0, Number(number)));
  const { account } = held;
  const value = body === null ? undefined : JSON.parse(body);
  if (kind === 'answer') {
    account.answers.set(id, value);
    if (account.answers.size > MAX_ANSWERS) account.answers.delete(account.answers.keys().next().value ?? '');
  } else if (kind === 'customer') place(account.customers, id, value);
  else if (kind === 'order') place(account.orders, id, value);
  else if (kind === 'contact') place(account.contacts, id, value);
  else if (kind === 'ticket') place(account.tickets, id, value);
  else if (kind === 'webhook') place(account.webhooks, id, value);
  else if (kind === 'message') account.messages.unshift(value);
}

/** Adds, replaces or removes a record of a list. */
function place<T extends { id: string }>(list: T[], id: string, record: T | undefined): void {
  const index = list.findIndex((one) => one.id === id);
  if (record === undefined) {
    if (index !== -1) list.splice(index, 1);
  } else if (index === -1) list.push(record);
  else list[index] = record;
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
