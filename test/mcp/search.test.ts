import { beforeAll, describe, expect, test } from 'vitest';
import type { Action, Catalog, ConnectorActions } from '../../src/connectors/catalog.ts';
import { loadCatalog } from '../../src/connectors/load-catalog.ts';
import { CATALOG_FOLDER } from '../../src/package.ts';
import { createActionSearch, type SearchActions } from '../../src/search/action-search.ts';

let catalog: Catalog;
let visible: ConnectorActions[];
let all: Action[];
let search: SearchActions;
beforeAll(async () => {
  catalog = await loadCatalog({ folder: CATALOG_FOLDER, sandbox: true });
  visible = catalog
    .connectors('development')
    .map((connector) => ({ connector, actions: [...connector.actions.values()] }));
  all = visible.flatMap(({ actions }) => [...actions]);
  search = createActionSearch({ catalog });
});

const found = async (query: string, allowed = all, limit = 5) =>
  (await search('development', { query, allowed, limit, visible })).hits.map(
    ({ action: { connectorId, actionId } }) => `${connectorId}.${actionId}`,
  );

describe('a query', () => {
  test.each([
    ['github.create_pull_request', 'github.create_pull_request'],
    ['createPullRequest github', 'github.create_pull_request'],
    ['hubspot_search_contacts', 'hubspot.search_contacts'],
    ['GITHUB: merging pull-requests', 'github.merge_pull_request'],
    ['slack mesage', 'slack.send_message'],
    ['gitlab pipelnie', 'gitlab.list_pipelines'],
    ['Zoom-Sitzung: meeting löschen delete', 'zoom.delete_meeting'],
  ])('the query %j finds %s', async (query, action) => {
    expect(await found(query)).toContain(action);
  });

  test.each([
    ['Rechnung für die Firma Meier in Xero anlegen', 'xero.create_invoice'],
    ['Rembourser le paiement dans Stripe', 'stripe.create_refund'],
    ['Envía un correo con Gmail', 'gmail.send_message'],
    ['Quem participou da reunião de ontem no Zoom?', 'zoom.list_past_participants'],
    ['loeschen: Datei in Dropbox', 'dropbox.delete'],
    ['updte the pirce of a prodcut in shopify', 'shopify.update_product'],
    ['drop a line in #ops that the server is back', 'slack.send_message'],
  ])('the query %j in other words finds %s', async (query, action) => {
    expect(await found(query)).toContain(action);
  });

  test('a query with a negated state finds reading actions first', async () => {
    expect((await found('Xero invoices that are not paid'))[0]).toBe('xero.list_invoices');
    expect((await found('Shopify orders that have not been shipped'))[0]).toMatch(/^shopify\.list_/);
  });

  test('a query with a refused order finds what the user wants instead', async () => {
    expect((await found('do not send it, just write a draft in Outlook'))[0]).toBe(
      'microsoft-outlook.create_draft',
    );
  });

  test('a query with several steps finds an action for each, numbered', async () => {
    const { hits } = await search('development', {
      query: 'cancel the Stripe subscription, then refund her last charge and post a message in Slack',
      allowed: all,
      visible,
      limit: 3,
    });
    expect(hits.map(({ step, action }) => [step, `${action.connectorId}.${action.actionId}`])).toEqual([
      [1, 'stripe.cancel_subscription'],
      [2, 'stripe.create_refund'],
      [3, 'slack.send_message'],
    ]);
  });

  test('a query without an app ranks actions of connected apps first among equals', async () => {
    const { hits } = await search('development', {
      query: 'create a customer',
      allowed: all,
      visible,
      limit: 1,
      connected: new Set(['woocommerce']),
    });
    expect(hits[0]?.action.connectorId).toBe('woocommerce');
  });

  test('a query without an app finds one action of two apps, or of all connected ones', async () => {
    const orders = async (connected?: ReadonlySet<string>) => {
      const { hits } = await search('development', {
        query: 'list the orders',
        allowed: all,
        visible,
        limit: 10,
        connected,
      });
      return hits.map(({ action }) => action).filter(({ actionId }) => actionId === 'list_orders');
    };
    expect(await orders()).toHaveLength(2);
    const shops = ['medusa', 'shopify', 'square', 'woocommerce'];
    expect((await orders(new Set(shops))).map(({ connectorId }) => connectorId).sort()).toEqual(shops);
  });

  test.each(['', ' ', '?!', '"', 'the of and', 'f0 : x', 'xqzzy', '\0', '🦉'])(
    'the query %j has no search terms, and finds nothing',
    async (query) => {
      expect(await found(query)).toEqual([]);
    },
  );

  test.each(['() OR NEAR(', 'customer*', '"customer" AND', 'c_customer', 'f0: customer'])(
    'the query %j is read as words, without operators',
    async (query) => {
      expect((await found(query)).length).toBeGreaterThan(0);
    },
  );

  test('a query with 500 words is answered', async () => {
    const words = Array.from({ length: 500 }, (_, at) => `order${at} orders`).join(' ');
    expect(await found(words)).toHaveLength(5);
  });

  test('a query finds only allowed actions, even when another fits better', async () => {
    const few = all.filter(({ connectorId }) => connectorId === 'gmail');
    expect((await found('send a message in slack', few)).every((name) => name.startsWith('gmail.'))).toBe(
      true,
    );
    expect(await found('send a message in slack', [])).toEqual([]);
  });
});

test('a catalogue that changes during a search does not end it', async () => {
  let version = 1;
  const changing = createActionSearch({
    catalog: Object.create(catalog, { version: { get: () => version } }),
  });
  const wanted = { query: 'create a customer', allowed: all, visible, limit: 1 };
  const first = await changing('development', wanted);
  const interrupted = await changing('development', {
    ...wanted,
    learned: async () => {
      version += 1;
      await changing('development', wanted);
      return new Map();
    },
  });
  expect(interrupted).toEqual(first);
});
