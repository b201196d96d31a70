import { beforeAll, describe, expect, test } from 'vitest';
import type { Action } from '../../src/connectors/catalog.ts';
import { loadCatalog } from '../../src/connectors/load-catalog.ts';
import { createActionSearch } from '../../src/search/action-search.ts';
import { CATALOG_FOLDER } from '../../src/package.ts';

/* Requests that find no write by accident, and what they name in spite of its spelling. */

let found: (query: string) => Promise<Action[]>;
beforeAll(async () => {
  const catalog = await loadCatalog({ folder: CATALOG_FOLDER, sandbox: true });
  const visible = catalog
    .connectors('development')
    .map((connector) => ({ connector, actions: [...connector.actions.values()] }));
  const allowed = visible.flatMap(({ actions }) => [...actions]);
  const search = createActionSearch({ catalog });
  found = async (query) =>
    (await search('development', { query, allowed, limit: 5, visible })).hits.map(({ action }) => action);
});
const named = (actions: readonly Action[]) =>
  actions.map(({ connectorId, actionId }) => `${connectorId}.${actionId}`);

describe('a request that no action fits', () => {
  test.each([
    'make sure that nobody forgets the dinner',
    'I hope that everyone enjoys the picnic',
    'wish me luck for tonight',
    'stell sicher, dass niemand den Geburtstag vergisst',
    "assure-toi que personne n'oublie la fête",
    'asegúrate de que nadie olvide la cena',
    'garante que ninguém esquece o jantar',
  ])('a request that no action fits finds no action that changes something: %s', async (query) => {
    expect(named((await found(query)).filter(({ effect }) => effect !== 'read'))).toEqual([]);
  });
});

describe('a request that asks, or names a state', () => {
  test.each([
    'pull requests that nobody has merged',
    'branches that nobody has deleted',
    'did anyone cancel an order yesterday',
    'which subscriptions were cancelled in Stripe',
    'who deleted the contact in HubSpot',
    'has somebody refunded payment 88',
    'show the mails that were never sent',
    'list archived channels in Slack',
    'invoices that were voided last month in Xero',
    'Welche Bestellungen wurden storniert?',
    'Wer hat den Kontakt gelöscht?',
    'Quelles commandes ont été annulées ?',
    'Qui a supprimé le contact ?',
    '¿Quién ha borrado el contacto?',
    'pedidos cancelados de la semana pasada',
    'Quais pedidos foram cancelados?',
    'Quem apagou o contato?',
  ])('a question finds a reading action first, and none that destroys: %s', async (query) => {
    const actions = await found(query);
    expect(actions[0]?.effect).toBe('read');
    expect(named(actions.filter(({ effect }) => effect === 'destructive'))).toEqual([]);
  });

  test.each([
    ['I want order 1042 cancelled in Shopify', 'shopify.cancel_order'],
    ['could you delete the contact 77 in HubSpot', 'hubspot.archive_contact'],
    ['how can I refund an order in Shopify?', 'shopify.refund_order'],
    ['which meeting can you cancel in Zoom? cancel the meeting at ten', 'zoom.delete_meeting'],
    ['Kannst du die Bestellung 12 in Shopify stornieren?', 'shopify.cancel_order'],
    ['Peux-tu annuler la commande 12 dans Shopify ?', 'shopify.cancel_order'],
    ['¿Puedes cancelar el pedido 12 en Shopify?', 'shopify.cancel_order'],
    ['Você pode cancelar o pedido 12 no Shopify?', 'shopify.cancel_order'],
  ])('a question that contains an order finds its action: %s', async (query, action) => {
    expect(named(await found(query))).toContain(action);
  });
});

describe('a request for the newest things', () => {
  test.each([
    ['get the newest shopify order', 'shopify.list_orders'],
    ['take the latest invoices from xero', 'xero.list_invoices'],
    ['grab the most recent payments in Square', 'square.list_payments'],
    ['fetch the last order of WooCommerce', 'woocommerce.list_orders'],
    ['pull up the newest issues on GitLab', 'gitlab.list_issues'],
    ['bring up the oldest invoice in QuickBooks', 'quickbooks.list_invoices'],
    ['Nimm die neueste Bestellung aus Shopify', 'shopify.list_orders'],
    ['Prends la dernière commande de Shopify', 'shopify.list_orders'],
    ['Toma el último pedido de Shopify', 'shopify.list_orders'],
    ['Pega o último pedido do Shopify', 'shopify.list_orders'],
  ])('a request for the newest things finds a list of them: %s', async (query, action) => {
    expect(named(await found(query)).slice(0, 3)).toContain(action);
  });
});

describe('the name of an app with a wrong letter', () => {
  test.each([
    ['chekc stok in sqare', 'square.list_stock'],
    ['list the ordrs in shopfy', 'shopify.list_orders'],
    ['isues on gihtub', 'github.list_issues'],
    ['channels in slakc', 'slack.list_channels'],
    ['custmers in strype', 'stripe.list_customers'],
    ['find contcats in hubpsot', 'hubspot.search_contacts'],
    ['orders from woocomerce', 'woocommerce.list_orders'],
    ['Rechnungen in xreo', 'xero.list_invoices'],
  ])('an app whose name has a wrong letter is found: %s', async (query, action) => {
    expect(named(await found(query))).toContain(action);
  });
});

describe('a request of several steps', () => {
  test.each([
    [
      'take the newest order of shopify, then make an invoice in xero',
      'shopify.list_orders',
      'xero.create_invoice',
    ],
    [
      'snag the newest order of WooCommerce, write an invoice in QuickBooks and post its number to Slack',
      'woocommerce.list_orders',
      'quickbooks.create_invoice',
      'slack.send_message',
    ],
    [
      'eyeball the open issues on GitHub and send a summary in Slack',
      'github.list_issues',
      'slack.send_message',
    ],
    [
      'Schnapp dir die letzte Bestellung aus Shopify und erstelle eine Rechnung in Xero',
      'shopify.get_order',
      'xero.create_invoice',
    ],
  ])('a request of several steps finds an action for each: %s', async (query, ...actions) => {
    expect(named(await found(query))).toEqual(expect.arrayContaining(actions));
  });
});
