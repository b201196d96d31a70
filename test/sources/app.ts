import type { IncomingMessage, ServerResponse } from 'node:http';
import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pollSource } from '../../src/sources/polling/poll.ts';
import { createTurns } from '../../src/sources/source-turns.ts';
import { claimSources } from '../../src/sources/due-sources.ts';
import { DAY, MINUTE } from '../../src/lib/clock.ts';
import { manualClock } from '../support/clock.ts';
import { separate } from '../support/events.ts';
import { startService } from '../support/service.ts';
import type { StoreKind } from '../support/stores.ts';
import { startUpstream } from '../support/upstream.ts';

/** An order as the app returns it; times in ISO 8601. */
export interface Order {
  id: string;
  created_at?: string;
  updated_at?: string;
  total?: string;
  /** Place of an order, in an app that lists orders by place. */
  place?: string;
}

const PAGE = 3;
const PAGINGS = {
  wide: `{ style: offset, offsetParam: offset, limitParam: limit, maxLimit: 1000, hasMore: 'body:more' }`,
  offset: `{ style: offset, offsetParam: offset, limitParam: limit, maxLimit: ${PAGE}, hasMore: 'body:more' }`,
  cursor: `{ style: cursor, cursorParam: after, limitParam: limit, maxLimit: ${PAGE}, next: 'body:next' }`,
};

const TOPICS =
  'topics: { commerce/orders: [{ topic: made, event: created }, { topic: changed, event: updated }, { topic: gone, event: deleted }] }';

/** Parts that most connectors of the app share. */
const PARTS = {
  paging: PAGINGS.offset,
  times: 'createdAt: created_at, updatedAt: updated_at',
  by: 'updatedAt',
  auth: '{ type: bearer }',
  account: 'account: { id: id }',
  timeoutSeconds: 30,
  /** Further input of the list action. */
  input: '',
  /** Action that reads a record, and the path of the record in its answer. */
  get: "'GET /orders/{orderId}'",
  /** List action of polls with a bound. */
  search: '',
  /** Topics of its webhooks, and what their events hold. */
  says: `record: order\n  ${TOPICS}`,
  /** Event sources of its own. */
  events: '',
  /** Action that lists its webhooks. */
  hooks: 'list: { action: list_hooks, id: id, address: url, topic: topic }',
  /** Further members of a registration, and how it is renewed. */
  create: '',
  renew: '',
  /** Input that removes a registration. */
  remove: '',
};

/** Connectors of the app, with the parts that differ. */
const CONNECTORS = {
  numbered: {},
  sequential: { paging: PAGINGS.cursor },
  placed: {
    paging: PAGINGS.cursor,
    input: 'inputFrom: { places: { action: list_places, path: id, most: 1 } },',
  },
  timeless: { times: 'createdAt: created_at', by: 'createdAt' },
  renewed: { auth: "{ type: oauth2_client_credentials, tokenUrl: '{origin}/token' }" },
  /** The app cannot list its webhooks. */
  listless: { hooks: '' },
  /** The app can neither list its webhooks nor name the account. */
  nameless: { hooks: '', account: '' },
  /** The webhooks hold only the id of a record, and there are two ways to sign in. */
  naming: {
    auth: '{ type: bearer }, { type: api_key, in: header, name: X-Key }',
    says: `fetchId: order.id\n  ${TOPICS}`,
  },
  /** The webhooks name a record, hold one, or report that something changed. */
  telling: {
    timeoutSeconds: 3,
    says: `topics: { commerce/orders: [{ topic: made, event: created, fetchId: order.id }, { topic: told, event: created, record: order }, { topic: hinted, event: changed }] }`,
  },
  /** The app finds changed records by a search, and its list takes no bound. */
  searching: { search: 'list: search_orders,' },
  /** The app has event sources of its own: polled, of several lists, and by webhooks only. */
  sourced: {
    events: `events:
  order.placed: { title: Order placed, description: An order was placed., list: list_orders,
    get: { action: get_order, param: orderId }, remoteId: id, createdAt: created_at, updatedAt: updated_at,
    reports: [created, updated, deleted], poll: { since: since, order: ascending, overlapSeconds: 600 } }
  row.added: { title: Row added, description: A row was added to a place., list: list_rows, remoteId: [sheet, id],
    inputFrom: { places: { action: list_places, path: id, most: 1, as: sheet } }, key: [total], reports: [created, updated] }
  call.ended: { title: Call ended, description: A call ended., remoteId: id, createdAt: created_at }`,
    says: `topics: { call.ended: [{ topic: made, event: created, record: order }] }`,
  },
  /** Registrations expire, and the app renews them or can only replace them. It lists none. */
  renewing: {
    hooks: '',
    create: `, expires: { at: expires, lifetimeSeconds: 86400 }`,
    renew: `renew: { action: renew_hook, param: hookId, input: { expires: '{expiresAt}' } }`,
  },
  replacing: {
    hooks: '',
    create: `, expires: { at: expires }, keep: { resource: resource }`,
    remove: `, input: { resource: '{resource}' }`,
  },
  /** The app answers a read of one record with a list of the found records. */
  finding: { paging: PAGINGS.wide, get: "'GET /found/{orderId}', response: { data: found.0 }" },
} satisfies Record<string, Partial<typeof PARTS>>;

export type ConnectorName = keyof typeof CONNECTORS;

/** Returns the text of a connector file. */
export function connectorFile(id: ConnectorName): string {
  const parts = { ...PARTS, ...CONNECTORS[id] };
  return `
id: ${id}
name: ${id}
description: An app of the tests.
categories: [commerce]
website: https://example.com
sources: [{ title: the tests, read: '2026-11-22' }]
baseUrl: '{origin}'
variables: { origin: { title: Address, format: origin } }
authentication: [${parts.auth}]
probe: get_me
timeoutSeconds: ${parts.timeoutSeconds}
${parts.account}
actions:
  get_me: { description: Whose account it is., request: GET /me }
  list_orders:
    description: Orders.
    request: GET /orders
    query: { since: { type: string }, places: { type: array, items: { type: string }, style: comma } }
    paging: ${parts.paging}
    response: { data: orders }
  search_orders:
    description: Found orders.
    request: GET /search
    query: { since: { type: string } }
    paging: ${PAGINGS.cursor}
    response: { data: orders }
  list_rows:
    description: Rows of one place.
    request: GET /orders
    query: { places: { type: string, required: true } }
    paging: ${parts.paging}
    response: { data: orders }
  list_places: { description: Places., request: GET /places, paging: ${PAGINGS.offset}, response: { data: places } }
  get_order: { description: An order., request: ${parts.get}, path: { orderId: { type: string } } }
  list_hooks: { internal: true, description: Webhooks., request: GET /hooks, response: { data: hooks } }
  add_hook:
    internal: true
    description: A webhook.
    request: POST /hooks
    body: { url: { type: string }, topic: { type: string }, secret: { type: string } }
  renew_hook:
    internal: true
    description: Renews one.
    request: PATCH /hooks/{hookId}
    path: { hookId: { type: string } }
    body: { expires: { type: string } }
  drop_hook:
    internal: true
    description: Ends one.
    request: DELETE /hooks/{hookId}
    path: { hookId: { type: string } }
    query: { resource: { type: string } }
unified:
  commerce/orders: { list: list_orders, ${parts.input} get: { action: get_order, param: orderId, gone: { path: deleted, equals: true } }, remoteId: id, ${parts.times},
    map: '{"orderNumber": id, "totalPrice": total}', poll: { ${parts.search} since: since, by: ${parts.by}, order: ascending, overlapSeconds: 600 } }
${parts.events}
webhooks:
  verify: { type: header, header: X-Secret }
  topic: body:what
  ${parts.says}
  register:
    ${parts.hooks}
    create: { action: add_hook, input: { url: '{address}', topic: '{topic}', secret: '{secret}' }, id: id${parts.create} }
    ${parts.renew}
    delete: { action: drop_hook, param: hookId${parts.remove} }
`;
}

/** Topic of a webhook of the app. */
type Word = 'made' | 'changed' | 'gone' | 'told' | 'hinted';

let catalog: string | undefined;

/** Creates the catalogue of all connectors. Its definitions are checked once for all tests. */
function newCatalog(): string {
  const folder = mkdtempSync(join(tmpdir(), 'gatehouse-app-'));
  for (const id of Object.keys(CONNECTORS) as ConnectorName[]) {
    mkdirSync(join(folder, id));
    writeFileSync(join(folder, id, 'connector.yaml'), connectorFile(id));
  }
  return folder;
}

export type TestedApp = Awaited<ReturnType<typeof openApp>>;

/**
 * Starts an app whose answers the test controls, and a Gatehouse whose loops turn when the test calls them.
 * Both follow one clock.
 */
export async function openApp(kind: StoreKind = 'sqlite') {
  const catalogFolder = (catalog ??= newCatalog());
  const clock = manualClock();
  const upstream = await startUpstream();
  const service = await startService({
    kind,
    clock,
    catalogFolder,
    env: { GATEHOUSE_SANDBOX: '0', LOG_LEVEL: 'warn' },
  });
  const { context } = service;
  await context.sources.close();
  const userId = (await service.call('POST', '/users', { body: { username: 'ada' } })).text('userId');
  const { signal } = new AbortController();
  let calls: string[] = [];
  let hooks: {
    id: string;
    url: string;
    topic: string;
    secret: string;
    resource?: string;
    expires?: string;
  }[] = [];
  let made = 0;

  function send(res: ServerResponse, status: number, body: unknown, headers = {}): void {
    res.sendDate = false;
    res.writeHead(status, {
      date: new Date(clock.now()).toUTCString(),
      'content-type': 'application/json',
      ...headers,
    });
    res.end(JSON.stringify(body));
  }

  const turns = createTurns();
  const app = {
    clock,
    service,
    /** The turns of the loops, which share their state between turns. */
    turns,
    userId,
    origin: upstream.origin,
    /** Folder of the connector files. */
    catalogFolder,
    send,
    /** Lifetime of registrations that expire. */
    lifetimeMs: DAY,
    /** Account id that the app returns. */
    account: 'acct_1',
    /** Orders that the app lists. */
    orders: [] as Order[],
    places: [] as string[],
    /** Ids of orders that exist and that the list leaves out. */
    hidden: [] as string[],
    /** Answers instead of the app when it returns true. */
    instead: (_url: URL, _res: ServerResponse, _req: IncomingMessage): boolean => false,
    /** Answers all calls to a path with a status. */
    refuse(status: number, path = '/orders'): void {
      app.instead = (url, res) => {
        if (url.pathname !== path) return false;
        app.send(res, status, {});
        return true;
      };
    },
    /** Refuses the account: its probe fails too, with any token. */
    refuseAccount(status: number): void {
      app.instead = (url, res) => {
        if (url.pathname.endsWith('/token')) return false;
        app.send(res, status, {});
        return true;
      };
    },
    /** Restores the ordinary answers. */
    recover: () => void (app.instead = () => false),
    /** Holds the next call under a path until the test answers it. */
    hold(path: string) {
      const held = Promise.withResolvers<ServerResponse>();
      let isHeld = false;
      app.instead = (url, res) => {
        if (isHeld || !url.pathname.startsWith(path)) return false;
        isHeld = true;
        held.resolve(res);
        return true;
      };
      return {
        asked: held.promise,
        answer: async (status: number, body: object) => app.send(await held.promise, status, body),
      };
    },
    /** Runs before the app builds a page of the list. */
    onPage: (_offset: number): void => {},
    get calls() {
      return calls;
    },
    get hooks() {
      return hooks;
    },
    dropHooks: () => (hooks = []),
    clearCalls: () => (calls = []),
    order: (id: string, at = clock.now(), more: Partial<Order> = {}): Order => ({
      id,
      created_at: iso(at),
      updated_at: iso(at),
      ...more,
    }),
    async connect(connectorId: string, data: object = { token: 'x' }): Promise<string> {
      const answer = await service.call('POST', `/users/${userId}/credentials`, {
        headers: { 'x-svc-userid': userId },
        body: { connectorId, data: { ...data, origin: upstream.origin } },
      });
      return separate(service, answer.text('credentialId'));
    },
    /** Replaces the key of a connection, and optionally its address. */
    replaceKey: (connectionId: string, token: string, address: { origin?: string } = {}) =>
      service.call('PUT', `/users/${userId}/credentials/${connectionId}`, {
        headers: { 'x-svc-userid': userId },
        body: { data: { token, ...address } },
      }),
    async subscribe(
      connectionId: string,
      events = ['created', 'updated', 'deleted'],
      more = {},
    ): Promise<string> {
      const answer = await service.call('POST', `/2023-03/one/webhooks?connectionId=${connectionId}`, {
        body: { address: 'https://127.0.0.1:9/never', scope: 'commerce/orders', events, ...more },
      });
      if (answer.status !== 201) throw new Error(JSON.stringify(answer.body));
      return answer.text('subscriptionId');
    },
    /** Connects and subscribes, and polls once. It registers webhooks unless `polled`. */
    async listen(
      connectorId: ConnectorName,
      { data, polled = false }: { data?: object; polled?: boolean } = {},
    ): Promise<string> {
      const connectionId = await app.connect(connectorId, data);
      await app.subscribe(connectionId);
      if (!polled) await app.look('jobs');
      await app.poll(connectionId);
      clock.advance(MINUTE);
      return connectionId;
    },
    /** Polls a number of times, each after a wait. */
    async polls(connectionId: string, times: number, everyMs: number): Promise<void> {
      for (let n = 0; n < times; n++) {
        clock.advance(everyMs);
        await app.poll(connectionId);
      }
    },
    async poll(connectionId: string): Promise<void> {
      for (const source of await claimSources(context, 1000))
        if (source.credentialId === connectionId) await pollSource(context, source);
    },
    /** Runs one turn of the loops, and waits for all started work. */
    async look(round: 'polls' | 'jobs' | 'readings' | 'inbox' = 'polls'): Promise<number> {
      const some = round === 'jobs' ? [turns.shortJobs, turns.readings] : [turns[round]];
      const how = { signal, freeSlots: 1000 };
      const begun = (await Promise.all(some.map((one) => one(context, how)))).flat();
      await Promise.all(begun);
      return begun.length;
    },
    /** Sends a webhook as the app does. Returns the status of our answer. */
    async announce(what: Word, order: object): Promise<number> {
      const hook = hooks.findLast(({ topic }) => topic === what);
      const answer = await fetch(hook?.url ?? '', {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'x-secret': hook?.secret ?? '' },
        body: JSON.stringify({ what, order }),
      });
      return answer.status;
    },
    source: (connectionId: string) =>
      context.db
        .selectFrom('sources')
        .selectAll()
        .where('credential_id', '=', connectionId)
        .executeTakeFirstOrThrow(),
    /** Returns the events with their records, in order. */
    async events(connectionId: string): Promise<{ event: string; remoteId: string; totalPrice?: string }[]> {
      const rows = await context.db
        .selectFrom('events')
        .innerJoin('sources', 'sources.source_id', 'events.source_id')
        .select(['body', 'event'])
        .where('sources.credential_id', '=', connectionId)
        .orderBy('event_id')
        .execute();
      return rows.map(({ body, event }) => ({ event, ...JSON.parse(body) }));
    },
    /** Returns the events as texts such as `created o1`. */
    published: async (connectionId: string): Promise<string[]> =>
      (await app.events(connectionId)).map(({ event, remoteId }) => `${event} ${remoteId}`),
    /** Sets the address of operator events, so that possible gaps are reported. */
    async warn(): Promise<void> {
      await service.call('PUT', '/api/settings', { body: { eventsAddress: 'https://127.0.0.1:9/operator' } });
    },
    /** Returns the gaps that were reported to the operator. */
    async warnings(): Promise<object[]> {
      const rows = await context.db
        .selectFrom('events')
        .select('body')
        .where('event', '=', 'poll.gap_risk')
        .execute();
      return rows.map(({ body }) => JSON.parse(body).data);
    },
    async [Symbol.asyncDispose]() {
      await service.stop();
      await upstream[Symbol.asyncDispose]();
    },
  };

  upstream.handler = (req, res) => {
    let text = '';
    req.on('data', (chunk) => (text += String(chunk)));
    req.on('end', () => {
      const url = new URL(req.url ?? '', upstream.origin);
      calls.push(`${req.method} ${url.pathname}${req.method === 'DELETE' ? url.search : ''}`);
      if (!app.instead(url, res, req)) answer(req.method ?? '', url, text, res);
    });
  };

  function answer(method: string, url: URL, text: string, res: ServerResponse): void {
    const [, kind, id] = url.pathname.split('/');
    if (kind === 'token') return send(res, 200, { access_token: `t${calls.length}`, expires_in: 3600 });
    if (kind === 'me') return send(res, 200, { id: app.account });
    if (kind === 'places') {
      const from = Number(url.searchParams.get('offset'));
      const places = app.places.slice(from, from + PAGE).map((place) => ({ id: place }));
      return send(res, 200, { places, more: from + PAGE < app.places.length });
    }
    if (kind === 'hooks' && method === 'GET') return send(res, 200, { hooks });
    if (kind === 'hooks' && method === 'POST') {
      const id = `h${++made}`;
      const expires = iso(clock.now() + app.lifetimeMs);
      const hook = { id, resource: `of_${id}`, expires, ...JSON.parse(text) };
      hooks.push(hook);
      return send(res, 201, hook);
    }
    if (kind === 'hooks' && method === 'PATCH') {
      const hook = hooks.find((one) => one.id === id);
      return hook ? send(res, 200, Object.assign(hook, JSON.parse(text))) : send(res, 404, {});
    }
    if (kind === 'hooks') {
      hooks = hooks.filter((hook) => hook.id !== id);
      return send(res, 200, {});
    }
    if (kind === 'found') return send(res, 200, { found: app.orders.filter((order) => order.id === id) });
    if (id !== undefined) {
      const found = app.orders.find((order) => order.id === id);
      return send(res, found ? 200 : 404, found ?? {});
    }
    const since = Date.parse(url.searchParams.get('since') ?? iso(0));
    const offset = Number(url.searchParams.get('offset') ?? url.searchParams.get('after') ?? 0);
    app.onPage(offset);
    const places = url.searchParams.get('places');
    const all = app.orders.filter(
      ({ id, created_at, updated_at, place }) =>
        !app.hidden.includes(id) &&
        Date.parse(updated_at ?? created_at ?? '') >= since &&
        (places === null || place === places),
    );
    const limit = Number(url.searchParams.get('limit') ?? PAGE);
    const more = offset + limit < all.length;
    const orders = all.slice(offset, offset + limit);
    return send(res, 200, { orders, more, next: more ? String(offset + limit) : null });
  }
  return app;
}

function iso(at: number): string {
  return new Date(at).toISOString();
}
