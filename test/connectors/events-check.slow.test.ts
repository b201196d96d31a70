import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { checkFile } from '../../src/author/check-file.ts';
import { ownAction } from '../../src/connectors/catalog.ts';
import { loadCatalog } from '../../src/connectors/load-catalog.ts';
import { boundedInput } from '../../src/sources/polling/record-times.ts';
import { takesArray } from '../../src/connectors/parameters.ts';
import { checkInput } from '../../src/connectors/schemas/validate.ts';
import { filledInput } from '../../src/connectors/templates.ts';

/* Reports of `connectors check` about wrong models and webhooks, and about examples that fail. */

const FOLDER = join(import.meta.dirname, '../../data/connectors');
let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'gatehouse-check-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

/** Returns the faults of a shipped connector with a text in one of its files replaced, as `path: rule`. */
async function faultsOf(
  connectorId: string,
  from: string,
  to: string,
  name: 'connector.yaml' | 'examples.yaml' = 'connector.yaml',
): Promise<string> {
  const own = join(folder, connectorId);
  cpSync(join(FOLDER, connectorId), own, { recursive: true });
  const file = join(own, name);
  const text = readFileSync(file, 'utf8');
  if (!text.includes(from)) throw new Error(`${connectorId} has no ${from}`);
  writeFileSync(file, text.replace(from, to));
  const { faults } = await checkFile(join(own, 'connector.yaml'));
  return faults.map(({ path, rule }) => `${path}: ${rule}`).join('\n');
}

describe('a fault of a connector file is found', () => {
  test.each([
    [
      'an action that is none',
      'shopify',
      'list: list_orders',
      'list: list_nothing',
      'unified.commerce/orders',
    ],
    [
      'a parameter that is none',
      'shopify',
      'poll: {since: updated_at_min}',
      'poll: {since: at}',
      'poll.since: "at"',
    ],
    [
      'a secret for each topic',
      'stripe',
      '      each: all\n',
      '',
      'webhooks.register.create.secret: is one for all topics',
    ],
    [
      'a name that is no field',
      'parse-server',
      "className: '{orderClass}'",
      "className: '{className}'",
      '{className}',
    ],
    [
      'a secret in an input',
      'parse-server',
      "className: '{orderClass}'",
      "className: '{masterKey}'",
      '{masterKey}',
    ],
    [
      'an unknown key of a scheme',
      'shopify',
      "key: '{clientSecret}'",
      "key: '{clientSekret}'",
      '{clientSekret}',
    ],
    [
      'a header of nobody',
      'parse-server',
      "'{masterKey}' } }\n\n  register",
      "'{master}' } }\n\n  register",
      '{master}',
    ],
    [
      'topics without a model',
      'stripe',
      '    commerce/products:\n      - {topic',
      '    commerce/coupons:\n      - {topic',
      'commerce/coupons',
    ],
    [
      'a type that is none',
      'stripe',
      'authentication: [bearer]',
      'authentication: [basic]',
      'webhooks.authentication',
    ],
    [
      'a time that is not signed',
      'shopify',
      "key: '{clientSecret}'",
      "key: '{clientSecret}', timestamp: header:X-Time",
      'webhooks.verify.content: must hold {timestamp}',
    ],
    [
      'a public key that is nowhere',
      'parse-server',
      "{ type: header, header: X-Parse-Webhook-Key, value: '{webhookKey}' }",
      '{ type: public_key, algorithm: ed25519, header: X-Parse-Webhook-Key }',
      'webhooks.verify: needs key or keysUrl',
    ],
    [
      'an account that nobody knows',
      'square',
      'account: { id: id, name: business_name }\n',
      '',
      'webhooks.account',
    ],
    [
      'an entry of a topic that never counts',
      'woocommerce',
      '{topic: order.restored, event: updated}',
      '{topic: order.created, event: updated, where: {status: paid}}',
      'webhooks.topics.commerce/orders.2: never counts: order.created stands above without where',
    ],
    [
      'webhooks that are registered and set up by hand',
      'stripe',
      '  register:\n    list: {action',
      '  manual: {secret: made, help: Open the settings.}\n  register:\n    list: {action',
      'webhooks: needs register or manual, and not both',
    ],
    [
      'webhooks by hand without a list',
      'zoom',
      '    list: list_recordings\n',
      '',
      'webhooks.topics.recording.completed: needs list in its model',
    ],
    [
      'an expression that is none',
      'medusa',
      '"orderNumber": display_id ?',
      '"orderNumber": ) display_id ?',
      'unified.commerce/orders.map',
    ],
  ])('a fault of a connector file is found: %s', async (_, connectorId, from, to, said) => {
    expect(await faultsOf(connectorId, from, to)).toContain(said);
  });
});

describe('a fault of an example is found', () => {
  test('an example finds a mapping that returns another amount', async () => {
    const said = await faultsOf(
      'stripe',
      "price: '5.120', images",
      "price: '51.20', images",
      'examples.yaml',
    );
    expect(said).toBe('unified.5 (commerce/products).output.price: should be "51.20", is "5.120"');
  });

  test('an example finds a mapping that returns a number for money', async () => {
    const said = await faultsOf('sandbox', '"price": unitPrice', '"price": $number(unitPrice)');
    expect(said).toContain(
      'output: came as an error: A record of Sandbox does not fit commerce/orders: lineItems.0.price',
    );
  });

  test('an example finds a wrong signature, and a forged one that passes', async () => {
    expect(await faultsOf('sandbox', 'secret: s3cret', 'secret: s3creT', 'examples.yaml')).toBe(
      'webhooks.0.expect.genuine: should be true, is false',
    );
    const lenient = await faultsOf(
      'woocommerce',
      'expect: {genuine: false}',
      'expect: {genuine: true}',
      'examples.yaml',
    );
    expect(lenient).toBe('webhooks.1.expect.genuine: should be true, is false');
  });

  test('an example finds an event that means something else', async () => {
    const said = await faultsOf(
      'woocommerce',
      '{topic: order.created, event: created}',
      '{topic: order.created, event: updated}',
    );
    expect(said).toContain(
      'webhooks.0.expect.events: should be [{"event":"created","remoteId":"11"}], is [{"event":"updated"',
    );
  });

  test('variations count as products unless they are excluded', async () => {
    const said = await faultsOf('woocommerce', ', except: {type: variation}', '');
    expect(said).toMatch(
      /^webhooks\.5\.expect\.events: should be \[\], is \[\{"event":"created","remoteId":"13"\}\]$/,
    );
  });
});

describe('input that Gatehouse itself sends fits its actions', async () => {
  const catalog = await loadCatalog({ folder: FOLDER, sandbox: true });
  const connectors = catalog.connectors('development');
  const names: Record<string, string> = {
    address: 'https://gatehouse.example.com/hooks/app/token',
    secret: 's3cret',
    expiresAt: '2026-11-27T09:00:00.000Z',
  };

  test.each(connectors.filter(({ definition }) => definition.webhooks?.register))(
    'inputs that Gatehouse sends fit the registrations of $connectorId',
    (connector) => {
      const { webhooks } = connector.definition;
      const register = webhooks?.register;
      const create = register && connector.internal.get(register.create.action);
      if (!create) throw new Error('has none');
      for (const topics of Object.values(webhooks.topics)) {
        for (const { topic, values } of topics) {
          const all = topics.map((one) => one.topic);
          const input = filledInput(register.create.input, (name) =>
            name === 'topics' ? all : name === 'topic' ? topic : (names[name] ?? (values[name] && 'Order')),
          );
          expect(checkInput(create, input)).toEqual([]);
          expect(JSON.stringify(input)).not.toMatch(/\{\w+\}/);
        }
      }
    },
  );

  test.each(connectors)('inputs that Gatehouse sends fit lists and polls of $connectorId', (connector) => {
    const { unified, events } = connector.definition;
    for (const model of [...Object.values(unified), ...Object.values(events)]) {
      const list = ownAction(connector, model.list ?? '');
      const get = model.get && ownAction(connector, model.get.action);
      if (!list || (model.get && !get)) throw new Error('has none');
      expect(list.list).toBe(true);
      const fields = (name: string) => (name.endsWith('Class') ? 'Order' : undefined);
      const places = Object.fromEntries(
        Object.keys(model.inputFrom).map((name) => [name, takesArray(list.definition, name) ? ['1'] : '1']),
      );
      const input = filledInput({ ...model.input, ...places }, fields);
      expect(checkInput(list, boundedInput(model, input, undefined))).toEqual([]);
      // A bound in a JSON text is sent as it is, past the schema of its parameter.
      if (model.poll.sinceTemplate?.startsWith('{')) continue;
      const polled = ownAction(connector, model.poll.list ?? model.list ?? '') ?? list;
      expect(checkInput(polled, boundedInput(model, input, Date.parse('2026-11-20T09:00:00Z')))).toEqual([]);
    }
  });
});

describe('a fault of an event source is found', () => {
  const SOURCE =
    'events:\n  charge.made: {title: Charge made, description: A charge was made., list: list_orders, remoteId: id, updatedAt: updated_at}\n';
  /** Returns the faults of the shop with this event source, as `line path: rule`. */
  async function faultsWith(from: string, to: string): Promise<string> {
    const own = join(folder, 'shopify');
    cpSync(join(FOLDER, 'shopify'), own, { recursive: true });
    const file = join(own, 'connector.yaml');
    const text = readFileSync(file, 'utf8');
    if (!SOURCE.includes(from)) throw new Error(`the source has no ${from}`);
    writeFileSync(file, text.replace(/^events:\n/m, SOURCE.replace(from, to)));
    const { faults } = await checkFile(file);
    return faults.map(({ line, path, rule }) => `${line && 'line'} ${path}: ${rule}`).join('\n');
  }

  test('a source without a fault has none', async () => {
    expect(await faultsWith('list_orders', 'list_orders')).toBe('');
  });

  test.each([
    ['an action that is none', 'list_orders', 'list_nothing', 'line events.charge.made.list: "list_nothing"'],
    ['an action that is no list', 'list_orders', 'get_order', 'line events.charge.made.list: "get_order"'],
    ['a name with a capital', 'charge.made', 'chargeMade', 'line events.chargeMade: must be words of a-z'],
    ['nothing that reports', 'list: list_orders, ', '', 'events.charge.made: needs list, or topics'],
    [
      'updates without a sign of them',
      'updatedAt: updated_at',
      'reports: [updated]',
      'events.charge.made.reports: has updated',
    ],
    [
      'deletions without a sign of them',
      'updatedAt: updated_at',
      'reports: [deleted]',
      'events.charge.made.reports: has deleted',
    ],
    [
      'one value for several lists',
      'remoteId: id',
      'remoteId: id, inputFrom: {status: {action: list_products, path: id, most: 2}}',
      'events.charge.made.inputFrom.status.most: must be 1',
    ],
    [
      'a read by several ids',
      'remoteId: id',
      'remoteId: [id, name], get: {action: get_order, param: orderId}',
      'events.charge.made.get: reads by one id',
    ],
  ])('a fault of an event source is found: %s', async (_, from, to, said) => {
    expect(await faultsWith(from, to)).toContain(said);
  });
});
