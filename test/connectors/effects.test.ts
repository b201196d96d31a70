import { expect, test } from 'vitest';
import { loadCatalog } from '../../src/connectors/load-catalog.ts';
import { effectOfCall } from '../../src/connectors/effects.ts';
import { parametersOf } from '../../src/connectors/parameters.ts';
import { CATALOG_FOLDER } from '../../src/package.ts';
import type { Action } from '../../src/connectors/catalog.ts';

const catalog = await loadCatalog({ folder: CATALOG_FOLDER, sandbox: true });
const actions = catalog.connectors('development').flatMap(({ actions }) => [...actions.values()]);

/** Values of an enum that destroy a record which the action otherwise changes. */
const DESTROYS = /void|delete|trash|cancel|archive|refund/i;

function destroyingValues(action: Action): { parameter: string; value: string }[] {
  return parametersOf(action.definition).flatMap(({ name, parameter }) => {
    const values = Array.isArray(parameter['enum']) ? parameter['enum'] : [];
    return values
      .filter((value): value is string => typeof value === 'string' && DESTROYS.test(value))
      .map((value) => ({ parameter: name, value }));
  });
}

test('a value that voids, deletes, trashes or cancels makes a change destructive', () => {
  const updates = actions.filter(
    ({ actionId, effects }) => effects[0] === 'write' && !actionId.startsWith('create_'),
  );
  const harmless = updates.flatMap((action) =>
    destroyingValues(action)
      .filter(({ parameter, value }) => effectOfCall(action, { [parameter]: value }) !== 'destructive')
      .map(({ parameter, value }) => `${action.connectorId}.${action.actionId} ${parameter}: ${value}`),
  );
  expect(harmless).toEqual([]);
});

test.each([
  ['gmail', 'modify_messages', { ids: ['a'], addLabelIds: ['STARRED', 'TRASH'] }],
  ['gmail', 'modify_thread', { threadId: 'a', addLabelIds: ['trash'] }],
  ['xero', 'update_invoice', { invoiceId: 'INV-1', Status: 'VOIDED' }],
  ['notion', 'update_page', { pageId: 'p', in_trash: true }],
  ['notion', 'write_page', { pageId: 'p', type: 'replace_content', replace_content: { new_str: '' } }],
  ['microsoft-outlook', 'move_message', { messageId: 'm', destinationId: 'DeletedItems' }],
  ['google-calendar', 'update_event', { eventId: 'e', status: 'cancelled' }],
  ['bigcommerce', 'update_order', { orderId: 1, status_id: 5 }],
  ['zoom', 'update_registrant_status', { meetingId: '1', action: 'cancel', registrants: [] }],
])('a call of %s.%s with %j is destructive', (connectorId, actionId, input) => {
  const action = catalog.action('development', connectorId, actionId);
  expect(action && effectOfCall(action, input)).toBe('destructive');
});

test.each([
  ['gmail', 'modify_messages', { ids: ['a'], removeLabelIds: ['UNREAD'] }],
  ['xero', 'update_invoice', { invoiceId: 'INV-1', Status: 'AUTHORISED' }],
  ['notion', 'update_page', { pageId: 'p', in_trash: false }],
  ['microsoft-outlook', 'move_message', { messageId: 'm', destinationId: 'archive' }],
])('a call of %s.%s with %j is a write', (connectorId, actionId, input) => {
  const action = catalog.action('development', connectorId, actionId);
  expect(action && effectOfCall(action, input)).toBe('write');
});

test('a sign-in at Slack offers no action that takes a token of a person', () => {
  const slack = catalog.connectors('development').find(({ connectorId }) => connectorId === 'slack');
  expect(slack?.actions.get('search_messages')?.definition.authentication).toEqual(['bearer']);
});
