import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { checkFile } from '../../src/cli/connectors-check.ts';
import { loadCatalog } from '../../src/connectors/load.ts';
import { checkInput } from '../../src/connectors/validate.ts';
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
      'an account that nobody knows',
      'square',
      'account: { id: id, name: business_name }\n',
      '',
      'webhooks.account',
    ],
    [
      'an expression that is none',
      'medusa',
      '"orderNumber": display_id ?',
      '"orderNumber": ) display_id ?',
      'unified.commerce/orders.map',
    ],
  ])('%s', async (_, connectorId, from, to, said) => {
    expect(await faultsOf(connectorId, from, to)).toContain(said);
  });
});

describe('a fault of an example is found', () => {
  test('a mapping that returns another amount', async () => {
    const said = await faultsOf(
      'stripe',
      "price: '5.120', images",
      "price: '51.20', images",
      'examples.yaml',
    );
    expect(said).toBe('unified.5 (commerce/products).output.price: should be "51.20", is "5.120"');
  });

  test('a mapping that returns a number for money', async () => {
    const said = await faultsOf('sandbox', '"price": unitPrice', '"price": $number(unitPrice)');
    expect(said).toContain(
      'output: came as an error: A record of Sandbox does not fit commerce/orders: lineItems.0.price',
    );
  });

  test('a signature that is not right, and a forged one that passes', async () => {
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

  test('an event that means something else', async () => {
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
  };

  test.each(connectors.filter(({ definition }) => definition.webhooks))(
    '$connectorId: registrations',
    (connector) => {
      const { webhooks } = connector.definition;
      const create = webhooks && connector.internal.get(webhooks.register.create.action);
      if (!create) throw new Error('has none');
      for (const topics of Object.values(webhooks.topics)) {
        for (const { topic, values } of topics) {
          const all = topics.map((one) => one.topic);
          const input = filledInput(webhooks.register.create.input, (name) =>
            name === 'topics' ? all : name === 'topic' ? topic : (names[name] ?? (values[name] && 'Order')),
          );
          expect(checkInput(create, input)).toEqual([]);
          expect(JSON.stringify(input)).not.toMatch(/\{\w+\}/);
        }
      }
    },
  );

  test.each(connectors.filter(({ definition }) => Object.keys(definition.unified).length > 0))(
    '$connectorId: lists and polls',
    (connector) => {
      for (const model of Object.values(connector.definition.unified)) {
        const list = connector.actions.get(model.list);
        const get = connector.actions.get(model.get.action);
        if (!list || !get) throw new Error('has none');
        expect(list.list).toBe(true);
        const fields = (name: string) => (name.endsWith('Class') ? 'Order' : undefined);
        const places = Object.fromEntries(Object.keys(model.inputFrom).map((name) => [name, ['1']]));
        expect(
          checkInput(list, filledInput({ ...model.input, ...model.poll.input, ...places }, fields)),
        ).toEqual([]);
      }
    },
  );
});
