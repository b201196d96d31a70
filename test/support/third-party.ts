import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { buildCatalog } from './build-catalog.ts';
import type { Catalog } from '../../src/connectors/catalog.ts';

/** One request as it arrived. */
export interface Seen {
  method: string;
  path: string;
  query: URLSearchParams;
  headers: IncomingMessage['headers'];
  body: string;
}

export interface SetAnswer {
  status: number;
  body?: unknown;
  headers?: Record<string, string>;
  /** The answer is sent after it. */
  after?: Promise<unknown>;
}

/** A third party of the tests: a real server with keys, lists of every paging style, writes and failures. */
export interface ThirdParty extends AsyncDisposable {
  readonly origin: string;
  /** All requests, oldest first. */
  readonly seen: Seen[];
  /** Accepted keys. */
  readonly keys: Set<string>;
  /** Returns a new accepted key, of another account. */
  otherKey(): string;
  /** Number of records of its lists. */
  total: number;
  /** Replaces the usual answers while it is set. */
  answer: ((seen: Seen) => SetAnswer | undefined) | undefined;
}

export const GOOD_KEY = 'key_4fz0QmVtLr81canary';

export async function startThirdParty(): Promise<ThirdParty> {
  const seen: Seen[] = [];
  /** Key → id of its account, for the keys of otherKey(). */
  const accounts = new Map<string, number>();
  const server = createServer((req, res) => void handle(req, res));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  const party: ThirdParty = {
    origin: `http://127.0.0.1:${address.port}`,
    seen,
    keys: new Set([GOOD_KEY]),
    otherKey() {
      const id = 78 + accounts.size;
      const key = `key_of_account_${id}`;
      accounts.set(key, id);
      party.keys.add(key);
      return key;
    },
    total: 120,
    answer: undefined,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  return party;

  async function handle(req: IncomingMessage, res: ServerResponse): Promise<void> {
    const url = new URL(req.url ?? '/', party.origin);
    let body = '';
    for await (const chunk of req) body += String(chunk);
    const one = {
      method: req.method ?? '',
      path: url.pathname,
      query: url.searchParams,
      headers: req.headers,
      body,
    };
    seen.push(one);
    const set = party.answer?.(one);
    if (set) {
      await set.after;
      for (const [name, value] of Object.entries(set.headers ?? {})) res.setHeader(name, value);
      return send(res, set.status, set.body ?? {});
    }
    const key = req.headers['x-key'] ?? url.searchParams.get('key');
    if (url.pathname !== '/open' && !party.keys.has(String(key))) {
      return send(res, 401, { message: `the key ${String(key)} is not known` });
    }
    if (url.pathname === '/me') return send(res, 200, accountOf(String(key)));
    return route(one, url, res);
  }

  function accountOf(key: string) {
    const id = accounts.get(key);
    return id === undefined ? { id: 77, name: 'Ada’s shop' } : { id, name: `Shop ${id}` };
  }

  function route({ method, path, query, body }: Seen, url: URL, res: ServerResponse): void {
    if (path === '/open') return send(res, 200, { open: true });
    if (path === '/things' && method === 'POST') {
      const count = seen.filter((one) => one.method === 'POST').length;
      return send(res, 201, { id: count, ...JSON.parse(body) });
    }
    if (path.startsWith('/things/')) return send(res, 200, { id: decodeURIComponent(path.slice(8)) });
    const size = Math.min(40, Number(query.get('size') ?? 40));
    const from =
      path === '/pages'
        ? (Number(query.get('page')) - 1) * size
        : Number(query.get('offset') ?? query.get('cursor')?.slice(1) ?? query.get('after') ?? 0);
    const all = Array.from({ length: party.total }, (_, index) => ({
      id: index + 1,
      label: `thing ${index + 1}`,
    }));
    const records = path === '/all' ? all : all.slice(from, from + size);
    const end = from + records.length;
    const next = end < party.total ? `c${end}` : null;
    if (path === '/links' && next) {
      url.searchParams.set('offset', String(end));
      res.setHeader('link', `<${url.pathname}${url.search}>; rel="next"`);
    }
    return send(res, 200, { data: records, next, more: next !== null, total: party.total });
  }
}

function send(res: ServerResponse, status: number, body: unknown): void {
  res.writeHead(status, { 'content-type': 'application/json' });
  res.end(JSON.stringify(body));
}

/** Returns a catalogue of its connectors: `shop` (key in a header), `linked` (key in the query), `open` (no key). */
export function catalogFor(): Catalog {
  return buildCatalog([SHOP, LINKED, OPEN].map((text, index) => ({ path: `test-${index}.yaml`, text })));
}

const HEAD = (id: string) => `
id: ${id}
name: ${id === 'shop' ? 'Shop' : id === 'linked' ? 'Linked' : 'Open'}
description: A third party of the tests.
categories: [${id === 'open' ? 'data' : 'commerce'}]
website: https://shop.example.com
sources:
  - title: The tests themselves
    read: 2026-03-01
baseUrl: '{origin}'
variables:
  origin:
    title: Address
    format: origin
    example: https://shop.example.com`;

/** The text of the connector file `shop`, for a catalogue in a folder. */
export const SHOP = `${HEAD('shop')}
color: '#0f766e'
authentication:
  - type: api_key
    in: header
    name: X-Key
    docsUrl: https://shop.example.com/keys
probe: get_me
account: {id: id, name: name}
errors:
  message: [message]
paging:
  offset: {style: offset, offsetParam: offset, limitParam: size, maxLimit: 40, total: 'body:total'}
  page: {style: page, pageParam: page, limitParam: size, maxLimit: 40, hasMore: 'body:more'}
  cursor: {style: cursor, cursorParam: cursor, next: 'body:next', limitParam: size, maxLimit: 40}
  keyset: {style: keyset, cursorParam: after, field: id, hasMore: 'body:more', limitParam: size, maxLimit: 40}
  link: {style: link, limitParam: size, maxLimit: 40}
  none: {style: none}
actions:
  get_me: {description: The account., request: GET /me}
  list_offset: {description: Things., request: GET /offsets, paging: offset, response: {data: data}}
  list_page: {description: Things., request: GET /pages, paging: page, response: {data: data}}
  list_cursor:
    description: Things.
    request: GET /cursors
    paging: cursor
    query:
      color: {type: string}
    response: {data: data}
  list_keyset: {description: Things., request: GET /keysets, paging: keyset, response: {data: data}}
  list_link: {description: Things., request: GET /links, paging: link, response: {data: data}}
  list_none: {description: Things., request: GET /all, paging: none, response: {data: data}}
  get_thing:
    description: One thing.
    request: GET /things/{thingId}
    path:
      thingId: {type: string, required: true}
  create_thing:
    description: A new thing.
    request: POST /things
    body:
      label: {type: string, required: true, maxLength: 20}
      count: {type: integer}
  put_thing:
    description: A thing of that id.
    request: PUT /things/{thingId}
    path:
      thingId: {type: string, required: true}
  delete_thing:
    description: Removes a thing.
    request: DELETE /things/{thingId}
    path:
      thingId: {type: string, required: true}
`;

/** The text of the connector file `linked`. */
export const LINKED = `${HEAD('linked')}
authentication:
  - type: api_key
    in: query
    name: key
actions:
  list_things:
    description: Things.
    request: GET /links
    paging: {style: link, limitParam: size, maxLimit: 40}
    response: {data: data}
`;

export const OPEN = `${HEAD('open').replace(/example: .*/, 'required: false')}
authentication:
  - type: none
actions:
  get_open: {description: Something open., request: GET /open}
`;
