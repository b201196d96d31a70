import { Router, type Request } from 'express';
import { z } from 'zod';
import { isoTime, type Clock } from '../lib/clock.ts';
import { bodyOf, notFound, Refusal } from './answers.ts';
import type { Account, AccountOf } from './accounts.ts';
import type { createAnnouncer } from './webhook-registrations.ts';
import { CURRENCIES, priceIn, totalOf, type Order } from './seed.ts';

interface Written {
  status: number;
  body: unknown;
}
type Write = (account: Account, req: Request, now: string) => Written;
type Announce = ReturnType<typeof createAnnouncer>;

const MAX_ANSWERS = 200;

/** Serves the writes. A repeated Idempotency-Key gets the first response again. */
export function writeRoutes(accountOf: AccountOf, clock: Clock, announce: Announce): Router {
  const router = Router();
  const writes: Record<string, Write> = {
    '/customers': createCustomer,
    '/orders': createOrder,
    '/messages': sendMessage,
    '/contacts': upsertContact,
    '/tickets': createTicket,
  };
  for (const [path, write] of Object.entries(writes)) {
    router.post(path, (req, res) => {
      const account = accountOf(res);
      const key = req.get('idempotency-key');
      const request = JSON.stringify([path, req.body ?? null]);
      const earlier = key === undefined ? undefined : account.answers.get(key);
      if (earlier && earlier.request !== request) {
        throw new Refusal(
          { status: 409, kind: 'key_reused' },
          'This Idempotency-Key was used for another request.',
        );
      }
      const answer = earlier ?? write(account, req, isoTime(clock.now()));
      const { customer } = createdCustomer.parse(answer.body);
      if (customer && !earlier) announce(account, 'customer.created', customer);
      if (earlier) res.set('Idempotency-Replayed', 'true');
      if (key !== undefined && !earlier && key.length <= 200) {
        account.answers.set(key, { request, ...answer });
        if (account.answers.size > MAX_ANSWERS)
          account.answers.delete(account.answers.keys().next().value ?? '');
      }
      res.status(answer.status).json(answer.body);
    });
  }

  router.delete('/customers/:id', (req, res) => {
    const account = accountOf(res);
    const { customers } = account;
    const index = customers.findIndex(({ id }) => id === req.params.id);
    if (index === -1) throw notFound('customer', req.params.id);
    customers.splice(index, 1);
    announce(account, 'customer.deleted', { id: req.params.id });
    res.status(204).end();
  });
  return router;
}

const createdCustomer = z.object({ customer: z.record(z.string(), z.unknown()).optional() });
const line = (max: number) => z.string().trim().min(1).max(max);
const email = z.email('must be an e-mail address').max(200).toLowerCase();

const newCustomer = z.strictObject({
  name: line(200),
  email,
  phone: line(40).nullish(),
  company: line(200).nullish(),
  country: z
    .string()
    .regex(/^[A-Z]{2}$/, 'must be two capital letters, such as DE')
    .default('US'),
});

const createCustomer: Write = (account, req, now) => {
  const { phone = null, company = null, ...input } = bodyOf(newCustomer, req);
  if (account.customers.some((one) => one.email === input.email)) {
    throw new Refusal({ status: 409, kind: 'taken' }, 'A customer has this e-mail address.', {
      email: 'is taken',
    });
  }
  assertNotFull(account);
  const customer = {
    id: account.nextId('cus'),
    ...input,
    phone,
    company,
    segment: 'new' as const,
    ...times(now),
  };
  account.customers.push(customer);
  return { status: 201, body: { customer } };
};

/** Also accepts `productId`. */
const newLine = z
  .strictObject({
    product_id: line(64).optional(),
    productId: line(64).optional(),
    quantity: z.int().min(1).max(1000),
  })
  .transform(({ product_id, productId, quantity }) => ({ product_id: product_id ?? productId, quantity }));

const newOrder = z.strictObject({
  customer_id: line(64),
  currency: z.enum(CURRENCIES).default('EUR'),
  lines: z.array(newLine).min(1).max(50),
  note: line(500).nullish(),
});

const createOrder: Write = (account, req, now) => {
  const { customer_id, currency, note = null, lines: inputs } = bodyOf(newOrder, req);
  const customer = account.customers.find(({ id }) => id === customer_id);
  if (!customer)
    throw new Refusal({ status: 422, kind: 'invalid' }, 'There is no such customer.', {
      customer_id: 'is unknown',
    });
  const lines = inputs.map(({ product_id, quantity }, index) => {
    const product = account.products.find(({ id }) => id === product_id);
    if (!product) {
      throw new Refusal({ status: 422, kind: 'invalid' }, 'There is no such product.', {
        [`lines.${index}.product_id`]: 'is unknown',
      });
    }
    return { product_id: product.id, title: product.title, quantity, unit_price: priceIn(product, currency) };
  });
  assertNotFull(account);
  const id = account.nextId('ord');
  const order: Order = {
    id,
    number: Number(id.slice('ord_'.length)),
    customer_id,
    status: 'open',
    currency,
    total: totalOf(lines),
    lines,
    note,
    ...times(now),
  };
  account.orders.push(order);
  return { status: 201, body: { order } };
};

const newMessage = z.strictObject({ to: email, subject: line(200).nullish(), text: line(2000) });

const sendMessage: Write = (account, req, now) => {
  const { to, subject = null, text } = bodyOf(newMessage, req);
  assertNotFull(account);
  const message = { id: account.nextId('msg'), to, subject, text, created_at: now };
  account.messages.unshift(message);
  return { status: 201, body: { message } };
};

const contactInput = z.strictObject({
  email,
  name: line(200).optional(),
  tags: z.array(line(40)).max(20).optional(),
});

/** Changes the contact of an e-mail address or adds one. Given fields replace the stored ones. */
const upsertContact: Write = (account, req, now) => {
  const input = bodyOf(contactInput, req);
  const index = account.contacts.findIndex((one) => one.email === input.email);
  const known = account.contacts[index];
  if (known) {
    const contact = { ...known, ...input, updated_at: now };
    account.contacts[index] = contact;
    return { status: 200, body: { contact, created: false } };
  }
  assertNotFull(account);
  const contact = { id: account.nextId('con'), name: null, tags: [], ...input, ...times(now) };
  account.contacts.push(contact);
  return { status: 201, body: { contact, created: true } };
};

const newTicket = z.strictObject({
  title: line(200),
  body: line(2000),
  priority: z.enum(['low', 'normal', 'high']).default('normal'),
  customer_id: line(64).nullish(),
});

const createTicket: Write = (account, req, now) => {
  const { customer_id = null, ...input } = bodyOf(newTicket, req);
  if (customer_id !== null && !account.customers.some(({ id }) => id === customer_id)) {
    throw new Refusal({ status: 422, kind: 'invalid' }, 'There is no such customer.', {
      customer_id: 'is unknown',
    });
  }
  assertNotFull(account);
  const ticket = {
    id: account.nextId('tic'),
    ...input,
    customer_id,
    status: 'open' as const,
    created_at: now,
  };
  account.tickets.push(ticket);
  return { status: 201, body: { ticket } };
};

function times(now: string): { created_at: string; updated_at: string } {
  return { created_at: now, updated_at: now };
}

function assertNotFull(account: Account): void {
  if (account.countRecord()) return;
  throw new Refusal(
    { status: 507, kind: 'full' },
    'This sandbox account is full. Use another key: any value that begins with sandbox_.',
  );
}
