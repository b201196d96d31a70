import { createServer, type Server } from 'node:http';
import { text } from 'node:stream/consumers';
import { z } from 'zod';

/** An order of the shop, by the shop's clock. */
interface Order {
  id: number;
  createdAt: number;
  updatedAt: number;
  /** Time from which lists show it. */
  visibleAt: number;
}

/** Paging of the shop's list. */
export interface ShopStyle {
  paging: 'offset' | 'page' | 'cursor';
  order: 'ascending' | 'descending' | 'none';
  /** Content of the shop's webhooks: the record as it was, or its id; undefined without webhooks. */
  hooks?: 'record' | 'id';
}

/** A webhook that the shop has not sent yet, or will send again. */
interface Announcement {
  eventId: number;
  what: 'made' | 'changed';
  order: object;
}

/**
 * A shop with the difficulties of real ones. Records become visible late and share their times, and pages
 * shift while they are read. Its clock differs from ours, and it rejects and drops calls.
 */
export interface Shop {
  readonly url: string;
  readonly server: Server;
  style: ShopStyle;
  /** The shop's clock. */
  now(): number;
  setClock(clock: () => number): void;
  /** Milliseconds by which its Date header is ahead of its clock. */
  dateAheadMs: number;
  create(lateMs: number): number;
  update(id: number): void;
  remove(id: number): void;
  /**
   * Sends one of the pending webhooks, from 0 for the oldest to -1 for the newest. With `again` it stays
   * pending, as another event.
   */
  announce(pick: number, again: boolean): Promise<void>;
  /** Offset from which it rejects pages. */
  deepest: number;
  /** Faults of the next calls: a status, or `drop` for a broken connection. */
  faults: ('none' | 400 | 429 | 500 | 'drop')[];
  /** Runs once between two pages of the next list that has several. */
  between: (() => void) | undefined;
  reset(): void;
  close(): Promise<void>;
}

const PAGE = 3;
const listQuery = z.object({
  since: z.string().optional(),
  limit: z.coerce.number().default(PAGE),
  offset: z.coerce.number().default(0),
  page: z.coerce.number().default(1),
  after: z.string().optional(),
});

const hookWish = z.object({ url: z.string(), topic: z.string(), secret: z.string() });

export async function startShop(): Promise<Shop> {
  let orders = new Map<number, Order>();
  let hooks = new Map<number, z.infer<typeof hookWish>>();
  let owed: Announcement[] = [];
  let nextId = 1;
  let nextEvent = 1;
  let clock = () => Date.now();

  const visible = (since: number): Order[] => {
    const now = clock();
    const found = [...orders.values()].filter((one) => one.visibleAt <= now && one.updatedAt >= since);
    // The sort order of equal times is stable only by accident, as in databases.
    found.sort((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1));
    return shop.style.order === 'descending' ? found.toReversed() : found;
  };

  const server = createServer((req, res) => {
    const url = new URL(req.url ?? '/', 'http://shop');
    const fault = shop.faults.shift() ?? 'none';
    if (fault === 'drop') {
      res.destroy();
      return;
    }
    res.sendDate = false;
    res.setHeader('Date', new Date(clock() + shop.dateAheadMs).toUTCString());
    res.setHeader('Content-Type', 'application/json');
    if (fault !== 'none') {
      res.writeHead(fault, { 'Retry-After': '0' }).end('{"message":"not now"}');
      return;
    }
    const [, kind, id] = url.pathname.split('/');
    if (kind === 'hooks') {
      void text(req).then((body) => res.end(JSON.stringify(answerOfHooks(req.method, Number(id), body))));
      return;
    }
    if (id !== undefined) {
      const order = orders.get(Number(id));
      const found = order && order.visibleAt <= clock() ? shown(order) : undefined;
      res.writeHead(found ? 200 : 404).end(JSON.stringify(found ?? { message: 'gone' }));
      return;
    }
    const query = listQuery.parse(Object.fromEntries(url.searchParams));
    const all = visible(query.since === undefined ? 0 : Date.parse(query.since));
    const start =
      shop.style.paging === 'page'
        ? (query.page - 1) * query.limit
        : shop.style.paging === 'offset'
          ? query.offset
          : query.after === undefined
            ? 0
            : all.findIndex((one) => keyOf(one) === query.after) + 1;
    if (start >= shop.deepest || (query.after !== undefined && start === 0)) {
      res.writeHead(400).end('{"message":"There is nothing there."}');
      return;
    }
    const page = all.slice(start, start + query.limit);
    const more = start + query.limit < all.length;
    const last = page.at(-1);
    res.end(JSON.stringify({ orders: page.map(shown), more, next: last && more ? keyOf(last) : null }));
    if (more && shop.between) {
      shop.between();
      shop.between = undefined;
    }
  });
  const answerOfHooks = (method: string | undefined, id: number, body: string) => {
    if (method === 'GET') return { hooks: [...hooks].map(([each, hook]) => ({ id: each, ...hook })) };
    if (method === 'DELETE') return { gone: hooks.delete(id) };
    const made = hooks.size + 1;
    hooks.set(made, hookWish.parse(JSON.parse(body)));
    return { id: made };
  };

  const owe = (what: Announcement['what'], order: Order): void => {
    if (hooks.size > 0) owed.push({ eventId: nextEvent++, what, order: shown(order) });
  };

  const shop: Shop = {
    url: '',
    server,
    style: { paging: 'offset', order: 'none' },
    now: () => clock(),
    setClock: (next) => (clock = next),
    dateAheadMs: 0,
    deepest: Infinity,
    create(lateMs) {
      const id = nextId++;
      const at = clock();
      const order = { id, createdAt: at, updatedAt: at, visibleAt: at + lateMs };
      orders.set(id, order);
      owe('made', order);
      return id;
    },
    update(id) {
      const order = orders.get(id);
      if (!order) return;
      order.updatedAt = clock();
      owe('changed', order);
    },
    remove: (id) => void orders.delete(id),
    async announce(pick, again) {
      const at = Math.max(0, pick < 0 ? owed.length + pick : Math.min(pick, owed.length - 1));
      const [one] = again ? owed.slice(at) : owed.splice(at, 1);
      const hook = [...hooks.values()].find(({ topic }) => topic === one?.what);
      if (!one || !hook) return;
      if (again) owed[at] = { ...one, eventId: nextEvent++ };
      const { eventId, what, order } = one;
      const answer = await fetch(hook.url, {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'x-secret': hook.secret, 'x-event': String(eventId) },
        body: JSON.stringify({ what, order }),
      });
      if (!answer.ok) throw new Error(await answer.text());
    },
    faults: [],
    between: undefined,
    reset() {
      orders = new Map();
      hooks = new Map();
      owed = [];
      nextId = 1;
      shop.dateAheadMs = 0;
      shop.deepest = Infinity;
      shop.faults = [];
      shop.between = undefined;
    },
    close: () =>
      new Promise((resolve) => {
        server.closeAllConnections();
        server.close(() => resolve());
      }),
  };
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  return Object.assign(shop, { url: `http://127.0.0.1:${address.port}` });
}

/** Position in the shop's sort order, which its cursors hold. */
function keyOf({ updatedAt, id }: Order): string {
  return `${String(updatedAt).padStart(15, '0')}-${String((id * 7919) % 13).padStart(2, '0')}-${id}`;
}

function shown({ id, createdAt, updatedAt }: Order) {
  return {
    id,
    created_at: new Date(createdAt).toISOString(),
    updated_at: new Date(updatedAt).toISOString(),
  };
}

const PAGINGS = {
  offset: `{ style: offset, offsetParam: offset, limitParam: limit, maxLimit: ${PAGE}, hasMore: 'body:more' }`,
  page: `{ style: page, pageParam: page, limitParam: limit, maxLimit: ${PAGE}, hasMore: 'body:more' }`,
  cursor: `{ style: cursor, cursorParam: after, limitParam: limit, maxLimit: ${PAGE}, next: 'body:next' }`,
} satisfies Record<ShopStyle['paging'], string>;

const HOOK_ACTIONS = `
  list_hooks: { internal: true, description: Webhooks., request: GET /hooks, response: { data: hooks } }
  add_hook:
    internal: true
    description: A webhook.
    request: POST /hooks
    body: { url: { type: string }, topic: { type: string }, secret: { type: string } }
  drop_hook:
    internal: true
    description: Ends one.
    request: DELETE /hooks/{hookId}
    path: { hookId: { type: string } }
`;

function webhooksOf(hooks: 'record' | 'id'): string {
  return `
webhooks:
  verify: { type: header, header: X-Secret }
  eventId: header:X-Event
  topic: body:what
  ${hooks === 'record' ? 'record: order' : 'fetchId: order.id'}
  topics: { commerce/orders: [{ topic: made, event: created }, { topic: changed, event: updated }] }
  register:
    list: { action: list_hooks, id: id, address: url, topic: topic }
    create: { action: add_hook, input: { url: '{address}', topic: '{topic}', secret: '{secret}' }, id: id }
    delete: { action: drop_hook, param: hookId }
`;
}

/** Returns the connector file of such a shop. */
export function shopConnector({ paging, order, hooks }: ShopStyle): { id: string; text: string } {
  const id = ['shop', paging, order, hooks].filter((part) => part !== undefined).join('-');
  return {
    id,
    text: `
id: ${id}
name: ${id}
description: A shop of the tests.
categories: [commerce]
website: https://example.com
sources: [{ title: the tests, read: '2026-11-21' }]
baseUrl: '{origin}'
variables:
  origin: { title: Address, format: origin }
authentication: [{ type: bearer }]
actions:
  list_orders:
    description: Orders.
    request: GET /orders
    query: { since: { type: string } }
    paging: ${PAGINGS[paging]}
    response: { data: orders }
  get_order:
    description: An order.
    request: GET /orders/{orderId}
    path: { orderId: { type: string } }
${hooks ? HOOK_ACTIONS : ''}
unified:
  commerce/orders:
    list: list_orders
    get: { action: get_order, param: orderId }
    remoteId: id
    createdAt: created_at
    updatedAt: updated_at
    map: '{"orderNumber": $string(id)}'
    poll: { since: since, order: ${order}, overlapSeconds: 600 }
${hooks ? webhooksOf(hooks) : ''}
`,
  };
}
