import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { inverseOf } from '../../src/actions/inverse.ts';
import { checkFile } from '../../src/author/check-file.ts';
import { examplesFile } from '../../src/connectors/format/examples-format.ts';
import { parseYaml } from '../../src/connectors/parse.ts';
import { loadCatalog } from '../../src/connectors/load-catalog.ts';
import { asJson, isJsonObject } from '../../src/lib/json.ts';
import { CATALOG_FOLDER } from '../../src/package.ts';

/* The inverses that connector files name: their checks, and those of the shipped connectors. */

const catalog = await loadCatalog({ folder: CATALOG_FOLDER, sandbox: true });
const undoable = catalog
  .connectors('development')
  .flatMap((connector) =>
    [...connector.actions.values()]
      .filter(({ definition }) => definition.undo !== undefined)
      .map((action) => ({ connector, action, name: `${connector.connectorId}.${action.actionId}` })),
  );

test('at least fourteen shipped connectors have actions that can be undone', () => {
  const connectors = new Set(undoable.map(({ connector }) => connector.connectorId));
  expect(connectors.size).toBeGreaterThanOrEqual(14);
  expect(undoable.map(({ name }) => name)).toContain('sandbox.create_customer');
});

test('each action that can be undone has an example that fills its inverse', () => {
  const unproven = undoable.filter(({ connector, action }) => {
    const path = join(CATALOG_FOLDER, connector.connectorId, 'examples.yaml');
    const read = parseYaml(readFileSync(path, 'utf8'), path);
    const { examples } = examplesFile.parse('value' in read ? read.value : undefined);
    return !examples.some(({ action: actionId, input: given, output, error }) => {
      const input = asJson(given);
      if (actionId !== action.actionId || error || output === undefined || !isJsonObject(input)) return false;
      return inverseOf(connector, action, { input, result: asJson(output) })?.faults.length === 0;
    });
  });
  expect(unproven.map(({ name }) => name)).toEqual([]);
});

const FILE = `id: desk
name: Desk
description: A help desk.
categories: [support]
website: https://desk.example.com
sources: [{title: Written for the tests, read: 2026-11-21}]
baseUrl: https://desk.example.com/api
authentication: [{type: bearer}]
paging:
  pages: {style: offset, limitParam: limit, offsetParam: offset}
actions:
  list_tickets: {description: Tickets., request: GET /tickets, paging: pages}
  get_ticket: {description: A ticket., request: 'GET /tickets/{ticketId}', path: {ticketId: {type: string}}}
  create_ticket:
    description: Creates a ticket.
    request: POST /tickets
    body: {subject: {type: string, required: true}}
    undo: {action: delete_ticket, input: {ticketId: '{result.id}'}}
  delete_ticket: {description: Deletes a ticket., request: 'DELETE /tickets/{ticketId}', path: {ticketId: {type: string}}}
  purge_ticket: {description: Deletes a ticket., internal: true, request: 'DELETE /purge/{ticketId}', path: {ticketId: {type: string}}}
`;
const EXAMPLES = `examples:
  - action: create_ticket
    credential: {token: token-of-examples}
    input: {subject: Hello}
    request: {method: POST, url: 'https://desk.example.com/api/tickets'}
    response: {status: 200, body: {id: 7}}
    output: {id: 7}
`;

const scratch = mkdtempSync(join(tmpdir(), 'gatehouse-undo-'));
afterAll(() => rmSync(scratch, { recursive: true, force: true }));
let written = 0;
async function faultsOf(text: string, examples = EXAMPLES) {
  const folder = join(scratch, String(++written), 'desk');
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'connector.yaml'), text);
  writeFileSync(join(folder, 'examples.yaml'), examples);
  const { faults } = await checkFile(join(folder, 'connector.yaml'));
  return faults.map(({ path, rule }) => `${path}: ${rule}`);
}

test('a file with an inverse is valid, and a number fills a text', async () => {
  expect(await faultsOf(FILE)).toEqual([]);
});

test.each([
  ['action: delete_ticket', 'action: remove_ticket', '"remove_ticket" is no action of this file'],
  ['action: delete_ticket', 'action: purge_ticket', '"purge_ticket" is internal'],
  ['action: delete_ticket', 'action: get_ticket', '"get_ticket" changes nothing'],
  ['action: delete_ticket', 'action: create_ticket', 'must be another action'],
  ["ticketId: '{result.id}'", "id: '{result.id}'", 'is no parameter of "delete_ticket"'],
  ["ticketId: '{result.id}'", '', 'lacks ticketId'],
  ["'{result.id}'", "'{value.id}'", '"value" is none of input, result'],
  ["'{result.id}'", "'{input.id}'", '{input.id} names no parameter of this action'],
  ['request: POST /tickets', 'request: GET /new', 'is for actions that change something'],
])('an inverse with %s changed to %s is a fault', async (before, after, fault) => {
  expect((await faultsOf(FILE.replace(before, after))).join('\n')).toContain(fault);
});

test('an example that does not fill the input of the inverse is a fault', async () => {
  const faults = await faultsOf(FILE, EXAMPLES.replaceAll('{id: 7}', '{number: 7}'));
  expect(faults).toEqual([expect.stringMatching(/^examples\.0 \(create_ticket\)\.undo\.input\.ticketId: /)]);
});
