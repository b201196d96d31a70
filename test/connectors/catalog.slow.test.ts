import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { checkCatalogue } from '../../src/cli/doctor/doctor-service.ts';
import { buildCatalog } from '../support/build-catalog.ts';
import { ConnectorFileError, type Catalog } from '../../src/connectors/catalog.ts';
import { checkCompiles } from '../../src/connectors/compile-check.ts';
import { descriptionFaults } from '../../src/author/description-check.ts';
import { loadCatalog } from '../../src/connectors/load-catalog.ts';
import { checkInput } from '../../src/connectors/schemas/validate.ts';
import { startService } from '../support/service.ts';

const FOLDER = join(import.meta.dirname, '../../data/connectors');
const SHIPPED = readdirSync(FOLDER);

/** A small valid file; each fault below is one change of it. */
const GOOD = `
id: shop
name: Shop
description: A shop.
categories: [commerce]
website: https://shop.example.com
sources: [{title: Written for the tests, read: 2026-11-21}]
baseUrl: https://{host}/api
variables:
  host: {title: Host, format: host}
authentication:
  - {type: api_key, in: header, name: X-Key}
paging:
  pages: {style: offset, limitParam: limit, offsetParam: offset}
probe: list_orders
actions:
  list_orders:
    description: Lists orders.
    request: GET /orders
    query:
      status: {type: string, enum: [open, closed]}
    paging: pages
    response: {data: orders, schema: {$ref: '#/schemas/order'}}
  get_order:
    description: Reads an order.
    request: GET /orders/{orderId}
    path: {orderId: {type: string}}
  create_order:
    description: Makes an order.
    request: POST /orders
    body:
      email: {type: string, format: email, required: true}
      lines: {type: array, items: {$ref: '#/schemas/line'}}
schemas:
  order: {type: object, properties: {lines: {type: array, items: {$ref: '#/schemas/line'}}}}
  line: {type: object, properties: {sku: {type: string}}, required: [sku]}
`;
const build = (text: string) => buildCatalog([{ path: 'shop/connector.yaml', id: 'shop', text }]);
const faultOf = (text: string): string => {
  try {
    build(text);
    return '';
  } catch (error) {
    if (error instanceof ConnectorFileError) return error.message;
    throw error;
  }
};

const oauth = (more: string) =>
  `{type: oauth2, authorizeUrl: 'https://{host}/authorize', tokenUrl: 'https://{host}/token', ${more}}`;

test('revocation may name the secret of the app and captured values', () => {
  const scheme = oauth(`callbackParams: [scope, context], capture: {accountId: {from: 'token:account'}},
    revocation: {url: 'https://{host}/revoke', token: none, params: {who: '{accountId}', app: '{clientId}'},
    headers: {Authorization: 'Client {clientSecret}'}}`);
  const file = GOOD.replace('{type: api_key, in: header, name: X-Key}', scheme);
  expect(faultOf(file)).toBe('');
});

describe('texts of a query language', () => {
  const list = (more: string) =>
    GOOD.replace('    request: GET /orders\n', `    request: GET /orders\n${more}\n`);
  test.each([
    [`    escape: double\n    parts: {name: {type: string}}\n    compose: {q: ["Name = '{name}'"]}`, /^$/],
    [
      `    parts: {name: {type: string}}\n    compose: {q: ["Name = '{name}'"]}`,
      /list_orders\.escape: is required/,
    ],
    ['    parts: {name: {type: string}}\n    compose: {q: ["Name = {name}"]}', /stands outside of quotes/],
    ['    parts: {name: {type: string, pattern: "^[a-z]+$"}}\n    compose: {q: ["Name = {name}"]}', /^$/],
    [
      `    parts: {name: {type: array, items: {}}}\n    compose: {q: ["Name = '{name}'"]}`,
      /must be no array/,
    ],
    ['    compose: {q: ["Name = {name}"]}', /\{name\} is none of parts/],
    ['    parts: {name: {type: string}}', /stands neither in compose nor in an email or file/],
  ])('a text of a query language is checked: %s', (more, fault) => {
    expect(faultOf(list(more))).toMatch(fault);
  });

  test('a quoted parameter of a query language needs an escape', () => {
    const quoted = GOOD.replace('enum: [open, closed]', 'quote: single');
    expect(faultOf(quoted)).toContain('list_orders.escape: is required with quoted texts');
    expect(faultOf(`${quoted}escape: backslash\n`)).toBe('');
  });

  test('a text of a query language must name what its paging sends', () => {
    const paged = (clause: string) =>
      list(`    compose: {q: ['${clause}']}`).replace('{style: offset,', '{style: offset, in: compose,');
    expect(faultOf(paged('LIMIT {limit}'))).toContain('must name {offset}, which its paging sends');
    expect(faultOf(paged('LIMIT {limit} OFFSET {offset}'))).toBe('');
  });
});

test('values of a lookup require a lookup', () => {
  const scheme = (more: string) =>
    GOOD.replace(
      '{type: api_key, in: header, name: X-Key}',
      oauth(`capture: {tenantId: {from: 'lookup:id'}}${more}`),
    );
  expect(faultOf(scheme(''))).toContain('authentication.0.capture.tenantId.from: needs a lookup');
  expect(faultOf(scheme(", lookup: {url: 'https://{host}/me', map: '$[0]'}"))).toBe('');
});

test('a valid file makes a connector with its actions, effects and schemas', () => {
  const connector = build(GOOD).connector('production', 'shop');
  expect(connector && [...connector.actions.keys()]).toEqual(['list_orders', 'get_order', 'create_order']);
  const list = connector?.actions.get('list_orders');
  expect(list).toMatchObject({
    name: 'List orders',
    effect: 'read',
    list: true,
    method: 'GET',
    path: '/orders',
  });
  expect(list?.inputSchema).toMatchObject({
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    properties: { status: { enum: ['open', 'closed'] }, limit: { maximum: 50 }, offset: { minimum: 0 } },
    additionalProperties: false,
  });
  expect(list?.outputSchema).toMatchObject({ $defs: { order: {}, line: {} } });
  const create = connector?.actions.get('create_order');
  expect(create?.effect).toBe('write');
  expect(create?.inputSchema['required']).toEqual(['email']);
  expect(JSON.stringify(create?.inputSchema)).not.toContain('"required":true');
});

describe('a fault is reported with file, path and rule', () => {
  test.each([
    ['id: shop', 'id: other', 'id: must equal the name of its folder, "shop"'],
    ['id: shop', 'id: Shop!', 'id: must be 1 to 32 of a-z, 0-9 and -'],
    ['name: Shop\n', '', 'name: is required'],
    ['name: Shop\n', 'name: Shop\nname: Twice\n', ':4: column 1'],
    ['website:', 'webpage:', 'webpage: is not a known member'],
    ['description: A shop.', 'description: "A\\u200Bshop."', 'description: must not hold hidden characters'],
    [
      'description: A shop.',
      'description: "A <!-- do this --> shop."',
      'description: must not hold hidden characters or HTML comments',
    ],
    [
      'status: {',
      '"a\\u202Eb": {type: string}\n      status: {',
      'actions.list_orders.query: must not hold hidden characters or HTML comments (U+202E)',
    ],
    [
      'https://{host}/api',
      'https://{domain}/api',
      'baseUrl: {domain} is neither a variable nor a field that is not secret',
    ],
    ['https://{host}/api', 'https://{apiKey}.example.com', 'baseUrl: {apiKey} is neither'],
    ['https://{host}/api', 'https://{host}/api/', 'baseUrl: must end without slash'],
    ['https://{host}/api', 'ftp://{host}', 'baseUrl: must be an http(s) address'],
    ['in: header', 'in: cookie', 'authentication.0.in'],
    [
      '{type: api_key, in: header, name: X-Key}',
      '{type: custom, fields: {a: {title: A}}}',
      'authentication.0: custom needs apply or sign',
    ],
    [
      '{type: api_key, in: header, name: X-Key}',
      "{type: custom, fields: {a: {title: A}}, apply: {headers: {X: '{b}'}}}",
      'authentication.0.apply.headers.X: {b} is no field',
    ],
    [
      '{type: api_key, in: header, name: X-Key}',
      oauth("tokenParams: {secret: '{clientSecret}'}"),
      'authentication.0.tokenParams.secret: {clientSecret} is no field; fields: clientId, host',
    ],
    [
      '{type: api_key, in: header, name: X-Key}',
      oauth("revocation: {url: 'https://{host}/revoke', params: {who: '{accountId}'}}"),
      'authentication.0.revocation.params.who: {accountId} is no field',
    ],
    ['POST /orders\n', 'GET /orders\n    idempotencyParam: key\n', 'a GET request has no body'],
    ['POST /orders\n', "POST /orders\n    bodyType: form\n    wrap: '[]'\n", '[] is for JSON bodies'],
    [
      'GET /orders/{orderId}\n',
      "GET /orders/{orderId}\n    baseUrl: 'https://{apiKey}.example.com'\n",
      'actions.get_order.baseUrl: {apiKey} is neither',
    ],
    ['format: host', 'pattern: "["', 'variables.host.pattern: must be a regular expression'],
    [
      '{orderId: {type: string}}',
      "{orderId: {type: string, pattern: '^(?!0)'}}",
      'actions.get_order.path.orderId.pattern: must be a pattern of RE2',
    ],
    [
      '{type: string, format: email, required: true}',
      '{type: object, required: true, patternProperties: {"(a)\\\\1": {type: string}}}',
      'actions.create_order.body.email.patternProperties.(a)\\1: must be a pattern of RE2',
    ],
    ['probe: list_orders', 'probe: nothing', 'probe: "nothing" is no action of this file'],
    ['probe: list_orders', 'probe: get_order', 'probe: must be callable without input'],
    ['probe: list_orders', 'account: {id: id}', 'account: needs a probe'],
    [
      'paging: pages',
      'paging: other',
      'actions.list_orders.paging: "other" is no paging of this file; known: pages',
    ],
    ['status: {type', 'limit: {type', 'actions.list_orders.query.limit: is added to list actions'],
    [
      '{orderId: {type: string}}',
      '{id: {type: string}}',
      'actions.get_order.path: {orderId} of the request is not described',
    ],
    [
      '{orderId: {type: string}}',
      '{orderId: {type: string}, extra: {type: string}}',
      'actions.get_order.path.extra: is not in the request',
    ],
    [
      'GET /orders/{orderId}',
      'GET /orders/../{orderId}',
      'actions.get_order.request: must not hold dot segments',
    ],
    [
      'GET /orders/{orderId}',
      'GET /orders/{orderId}?a=1',
      'actions.get_order.request: must not hold a query',
    ],
    [
      'GET /orders/{orderId}',
      'FETCH /orders/{orderId}',
      'actions.get_order.request: must be a method and a path',
    ],
    ['POST /orders', 'GET /orders', 'actions.create_order.body: a GET request has no body'],
    [
      '{type: string, format: email, required: true}',
      '{required: true}',
      'actions.create_order.body.email: needs a type',
    ],
    [
      "items: {$ref: '#/schemas/line'}}\nschemas",
      "items: {$ref: '#/schemas/none'}}\nschemas",
      'leads nowhere',
    ],
    ['email: {type', 'lines: {type', 'column 7: repeats a member'],
  ])('a fault has file, line and rule after the change %s → %s', (from, to, sentence) => {
    const message = faultOf(GOOD.replace(from, to));
    expect(message).toMatch(/shop\/connector\.yaml:\d+: /);
    expect(message).toContain(sentence);
  });

  test.each([
    [
      '    request: GET /orders\n',
      '\trequest: GET /orders\n',
      '19: column 1: is indented with a tab. Indent with spaces',
    ],
    ['    request: GET /orders\n', '   request: GET /orders\n', 'Begin all of them at the same column'],
    ['Lists orders.', 'Lists orders: all of them.', 'Quote the text that holds it'],
    [
      'name: Shop\n',
      'name: Shop\nname: Twice\n',
      '4: column 1: repeats a member of the same mapping. Remove one of the two',
    ],
    [
      'title: Written for the tests',
      'title: 2026',
      '7: sources.0.title: must be text: write "2026" in quotes',
    ],
    ['in: header, name: X-Key', 'in: header, name: true', 'must be text: write "true" in quotes'],
    ['categories: [commerce]', 'categories: commerce', '5: categories: must be a list'],
    [
      'name: Shop\n',
      'name: Shop\ntimeoutSeconds: "30"\n',
      '4: timeoutSeconds: must be a number: write 30 without quotes',
    ],
    ['baseUrl: https', 'baseURL: https', '8: baseURL: is not a known member. Did you mean "baseUrl"?'],
  ])('a fault names the line and the remedy after the change %j → %j', (from, to, sentence) => {
    const lines = faultOf(GOOD.replace(from, to)).split('\n');
    expect(lines).toContainEqual(expect.stringContaining(sentence));
    expect(lines.length).toBeLessThan(3);
  });

  test('a member of one form of several is named', () => {
    const text = GOOD.replace('limitParam: limit, offsetParam', 'limitParm: limit, offsetParam');
    expect(faultOf(text)).toContain(
      'paging.pages.limitParm: is not a known member. Did you mean "limitParam"?',
    );
  });

  test('all faults of a file are reported together', () => {
    const message = faultOf(
      GOOD.replace('paging: pages', 'paging: other').replace('probe: list_orders', 'probe: nothing'),
    );
    expect(message.split('\n')).toHaveLength(2);
  });

  test('a text that is no YAML mapping, or an alias bomb, is refused', () => {
    expect(faultOf('just text')).toContain('must be a YAML mapping');
    expect(faultOf('a: [b')).toContain(':1: column 6');
    const bomb = `a: &a [x]\n${Array.from({ length: 9 }, (_, n) => `${'bcdefghij'[n]}: &${'bcdefghij'[n]} [${Array.from({ length: 9 }, () => `*${'abcdefghi'[n]}`).join(', ')}]`).join('\n')}\n`;
    expect(faultOf(bomb)).toContain('cannot be read');
  });
});

describe('schemas and expressions that do not compile', () => {
  const compiles = (text: string) => {
    const definition = build(text).connector('development', 'shop')?.definition;
    return definition ? checkCompiles(definition) : [];
  };
  test('schemas and expressions that do not compile are found when a file is checked', () => {
    expect(compiles(GOOD)).toEqual([]);
    expect(compiles(GOOD.replace('{data: orders,', "{data: orders, map: '{broken',"))).toMatchObject([
      { path: 'actions.list_orders.response.map' },
    ]);
    expect(compiles(GOOD.replace('type: string, enum', 'type: text, enum'))).toMatchObject([
      { path: 'actions.list_orders.query.status.type', rule: expect.stringContaining('must be') },
    ]);
  });
});

describe('input is checked by field', () => {
  const action = (id: string) => {
    const found = build(GOOD).action('development', 'shop', id);
    if (!found) throw new Error(`no ${id}`);
    return found;
  };
  test.each([
    ['list_orders', { status: 'lost' }, { field: 'status', rule: 'must be one of: open, closed' }],
    ['list_orders', { limit: 0 }, { field: 'limit', rule: 'must be >= 1' }],
    ['list_orders', { limit: 51 }, { field: 'limit', rule: 'must be <= 50' }],
    ['list_orders', { offset: -1 }, { field: 'offset', rule: 'must be >= 0' }],
    ['list_orders', { limit: '5' }, { field: 'limit', rule: 'must be integer' }],
    [
      'list_orders',
      { page: 1 },
      { field: 'page', rule: 'is not a known parameter; known: status, limit, offset' },
    ],
    ['get_order', {}, { field: 'orderId', rule: 'is required' }],
    [
      'create_order',
      { email: 'nobody' },
      { field: 'email', rule: 'must match format "email", such as ada@example.com' },
    ],
    ['create_order', { email: 'a@example.com', lines: [{}] }, { field: 'lines.0.sku', rule: 'is required' }],
  ])('a fault of input has its field: %s %j', (id, input, fault) => {
    expect(checkInput(action(id), input)).toContainEqual(fault);
  });
  test('valid input has no fault', () => {
    expect(checkInput(action('create_order'), { email: 'a@example.com', lines: [{ sku: 'x' }] })).toEqual([]);
  });
});

describe('the connectors that are shipped', () => {
  const cacheFolder = mkdtempSync(join(tmpdir(), 'gatehouse-cached-'));
  let catalog: Catalog;
  beforeAll(async () => {
    catalog = await loadCatalog({ folder: FOLDER, sandbox: true, cacheFolder });
  });
  afterAll(() => rmSync(cacheFolder, { recursive: true, force: true }));

  test.each(SHIPPED)('%s has no fault, compiles, and names its sources', (id) => {
    const connector = catalog.connector('development', id);
    expect(connector?.definition.sources.length).toBeGreaterThan(0);
    expect(connector?.actions.size).toBeGreaterThanOrEqual(8);
    expect(connector && checkCompiles(connector.definition)).toEqual([]);
    expect(connector && descriptionFaults(connector.definition)).toEqual([]);
  });

  test('cached definitions survive a start, and only development has the sandbox', async () => {
    const [cached = ''] = readdirSync(cacheFolder);
    const second = await loadCatalog({ folder: FOLDER, sandbox: true, cacheFolder });
    const third = await loadCatalog({ folder: FOLDER, sandbox: false, cacheFolder });
    const shown = (one: Catalog) => one.connectors('production').map(({ definition }) => definition);
    expect(shown(second)).toEqual(shown(catalog));
    expect(shown(third)).toEqual(shown(catalog));
    expect(readdirSync(cacheFolder)).not.toContain(cached);
    const text = readFileSync(join(cacheFolder, readdirSync(cacheFolder)[0] ?? ''), 'utf8');
    expect(JSON.parse(text.split('\n')[0] ?? '')).toHaveLength(SHIPPED.length - 1);
    expect([...text].filter((character) => character > '~')).toEqual([]);

    for (const one of [catalog, second]) {
      expect(one.connector('development', 'sandbox')).toBeDefined();
      expect(one.connector('production', 'sandbox')).toBeUndefined();
    }
    expect(third.connector('development', 'sandbox')).toBeUndefined();
  });

  test('a faulty file is left out with its faults, unless no file is valid', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'gatehouse-faulty-'));
    const cacheFolder = join(folder, '..', `${basename(folder)}-cached`);
    const file = (id: string) => join(folder, id, 'connector.yaml');
    try {
      for (const id of ['shop', 'broken', 'renamed', 'empty']) mkdirSync(join(folder, id));
      writeFileSync(
        file('broken'),
        GOOD.replace('id: shop', 'id: broken').replace('name: Shop', 'nam: Shop'),
      );
      writeFileSync(file('renamed'), GOOD);
      await expect(loadCatalog({ folder, sandbox: true })).rejects.toThrow('id: must equal');
      writeFileSync(file('shop'), GOOD);
      for (const _ of ['first start', 'second start']) {
        const catalog = await loadCatalog({ folder, sandbox: true, cacheFolder });
        expect(catalog.connectors('production').map(({ connectorId }) => connectorId)).toEqual(['shop']);
        expect(catalog.faults.map(({ file: where, path }) => `${where}: ${path}`).sort()).toEqual([
          `${file('broken')}: nam`,
          `${file('broken')}: name`,
          `${file('empty')}: `,
          `${file('renamed')}: id`,
        ]);
      }
      const { state, found } = await checkCatalogue({ sandbox: true }, folder);
      expect(state).toBe('fail');
      expect(found.split('\n')).toHaveLength(4);
      const service = await startService({ catalogFolder: folder });
      try {
        expect((await service.call('GET', '/connectors')).at('data.0.connectorId')).toBe('shop');
        const lines = service.logged.filter((line) => line.includes('connector file is faulty'));
        expect(lines).toHaveLength(4);
        expect(lines.join()).toContain('must equal the name of its folder');
      } finally {
        await service.stop();
      }
    } finally {
      for (const path of [folder, cacheFolder]) rmSync(path, { recursive: true, force: true });
    }
  });

  test('a change is found that keeps a file’s size and modification time', async () => {
    const scratch = mkdtempSync(join(tmpdir(), 'gatehouse-cached-'));
    try {
      const folder = join(scratch, 'connectors');
      cpSync(join(FOLDER, 'sandbox'), join(folder, 'sandbox'), { recursive: true });
      const file = join(folder, 'sandbox', 'connector.yaml');
      const load = async () =>
        (await loadCatalog({ folder, sandbox: true, cacheFolder: join(scratch, 'cache') })).connector(
          'development',
          'sandbox',
        )?.name;
      const name = await load();
      const { atime, mtime } = statSync(file);
      writeFileSync(
        file,
        readFileSync(file, 'utf8').replace(`name: ${name}`, `name: ${name?.toUpperCase()}`),
      );
      utimesSync(file, atime, mtime);
      expect(await load()).toBe(name?.toUpperCase());
    } finally {
      rmSync(scratch, { recursive: true, force: true });
    }
  });
});
