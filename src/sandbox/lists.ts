import { Router } from 'express';
import { z } from 'zod';
import { notFound, queryOf, Refusal } from './answers.ts';
import type { AccountOf } from './accounts.ts';

/** Serves the lists, each with another style of paging, as third parties have them. */
export function listRoutes(accountOf: AccountOf): Router {
  const router = Router();

  router.get('/me', (_req, res) => {
    res.json({ account: { id: accountOf(res).now.id } });
  });

  router.get('/customers', (req, res) => {
    const { skip, take, segment, email, since } = queryOf(customersQuery, req);
    const found = changedSince(accountOf(res).now.customers, since).filter(
      (one) => (!segment || one.segment === segment) && (!email || one.email === email.toLowerCase()),
    );
    res.json({ total: found.length, skip, take, customers: found.slice(skip, skip + take) });
  });

  router.get('/orders', (req, res) => {
    const { after, size, status, customer, since } = queryOf(ordersQuery, req);
    const found = changedSince(accountOf(res).now.orders, since).filter(
      (one) => (!status || one.status === status) && (!customer || one.customer_id === customer),
    );
    const last = after === undefined ? 0 : numberOfCursor(after);
    const rest = found.filter(({ number }) => number > last);
    const orders = rest.slice(0, size);
    const end = orders.at(-1);
    res.json({ orders, next: end && rest.length > size ? cursorOf(end.number) : null });
  });

  router.get('/products', (req, res) => {
    const { page, per_page: perPage, category, since } = queryOf(productsQuery, req);
    const found = changedSince(accountOf(res).now.products, since).filter(
      (one) => !category || one.category === category,
    );
    const start = (page - 1) * perPage;
    res.set('X-Total', String(found.length)).set('X-Total-Pages', String(Math.ceil(found.length / perPage)));
    res.json(found.slice(start, start + perPage));
  });

  router.get('/messages', (req, res) => {
    const { skip, take } = queryOf(window, req);
    const { messages } = accountOf(res).now;
    res.json({ total: messages.length, skip, take, messages: messages.slice(skip, skip + take) });
  });

  for (const [path, what, kind] of [
    ['/customers/:id', 'customer', 'customers'],
    ['/orders/:id', 'order', 'orders'],
    ['/products/:id', 'product', 'products'],
  ] as const) {
    router.get(path, (req, res) => {
      const record = accountOf(res).now[kind].find(({ id }) => id === req.params['id']);
      if (!record) throw notFound(what, String(req.params['id']));
      res.json({ [what]: record });
    });
  }
  return router;
}

const whole = (least: number, most: number, fallback: number) =>
  z.coerce.number('must be a number').int().min(least).max(most).default(fallback);
const window = z.strictObject({ skip: whole(0, 1_000_000, 0), take: whole(1, 100, 25) });
const since = z.iso.datetime({ offset: true }).optional();
const customersQuery = window.extend({
  since,
  segment: z.enum(['new', 'regular', 'vip']).optional(),
  email: z.string().max(200).optional(),
});
const ordersQuery = z.strictObject({
  since,
  after: z.string().max(200).optional(),
  size: whole(1, 50, 20),
  status: z.enum(['open', 'paid', 'shipped', 'cancelled']).optional(),
  customer: z.string().max(64).optional(),
});
const productsQuery = z.strictObject({
  since,
  page: whole(1, 1_000_000, 1),
  per_page: whole(1, 30, 15),
  category: z.string().max(64).optional(),
});

/** Returns the records that changed at that time or later, in their stored order. */
function changedSince<T extends { updated_at: string }>(
  records: readonly T[],
  since: string | undefined,
): readonly T[] {
  if (since === undefined) return records;
  const from = Date.parse(since);
  return records.filter(({ updated_at: at }) => Date.parse(at) >= from);
}

/** Returns a cursor that is opaque to the caller: the number of the last order before it. */
function cursorOf(orderNumber: number): string {
  return Buffer.from(`after:${orderNumber}`).toString('base64url');
}

function numberOfCursor(cursor: string): number {
  const number = /^after:(\d{1,9})$/.exec(Buffer.from(cursor, 'base64url').toString())?.[1];
  if (number === undefined) {
    throw new Refusal({ status: 422, kind: 'invalid' }, 'This cursor is not one of ours.', {
      after: 'is no cursor',
    });
  }
  return Number(number);
}
