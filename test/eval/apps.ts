import type { IncomingMessage } from 'node:http';
import { asObject, parseJson, type JsonObject } from '../../src/lib/json.ts';
import type { Service } from '../support/service.ts';
import { json, startUpstream, type Upstream } from '../support/upstream.ts';

/*
 * The parts of GitLab's and WooCommerce's APIs that the tasks call, as the shipped connectors expect them: keys, paging by
 * the Link header or by offset, filters and writes. Records have the members of the schemas in the connector files, which
 * are fewer than those of the apps.
 */

const GITLAB = '/api/v4';
const WOOCOMMERCE = '/wp-json/wc/v3';
const TOKEN = 'glpat-00000000000000000000';
const CONSUMER_KEY = `ck_${'12'.repeat(20)}`;
const CONSUMER_SECRET = `cs_${'34'.repeat(20)}`;

/** Starts both apps at one origin. */
export async function startApps(): Promise<Upstream> {
  const apps = await startUpstream();
  const issues = [...ISSUES];
  apps.handler = async (req, res) => {
    const url = new URL(req.url ?? '/', apps.origin);
    if (!isKnown(req, url)) return json(res, 401, { message: '401 Unauthorized' });
    const body = req.method === 'POST' ? await readBody(req) : undefined;
    const path = decodeURIComponent(url.pathname);
    if (path === `${GITLAB}/user`) return json(res, 200, { id: 7, username: 'ada', name: 'Ada Lovelace' });
    if (body !== undefined && path === `${GITLAB}/projects/acme/shop/issues`) {
      issues.push(issue(issues.length, body));
      return json(res, 201, issues.at(-1) ?? null);
    }
    if (path === `${GITLAB}/issues`) return sendByLink(url, issues, res);
    if (path === `${GITLAB}/projects/acme/shop/pipelines`) return sendByLink(url, PIPELINES, res);
    if (path === `${WOOCOMMERCE}/products`) return sendByOffset(url, PRODUCTS, res);
    if (path === `${WOOCOMMERCE}/orders`) return sendByOffset(url, ORDERS, res);
    const order = ORDERS.find(({ id }) => path === `${WOOCOMMERCE}/orders/${String(id)}`);
    return order ? json(res, 200, order) : json(res, 404, { message: '404 Not Found' });
  };
  return apps;
}

/** Creates a user with an account in the sandbox and in both apps, and returns its id. The data are the same in each run. */
export async function connectedUser(service: Service, origin: string): Promise<string> {
  const made = await service.call('POST', '/users', { body: { username: 'agent' } });
  const userId = made.text('userId');
  const accounts = [
    { connectorId: 'sandbox', data: { apiKey: 'sandbox_evaluation' } },
    { connectorId: 'gitlab', type: 'bearer', data: { siteUrl: origin, token: TOKEN } },
    {
      connectorId: 'woocommerce',
      type: 'basic',
      data: { siteUrl: origin, username: CONSUMER_KEY, password: CONSUMER_SECRET },
    },
  ];
  for (const body of accounts) {
    const headers = { 'x-svc-userid': userId };
    const { status, body: answer } = await service.call('POST', `/users/${userId}/credentials`, {
      headers,
      body,
    });
    if (status !== 201) throw new Error(`${body.connectorId}: ${JSON.stringify(answer)}`);
  }
  return userId;
}

function isKnown(req: IncomingMessage, url: URL): boolean {
  const basic = Buffer.from(`${CONSUMER_KEY}:${CONSUMER_SECRET}`).toString('base64');
  const expected = url.pathname.startsWith(GITLAB) ? `Bearer ${TOKEN}` : `Basic ${basic}`;
  return req.headers.authorization === expected;
}

async function readBody(req: IncomingMessage): Promise<JsonObject> {
  let text = '';
  for await (const chunk of req) text += String(chunk);
  return asObject(parseJson(text));
}

type Response = Parameters<typeof json>[0];

function sendByLink(url: URL, all: readonly JsonObject[], res: Response): void {
  const records = selected(url, all);
  const size = Number(url.searchParams.get('per_page') ?? 20);
  const page = Number(url.searchParams.get('page') ?? 1);
  url.searchParams.set('page', String(page + 1));
  const link: Record<string, string> =
    page * size < records.length ? { link: `<${url.href}>; rel="next"` } : {};
  json(res, 200, records.slice((page - 1) * size, page * size), link);
}

function sendByOffset(url: URL, all: readonly JsonObject[], res: Response): void {
  const records = selected(url, all);
  const from = Number(url.searchParams.get('offset') ?? 0);
  const size = Number(url.searchParams.get('per_page') ?? 10);
  json(res, 200, records.slice(from, from + size), { 'x-wp-total': String(records.length) });
}

/** Returns the records that match the filters of a list. */
function selected(url: URL, all: readonly JsonObject[]): JsonObject[] {
  const filters = ['state', 'status', 'stock_status', 'labels', 'ref'].flatMap((name) => {
    const wanted = url.searchParams.get(name);
    return wanted === null || wanted === 'all' || wanted === 'any' ? [] : [{ name, wanted }];
  });
  return all.filter((record) =>
    filters.every(({ name, wanted }) => [record[name] ?? null].flat().includes(wanted)),
  );
}

/** Returns record `index` of a list, in turn. */
function pick(values: readonly string[], index: number): string {
  return values[index % values.length] ?? '';
}

/** Returns a time, later for each record. */
function timeOf(index: number): string {
  return new Date(Date.UTC(2026, 0, 1) + index * 5_000_000).toISOString();
}

const PEOPLE = ['Ada Lovelace', 'Grace Hopper', 'Alan Turing', 'Edsger Dijkstra', 'Barbara Liskov'];

function issue(index: number, given: JsonObject): JsonObject {
  const name = pick(PEOPLE, index);
  const author = { id: index % PEOPLE.length, username: name.split(' ')[0]?.toLowerCase() ?? '', name };
  return {
    id: 70_000 + index,
    iid: index + 1,
    project_id: 42,
    description: null,
    state: 'opened',
    author,
    assignees: index % 3 === 0 ? [author] : [],
    milestone: null,
    due_date: null,
    confidential: false,
    user_notes_count: index % 7,
    web_url: `https://gitlab.example.com/acme/shop/-/issues/${index + 1}`,
    created_at: timeOf(index),
    updated_at: timeOf(index + 20),
    closed_at: null,
    ...given,
    labels: [given['labels'] ?? null].flat().filter((label) => label !== null),
  };
}

const ISSUES = Array.from({ length: 220 }, (_, index) => {
  const label = pick(['bug', 'feature', 'docs', 'complaint', 'bug', 'chore', 'docs'], index);
  const order = `Order ${1001 + ((index * 11) % 180)}`;
  return issue(index, {
    title:
      label === 'complaint' ? `${order} arrived damaged` : `The ${label} number ${index + 1} of the shop`,
    description: `Seen by a customer in the shop. It happens at step ${index % 9} of the checkout.`,
    state: index % 4 === 1 ? 'closed' : 'opened',
    labels: [label],
  });
});

const PIPELINES = Array.from({ length: 120 }, (_, index): JsonObject => ({
  id: 9_000 - index,
  iid: 120 - index,
  project_id: 42,
  status: pick(['success', 'success', 'failed', 'success', 'canceled'], index),
  ref: pick(['main', 'checkout', 'search', 'payments', 'stock', 'mails', 'docs'], index),
  sha: (index * 2_654_435_761).toString(16).padStart(40, 'a'),
  source: 'push',
  web_url: `https://gitlab.example.com/acme/shop/-/pipelines/${9_000 - index}`,
  created_at: timeOf(600 - index),
  updated_at: timeOf(601 - index),
}));

const MATERIALS = ['Oak', 'Linen', 'Copper', 'Bamboo', 'Wool', 'Steel', 'Cork'];
const THINGS = ['Desk Lamp', 'Notebook', 'Water Bottle', 'Tea Cup', 'Chair', 'Backpack', 'Blanket', 'Clock'];

const PRODUCTS = Array.from({ length: 112 }, (_, index): JsonObject => {
  const stock = index % 17 === 3 ? 0 : (index * 7) % 50;
  const price = `${10 + (index % 90)}.50`;
  return {
    id: 300 + index,
    name: `${pick(MATERIALS, index)} ${pick(THINGS, index)}${index < 56 ? '' : ', large'}`,
    sku: `WEB-${300 + index}`,
    type: 'simple',
    status: 'publish',
    price,
    regular_price: price,
    sale_price: '',
    stock_status: stock === 0 ? 'outofstock' : 'instock',
    stock_quantity: stock,
    permalink: `https://shop.example.com/product/${300 + index}`,
    date_created: timeOf(index),
  };
});

const ORDERS = Array.from({ length: 180 }, (_, index): JsonObject => {
  const [first_name = '', last_name = ''] = pick(PEOPLE, index).split(' ');
  const address = {
    first_name,
    last_name,
    company: '',
    address_1: `${index + 1} High Street`,
    address_2: '',
    city: pick(['Berlin', 'Lyon', 'Porto', 'Leeds'], index),
    state: '',
    postcode: String(10_000 + index),
    country: pick(['DE', 'FR', 'PT', 'GB'], index),
  };
  const total = `${20 + ((index * 13) % 300)}.00`;
  const line = { id: index, name: 'Oak Desk Lamp', product_id: 300, quantity: 1 + (index % 3), total };
  return {
    id: 1001 + index,
    number: String(1001 + index),
    status: pick(['completed', 'processing', 'completed', 'completed', 'refunded'], index),
    currency: 'EUR',
    total,
    total_tax: '0.00',
    customer_id: 20 + (index % 60),
    date_created: timeOf(index * 3),
    date_modified: timeOf(index * 3 + 1),
    billing: { ...address, email: `${first_name.toLowerCase()}.${index % 60}@example.com`, phone: '' },
    shipping: address,
    line_items: [line],
  };
});
