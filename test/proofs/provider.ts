import { createHmac } from 'node:crypto';
import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** A shop on a port of its own: it lists orders, takes registrations of webhooks and signs what it sends. */
export interface Provider extends AsyncDisposable {
  readonly url: string;
  /** Orders by id, with the time of their creation on the shop's clock. */
  readonly orders: Map<string, number>;
  /** Registered webhook: one address for new orders. */
  readonly hook: { address: string; secret: string } | undefined;
  /** How far the shop's clock is ahead of ours, milliseconds. */
  aheadMs: number;
  /** Called after a list is answered. */
  listed: (() => void) | undefined;
  create(): string;
  /** Sends the webhook of an order until it is accepted. Every second webhook only names its order, which must be read. */
  announce(orderId: string, to: () => string): Promise<void>;
}

export async function startProvider(): Promise<Provider> {
  const server = createServer((req, res) => void answer(req, res));
  await new Promise<void>((listens) => server.listen(0, '127.0.0.1', listens));
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  const orders = new Map<string, number>();
  let hook: { address: string; secret: string } | undefined;
  let made = 0;

  async function answer(req: IncomingMessage, res: ServerResponse): Promise<void> {
    const url = new URL(req.url ?? '/', 'http://shop');
    res.sendDate = false;
    res.setHeader('Date', new Date(Date.now() + provider.aheadMs).toUTCString());
    res.setHeader('Content-Type', 'application/json');
    if (url.pathname === '/hooks' && req.method === 'GET') {
      res.end(JSON.stringify({ hooks: hook ? [{ id: 'hook_1', url: hook.address }] : [] }));
      return;
    }
    if (url.pathname === '/hooks' && req.method === 'POST') {
      let body = '';
      for await (const chunk of req) body += String(chunk);
      const wish: { url: string; secret: string } = JSON.parse(body);
      hook = { address: wish.url, secret: wish.secret };
      res.writeHead(201).end('{"id":"hook_1"}');
      return;
    }
    const [, , id] = url.pathname.split('/');
    if (id !== undefined) {
      res.end(JSON.stringify(shown(id, orders.get(id) ?? 0)));
      return;
    }
    const since = Date.parse(url.searchParams.get('since') ?? '1970-01-01T00:00:00Z');
    const offset = Number(url.searchParams.get('offset') ?? 0);
    const limit = Number(url.searchParams.get('limit') ?? 100);
    const found = [...orders].filter(([, at]) => at >= since);
    const page = found.slice(offset, offset + limit).map(([id, at]) => shown(id, at));
    res.end(JSON.stringify({ orders: page, more: offset + limit < found.length }), () => provider.listed?.());
  }

  const provider = {
    url: `http://127.0.0.1:${address.port}`,
    orders,
    get hook() {
      return hook;
    },
    aheadMs: 0,
    listed: undefined as (() => void) | undefined,
    create() {
      const id = `o${++made}`;
      orders.set(id, Date.now() + provider.aheadMs);
      return id;
    },
    async announce(orderId: string, to: () => string) {
      const named = Number(orderId.slice(1)) % 2 === 0;
      const body = JSON.stringify({
        id: `evt_${orderId}`,
        topic: named ? 'order.named' : 'order.created',
        order: named ? { id: orderId } : shown(orderId, orders.get(orderId) ?? 0),
      });
      for (;;) {
        const signature = createHmac('sha256', hook?.secret ?? '')
          .update(body)
          .digest('hex');
        const status = await fetch(to(), {
          method: 'POST',
          headers: { 'content-type': 'application/json', 'x-shop-signature': signature },
          body,
          signal: AbortSignal.timeout(10_000),
        }).then(
          (answered) => answered.status,
          () => 0,
        );
        if (status === 200) return;
        await new Promise((next) => setTimeout(next, 20));
      }
    },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((closed) => server.close(closed));
    },
  };
  return provider;
}

function shown(id: string, at: number) {
  return { id, created_at: new Date(at).toISOString(), updated_at: new Date(at).toISOString() };
}

/** Returns a catalogue of two shops: `shop` sends webhooks, `polled-shop` is polled. */
export function shopsCatalog(): string {
  const folder = mkdtempSync(join(tmpdir(), 'gatehouse-shops-'));
  for (const id of ['shop', 'polled-shop']) {
    mkdirSync(join(folder, id));
    writeFileSync(join(folder, id, 'connector.yaml'), `${shop(id)}${id === 'shop' ? HOOKS : ''}`);
  }
  return folder;
}

function shop(id: string): string {
  return `id: ${id}
name: ${id}
description: A shop of the proofs.
categories: [commerce]
website: https://example.com
sources: [{ title: the proofs, read: '2026-11-21' }]
baseUrl: '{origin}'
variables:
  origin: { title: Address, format: origin }
authentication: [{ type: bearer }]
actions:
  list_orders:
    description: Orders.
    request: GET /orders
    query: { since: { type: string } }
    paging: { style: offset, offsetParam: offset, limitParam: limit, maxLimit: 100, hasMore: 'body:more' }
    response: { data: orders }
  get_order:
    description: An order.
    request: GET /orders/{orderId}
    path: { orderId: { type: string } }
  list_hooks: { internal: true, description: Webhooks., request: GET /hooks, response: { data: hooks } }
  add_hook:
    internal: true
    description: Registers a webhook.
    request: POST /hooks
    body:
      url: { type: string, required: true }
      secret: { type: string, required: true }
  remove_hook:
    internal: true
    description: Removes a webhook.
    request: DELETE /hooks/{hookId}
    path: { hookId: { type: string } }
unified:
  commerce/orders:
    list: list_orders
    get: { action: get_order, param: orderId }
    remoteId: id
    createdAt: created_at
    updatedAt: updated_at
    map: '{"orderNumber": id}'
    poll: { since: since, order: none, overlapSeconds: 600 }
`;
}

const HOOKS = `webhooks:
  verify: { type: hmac, header: X-Shop-Signature }
  eventId: body:id
  topic: body:topic
  record: order
  topics:
    commerce/orders:
      - { topic: order.created, event: created }
      - { topic: order.named, event: created, fetchId: order.id }
  register:
    list: { action: list_hooks, id: id, address: url }
    create: { action: add_hook, each: all, input: { url: '{address}', secret: '{secret}' }, id: id }
    delete: { action: remove_hook, param: hookId }
`;
