import { Router, type Request } from 'express';
import { z } from 'zod';
import { isoTime, type Clock } from '../lib/clock.ts';
import { bodyOf, notFound, Refusal } from './answers.ts';
import type { Account, AccountOf, Changes } from './accounts.ts';
import type { createAnnouncer } from './webhook-registrations.ts';
import { CURRENCIES, priceIn, totalOf, type Order } from './seed.ts';

interface Written {
  status: number;
  body: unknown;
}
type Write = (to: { account: Account; changes: Changes }, req: Request, now: string) => Written;
type Announce = ReturnType<typeof createAnnouncer>;

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
    router.post(path, async (req, res) => {
      const opened = accountOf(res);
      const key = req.get('idempotency-key');
      const request = JSON.stringify([path, req.body ?? null]);
      const { answer, isRepeated } = await opened.change((account, changes) => {
        const earlier = key === undefined ? undefined : account.answers.get(key);
        if (earlier && earlier.request !== request) {
          throw new Refusal(
            { status: 409, kind: 'key_reused' },
            'This Idempotency-Key was used for another request.',
          );
        }
        if (earlier) return { answer: earlier, isRepeated: true };
        const written = write({ account, changes }, req, isoTime(clock.now()));
        if (key !== undefined && key.length <= 200) changes.answer(key, { request, ...written });
        return { answer: written, isRepeated: false };
      });
      const { customer } = createdCustomer.parse(answer.body);
      if (customer && !isRepeated) announce(opened.now, 'customer.created', customer);
      if (isRepeated) res.set('Idempotency-Replayed', 'true');
      res.status(answer.status).json(answer.body);
    });
  }

  router.delete('/customers/:id', async (req, res) => {
    const opened = accountOf(res);
    const { id } = req.params;
    await opened.change(({ customers }, changes) => {
      if (!customers.some((one) => one.id === id)) throw notFound('customer', id);
      changes.remove('customer', id);
    });
    announce(opened.now, 'customer.deleted', { id });
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

const createCustomer: Write = ({ account, changes }, req, now) => {
  const { phone = null, company = null, ...input } = bodyOf(newCustomer, req);
  if (account.customers.some((one) => one.email === input.email)) {
    throw new Refusal({ status: 409, kind: 'taken' }, 'A customer has this e-mail address.', {
      email: 'is taken',
    });
  }
  const customer = {
    id: changes.nextId('cus'),
    ...input,
    phone,
    company,
    segment: 'new' as const,
    ...times(now),
  };
  changes.put('customer', customer);
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

const createOrder: Write = ({ account, changes }, req, now) => {
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
  const id = changes.nextId('ord');
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
  changes.put('order', order);
  return { status: 201, body: { order } };
};

const newMessage = z.strictObject({ to: email, subject: line(200).nullish(), text: line(2000) });

const sendMessage: Write = ({ changes }, req, now) => {
  const { to, subject = null, text } = bodyOf(newMessage, req);
  const message = { id: changes.nextId('msg'), to, subject, text, created_at: now };
  changes.put('message', message);
  return { status: 201, body: { message } };
};

const contactInput = z.strictObject({
  email,
  name: line(200).optional(),
  tags: z.array(line(40)).max(20).optional(),
});

/** Changes the contact of an e-mail address or adds one. Given fields replace the stored ones. */
const upsertContact: Write = ({ account, changes }, req, now) => {
  const input = bodyOf(contactInput, req);
  const known = account.contacts.find((one) => one.email === input.email);
  if (known) {
    const contact = { ...known, ...input, updated_at: now };
    changes.put('contact', contact);
    return { status: 200, body: { contact, created: false } };
  }
  const contact = { id: changes.nextId('con'), name: null, tags: [], ...input, ...times(now) };
  changes.put('contact', contact);
  return { status: 201, body: { contact, created: true } };
};

const newTicket = z.strictObject({
  title: line(200),
  body: line(2000),
  priority: z.enum(['low', 'normal', 'high']).default('normal'),
  customer_id: line(64).nullish(),
});

const createTicket: Write = ({ account, changes }, req, now) => {
  const { customer_id = null, ...input } = bodyOf(newTicket, req);
  if (customer_id !== null && !account.customers.some(({ id }) => id === customer_id)) {
    throw new Refusal({ status: 422, kind: 'invalid' }, 'There is no such customer.', {
      customer_id: 'is unknown',
    });
  }
  const ticket = {
    id: changes.nextId('tic'),
    ...input,
    customer_id,
    status: 'open' as const,
    created_at: now,
  };
  changes.put('ticket', ticket);
  return { status: 201, body: { ticket } };
};

function times(now: string): { created_at: string; updated_at: string } {
  return { created_at: now, updated_at: now };
}
