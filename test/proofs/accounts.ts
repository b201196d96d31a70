import { createHmac } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';

/** An account of the shop, which its token names. */
export interface Account {
  /** Orders by id, with the time of their creation. */
  orders: Map<string, number>;
  hook: { path: string; secret: string } | undefined;
}

/** A shop with many accounts. It follows the clock of a proof, and announces an order as soon as a webhook is registered. */
export interface Accounts extends AsyncDisposable {
  url: string;
  /** Ids of the orders whose webhook was answered 200. */
  accepted: Set<string>;
  open(token: string): Account;
  create(account: Account): string;
  /** Whether every begun webhook is accepted. */
  isSettled(): boolean;
}

/** `now` is the shop's clock, and `toOne` returns the address of a process that may live. */
export async function startAccounts(now: () => number, toOne: () => string): Promise<Accounts> {
  const byToken = new Map<string, Account>();
  const accepted = new Set<string>();
  const sending = new Set<Promise<void>>();
  const server = createServer((req, res) => void answer(req, res));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  let made = 0;

  function create({ orders }: Account): string {
    const id = `o${++made}`;
    orders.set(id, now());
    return id;
  }

  /** Sends the webhook of an order until it is accepted. Every second webhook only names its order. */
  async function announce(account: Account, id: string): Promise<void> {
    const isNamed = Number(id.slice(1)) % 2 === 0;
    const body = JSON.stringify({
      id: `evt_${id}`,
      topic: isNamed ? 'order.named' : 'order.created',
      order: isNamed ? { id } : shown(id, account.orders.get(id) ?? 0),
    });
    while (!accepted.has(id)) {
      const { path = '', secret = '' } = account.hook ?? {};
      const signature = createHmac('sha256', secret).update(body).digest('hex');
      const status = await fetch(`${toOne()}${path}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'x-shop-signature': signature },
        body,
        signal: AbortSignal.timeout(10_000),
      }).then(
        (answered) => answered.status,
        () => 0,
      );
      if (status === 200) accepted.add(id);
      else await sleep(20);
    }
  }

  function begin(account: Account): void {
    const sent = announce(account, create(account));
    sending.add(sent);
    void sent.then(() => sending.delete(sent));
  }

  async function answer(req: IncomingMessage, res: ServerResponse): Promise<void> {
    const url = new URL(req.url ?? '/', 'http://shop');
    const account = byToken.get(String(req.headers.authorization).replace('Bearer ', ''));
    res.sendDate = false;
    res.setHeader('Date', new Date(now()).toUTCString());
    res.setHeader('Content-Type', 'application/json');
    if (!account) return void res.writeHead(401).end('{}');
    const [, kind, id] = url.pathname.split('/');
    if (kind === 'hooks' && req.method === 'GET') {
      const hooks = account.hook ? [{ id: 'hook_1', url: account.hook.path }] : [];
      return void res.end(JSON.stringify({ hooks }));
    }
    if (kind === 'hooks' && req.method === 'POST') {
      let body = '';
      for await (const chunk of req) body += String(chunk);
      const wish: { url: string; secret: string } = JSON.parse(body);
      account.hook = { path: new URL(wish.url).pathname, secret: wish.secret };
      begin(account);
      return void res.writeHead(201).end('{"id":"hook_1"}');
    }
    if (id !== undefined) return void res.end(JSON.stringify(shown(id, account.orders.get(id) ?? 0)));
    const since = Date.parse(url.searchParams.get('since') ?? '1970-01-01T00:00:00Z');
    const found = [...account.orders].filter(([, at]) => at >= since);
    res.end(JSON.stringify({ orders: found.map(([order, at]) => shown(order, at)), more: false }));
  }

  return {
    url: `http://127.0.0.1:${address.port}`,
    accepted,
    open(token) {
      const account: Account = { orders: new Map(), hook: undefined };
      byToken.set(token, account);
      return account;
    },
    create,
    isSettled: () => sending.size === 0,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((closed) => server.close(closed));
    },
  };
}

function shown(id: string, at: number) {
  return { id, created_at: new Date(at).toISOString(), updated_at: new Date(at).toISOString() };
}
