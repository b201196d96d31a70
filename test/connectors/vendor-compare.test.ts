import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { ActionDefinition, ConnectorFile } from '../../src/connectors/format/format.ts';
import { parseConnector } from '../../src/connectors/parse.ts';
import { differencesOf } from './vendors/compare.ts';
import { parseExtract } from './vendors/fields.ts';
import { judged } from './vendors/ledger.ts';

/* Each kind of fault, planted in a shipped connector, is found by the comparison with its vendor's document. */

const DATA = join(import.meta.dirname, '../../data/connectors');

/** Returns the differences that a change of one action brings. */
function found(
  connectorId: string,
  actionId: string,
  change: (action: ActionDefinition, file: ConnectorFile) => void,
) {
  const facts = parseExtract(
    readFileSync(join(import.meta.dirname, 'vendors', `${connectorId}.json`), 'utf8'),
  );
  const path = join(DATA, connectorId, 'connector.yaml');
  const { definition } = parseConnector(readFileSync(path, 'utf8'), path);
  const action = definition?.actions[actionId];
  if (!definition || !action) throw new Error(`${connectorId} has no ${actionId}`);
  const before = differencesOf(definition, facts);
  change(action, definition);
  return differencesOf(definition, facts).filter((one) => !before.includes(one));
}

describe('the comparison with a document finds', () => {
  test('the comparison finds a path that the vendor does not have', () => {
    const differences = found('slack', 'list_channels', (action) => {
      action.request = 'GET /conversations.lists';
    });
    expect(differences).toEqual(['list_channels: no operation']);
  });

  test('the comparison finds a member of the body that the vendor does not know', () => {
    const differences = found('slack', 'send_message', ({ body }) => {
      body['channell'] = { type: 'string' };
    });
    expect(differences).toEqual(['send_message.channell: unknown']);
  });

  test('the comparison finds a member inside an object that the vendor does not know', () => {
    const differences = found('square', 'list_orders', ({ body }) => {
      body['states'] = { type: 'array', as: 'query.filter.state_filter.status' };
    });
    expect(differences).toEqual([
      'list_orders.query.filter.state_filter.status: unknown',
      'list_orders.query.filter.state_filter.states: required and not sent',
    ]);
  });

  test('the comparison finds a member of a wrapped body that the vendor does not know', () => {
    const differences = found('xero', 'create_invoice', ({ body }) => {
      body['Typo'] = { type: 'string' };
    });
    expect(differences).toEqual(['create_invoice.Invoices.Typo: unknown']);
  });

  test('the comparison finds a value that the vendor does not accept', () => {
    const differences = found('google-calendar', 'list_events', ({ query }) => {
      query['orderBy'] = { type: 'string', enum: ['startTime', 'size'] };
    });
    expect(differences).toEqual(['list_events.orderBy: size']);
  });

  test('the comparison finds a required parameter that is not sent', () => {
    const differences = found('github', 'delete_file', ({ body }) => {
      delete body['sha'];
    });
    expect(differences).toEqual(['delete_file.sha: required and not sent']);
  });

  test('the comparison finds a required parameter that callers may leave out', () => {
    const differences = found('github', 'delete_file', ({ body }) => {
      body['sha'] = { type: 'string' };
    });
    expect(differences).toEqual(['delete_file.sha: required and optional here']);
  });

  test('the comparison finds a page that is larger than the vendor allows', () => {
    const differences = found('gmail', 'list_messages', (action) => {
      action.paging = {
        style: 'cursor',
        in: 'query',
        cursorParam: 'pageToken',
        limitParam: 'maxResults',
        maxLimit: 501,
        next: 'body:nextPageToken',
      };
    });
    expect(differences).toEqual(['list_messages.maxResults: over 500']);
  });

  test('the comparison finds a place of data that the answer does not have', () => {
    const differences = found('hubspot', 'list_contacts', ({ response }) => {
      response.data = 'contacts';
    });
    expect(differences).toEqual(['list_contacts: no contacts in the answer']);
  });

  test('the comparison finds a member that the answer does not have', () => {
    const differences = found('dropbox', 'list_folder', ({ response }) => {
      response.map = '{"id": id, "size": sizes}';
    });
    expect(differences).toEqual(['list_folder: no entries.sizes in the answer']);
  });

  test('the comparison finds a place of the next page that the answer does not have', () => {
    const differences = found('microsoft-outlook', 'list_messages', (action) => {
      action.paging = { style: 'link', in: 'query', maxLimit: 50, next: String.raw`body:@odata\.next` };
    });
    expect(differences).toEqual(['list_messages: no @odata.next in the answer']);
  });

  test('the comparison finds scopes that do not suffice for an action', () => {
    const differences = found('square', 'list_payments', (_action, file) => {
      file.authentication = file.authentication.map((one) =>
        'scopes' in one ? { ...one, scopes: ['ITEMS_READ'] } : one,
      );
    });
    expect(differences).toContain('list_payments: scopes PAYMENTS_READ');
  });

  test('the comparison finds scopes of an action that do not suffice for the action', () => {
    const differences = found('gmail', 'send_message', (action) => {
      action.scopes = ['https://www.googleapis.com/auth/gmail.readonly'];
    });
    expect(differences).toEqual([expect.stringMatching(/^send_message: its own scopes lack /)]);
  });

  test('the comparison finds a field that a GraphQL schema does not have', () => {
    const differences = found('shopify', 'get_shop', (action) => {
      action.graphql = 'query { shop { id title } }';
    });
    expect(differences).toEqual([
      expect.stringMatching(/^get_shop: Cannot query field "title" on type "Shop"/),
    ]);
  });

  test('the comparison finds a variable of GraphQL that has no such member', () => {
    const differences = found('shopify', 'update_order', ({ body }) => {
      body['title'] = { type: 'string', as: 'input.title' };
    });
    expect(differences).toEqual(['update_order.input.title: unknown']);
  });
});

test('an entry of the ledger that no difference fits is stale', () => {
  const { open, stale } = judged('github', ['read_file: no operation']);
  expect(open).toEqual(['read_file: no operation']);
  expect(stale).toContain('delete_branch: no operation');
  expect(stale).not.toContain('read_file: no operation');
});
