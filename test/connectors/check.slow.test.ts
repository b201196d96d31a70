import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { checkFile } from '../../src/author/check-file.ts';
import { cliEnv, runCli, tempHome } from '../support/cli.ts';

/** A valid file; each fault below is one change of it. */
const GOOD = `id: desk
name: Desk
description: A help desk.
categories: [support]
website: https://desk.example.com
sources: [{title: Written for the tests, read: 2026-11-21}]
baseUrl: https://{shop}.desk.example.com/api
variables:
  shop: {title: Shop, format: subdomain}
authentication:
  - {type: bearer}
probe: get_account
account: {id: account.id, name: account.name}
errors: {message: [errors.0.message]}
paging:
  pages: {style: offset, limitParam: limit, offsetParam: offset}
schemas:
  account: {type: object, properties: {id: {type: string}, name: {type: string}}}
actions:
  get_account:
    description: The account.
    request: GET /account
    response: {schema: {type: object, properties: {account: {$ref: '#/schemas/account'}}}}
  list_tickets:
    description: Tickets.
    request: GET /tickets
    query:
      state: {type: string}
      since: {type: string, as: from}
    paging: pages
  add_member:
    description: Adds a member.
    request: POST /members
    wrap: members[]
    body:
      email: {type: string, as: contact.email}
      role: {type: string}
  delete_ticket:
    description: Deletes a ticket.
    request: DELETE /tickets/{ticketId}
    effect: destructive
    path: {ticketId: {type: string}}
  close_ticket:
    description: Closes a ticket.
    request: POST /graphql
    effect: write
    graphql: 'mutation($id: ID!, $note: String) { close(id: $id, note: $note) { id } }'
    body:
      ticketId: {type: string, as: id, required: true}
      note: {type: string}
`;
const EXAMPLES = `examples:
  - action: get_account
    credential: {shop: my-shop, token: token-of-examples}
    request: {method: GET, url: 'https://my-shop.desk.example.com/api/account'}
    response: {status: 200, body: {account: {id: '1', name: Ada}}}
    output: {account: {id: '1', name: Ada}}
`;

const scratch = mkdtempSync(join(tmpdir(), 'gatehouse-check-'));
afterAll(() => rmSync(scratch, { recursive: true, force: true }));
let written = 0;

function write(text: string, { examples = EXAMPLES, id = 'desk' } = {}): string {
  const folder = join(scratch, `file-${++written}`, id);
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'connector.yaml'), text);
  writeFileSync(join(folder, 'examples.yaml'), examples);
  return join(folder, 'connector.yaml');
}

/** Returns the faults as `line path: rule`. */
async function faultsOf(text: string, options = {}): Promise<string[]> {
  const { faults } = await checkFile(write(text, options));
  return faults.map(({ line, path, rule }) => `${line} ${path}: ${rule}`);
}

function changed(from: string, to: string): string {
  if (!GOOD.includes(from)) throw new Error(`the good file has no ${from}`);
  return GOOD.replace(from, to);
}

/** Returns the line of a text in the file, which the fault must name. */
function lineIn(text: string, part: string): number {
  return text.slice(0, text.indexOf(part)).split('\n').length;
}

test('the valid file has no fault', async () => {
  expect(await checkFile(write(GOOD))).toMatchObject({
    faults: [],
    untriedActions: ['list_tickets', 'add_member', 'delete_ticket', 'close_ticket'],
    score: 50 / 5 + 20 / 5,
  });
});

describe('a planted fault is found with its line', () => {
  test.each<[from: string, to: string, at: string, fault: RegExp]>([
    ['effect: destructive', 'effect: read', 'effect: read', /a DELETE request does not read/],
    ['effect: write', 'effect: read', 'effect: read', /a mutation does not read/],
    ['{ id } }', '{ id }', 'graphql:', /is no GraphQL: Syntax Error/],
    ["graphql: 'mutation", "graphql: 'subscription", 'graphql:', /must be a query or a mutation/],
    [
      '      note: {type',
      '      remark: {type',
      'remark:',
      /\$remark is no variable of the document; variables: id, note/,
    ],
    [
      'as: id, required: true',
      'as: id',
      'graphql:',
      /\$id must be given, and no required parameter gives it/,
    ],
    ['as: contact.email', 'as: members.0.email', 'as: members', /nests in objects alone/],
    ['wrap: members[]', 'wrap: data.members[]', 'wrap:', /is one name/],
    ['as: from', 'as: state', 'as: state', /is sent as "state", as query\.state is/],
    [
      'role: {type: string',
      'role: {type: string, enum: [1, 2]',
      'role: {',
      /takes no value, because .* string/,
    ],
    [
      'role: {type: string',
      'role: {type: string, default: 2',
      'role: {',
      /must have the type string: write "2"/,
    ],
    [
      'state: {type: string',
      'state: {type: integer, minimum: 3, maximum: 1',
      'state: {',
      /exclude each other/,
    ],
    ['as: from', 'as: limit', 'paging: pages\n  add', /is sent as "limit"/],
    ['role: {', 'role: {as: contact.email, ', 'role:', /is sent as "contact\.email"/],
    ['[errors.0.message]', "['errors[0].message']", 'errors:', /must be a dotted path .* without brackets/],
    ['message: [errors.0.message]', "message: ['$.message']", 'errors:', /must be a dotted path/],
    [
      'name: account.name',
      'name: account.title',
      'account: {id',
      /"account\.title" is nowhere in what the probe/,
    ],
    ['id: desk', 'id: other', 'id: other', /must equal the name of its folder, "desk"/],
    ['https://{shop}', 'http://{shop}', 'baseUrl:', /must begin with https/],
    [
      'format: subdomain}',
      'format: subdomain, secret: true}',
      'baseUrl:',
      /\{shop\} is neither a variable nor a field that is not secret/,
    ],
    ['schemas:\n', 'schemas:\n  spare: {type: object}\n', 'spare:', /is used by no action/],
    ['paging:\n', 'paging:\n  spare: {style: none}\n', 'spare:', /is used by no action/],
    ['  list_tickets:', '  tickets:', '  tickets:', /names no verb/],
    [
      'request: GET /tickets\n',
      'request: GET /tickets\n    baseUrl: https://other.example.com\n',
      'baseUrl: https://other',
      /sends the credential to another host/,
    ],
  ])('a planted fault is found with its line: %s as %s', async (from, to, at, fault) => {
    const text = changed(from, to);
    const faults = await faultsOf(text);
    expect(faults).toHaveLength(1);
    expect(faults[0]).toMatch(fault);
    expect(faults[0]).toMatch(new RegExp(`^${lineIn(text, at)} `));
  });

  test('the check of a connector finds a planted fault in the examples too', async () => {
    const examples = EXAMPLES.replace("output: {account: {id: '1'", "output: {account: {id: '2'");
    expect(await faultsOf(GOOD, { examples })).toEqual([
      expect.stringMatching(/^6 examples\.0 \(get_account\)\.output: should be/),
    ]);
    const unknown = EXAMPLES.replace('    output:', '    outputs:');
    expect(await faultsOf(GOOD, { examples: unknown })).toEqual([expect.stringMatching(/^\d+ examples\.0/)]);
  });

  test('the check of a connector finds a probe example that returns no account', async () => {
    const without = changed(
      "    response: {schema: {type: object, properties: {account: {$ref: '#/schemas/account'}}}}\n",
      '',
    ).replace(/schemas:\n.*\n/, '');
    const examples = EXAMPLES.replaceAll("{id: '1', name: Ada}", '{name: Ada}');
    expect(await faultsOf(without, { examples })).toEqual([
      '13 account.id: "account.id" is not in the example of the probe "get_account"',
    ]);
  });
});

describe('descriptions that models miss', () => {
  const DESCRIBED = `id: desk
name: Desk
description: A help desk.
categories: [support]
website: https://desk.example.com
sources: [{title: Written for the tests, read: 2026-11-21}]
baseUrl: https://desk.example.com/api
authentication: [{type: bearer}]
paging:
  pages: {style: offset, limitParam: limit, offsetParam: offset}
schemas:
  role: {type: string, description: What the member may do.}
actions:
  list_tickets:
    description: Lists tickets, newest first.
    request: GET /tickets
    query:
      state: {type: string, description: Only tickets in this state.}
    paging: pages
    response: {schema: {type: object, properties: {id: {type: string}}}}
  add_member:
    description: Adds a member to the team.
    request: POST /members
    body:
      role: {$ref: '#/schemas/role'}
      notes: {type: array, description: Notes., items: {type: object, properties: {text: {type: string, description: Its text.}}}}
  delete_ticket:
    description: Deletes a ticket with its messages.
    request: DELETE /tickets/{ticketId}
    path:
      ticketId: {type: string, description: Id of the ticket. list_tickets gives it.}
`;

  /** Returns the faults of a file as one that Gatehouse ships. */
  async function shippedFaults(text: string): Promise<string[]> {
    const { faults } = await checkFile(write(text, { examples: 'examples: []' }), scratch);
    return faults.map(({ line, path, rule }) => `${line} ${path}: ${rule}`);
  }

  test.each<[from: string, to: string, at: string, fault: RegExp]>([
    [', description: Only tickets in this state.', '', 'state: {', /query\.state: has no description/],
    [', description: Its text.', '', 'notes: {', /body\.notes\.text: has no description/],
    [', description: What the member may do.', '', 'role: {$ref', /body\.role: has no description/],
    [' list_tickets gives it.', '', 'ticketId: {', /does not say what gives the id/],
    ['list_tickets gives it.', 'list_desks gives it.', 'ticketId: {', /"list_desks", which is no action/],
    ['gives it.', 'gives it as number.', 'ticketId: {', /whose result has no "number"/],
    ['properties: {id:', 'properties: {number:', 'ticketId: {', /whose result has no "id"/],
    [', newest first.', '.', 'description: Lists', /has fewer than 25 characters/],
    [
      'Deletes a ticket',
      'Removes a ticket',
      'description: Removes',
      /another verb .* begin it with "Deletes"/,
    ],
  ])('a description with %s as %s is a fault of a shipped file', async (from, to, at, fault) => {
    const text = DESCRIBED.replace(from, to);
    const faults = await shippedFaults(text);
    expect(faults).toHaveLength(1);
    expect(faults[0]).toMatch(fault);
    expect(faults[0]).toMatch(new RegExp(`^${lineIn(text, at)} `));
  });

  test('a shipped file with good descriptions has no fault', async () => {
    expect(await shippedFaults(DESCRIBED)).toEqual([]);
  });

  test('a reason in words replaces the action that gives an id', async () => {
    const text = DESCRIBED.replace('list_tickets gives it.', 'The user gives it.');
    expect(await shippedFaults(text)).toEqual([]);
  });

  test('missing descriptions cost points in a custom file, and are no faults', async () => {
    const custom = await checkFile(write(GOOD));
    const described = await checkFile(write(DESCRIBED, { examples: 'examples: []' }));
    expect(custom.faults).toEqual([]);
    expect(custom.missing.at(-1)).toMatch(/^10 points: descriptions: /);
    expect(described.missing.join('\n')).not.toContain('descriptions');
  });
});

describe('connectors check of a folder of folders', () => {
  const folder = join(scratch, 'all');
  mkdirSync(folder);
  cpSync(join(write(GOOD), '..'), join(folder, 'desk'), { recursive: true });
  const bad = changed('id: desk', 'id: bad').replace('effect: destructive', 'effect: read');
  cpSync(join(write(bad, { id: 'bad' }), '..'), join(folder, 'bad'), { recursive: true });
  mkdirSync(join(folder, 'notes'));

  test('the check of a folder checks each connector and gives a score', async () => {
    using home = tempHome();
    const { code, out, err } = await runCli(['connectors', 'check', folder], cliEnv(home.path));
    const file = join(folder, 'desk', 'connector.yaml');
    expect(code).toBe(1);
    expect(err).toMatch(
      /bad\/connector\.yaml:41: actions\.delete_ticket\.effect: a DELETE request does not read/,
    );
    expect(out.split('\n')).toEqual([
      `${file}: desk is good (14 of 100): 5 actions, 1 examples replayed`,
      `${file}: 4 actions are tried by no example: list_tickets, add_member, delete_ticket, close_ticket`,
      `${file}: 20 points: no example of a refusal: upstream_rate_limited, credential_invalid, upstream_failed, upstream_rejected`,
      `${file}: 16 points: no schema of the answer: list_tickets, add_member, delete_ticket, close_ticket`,
      expect.stringMatching(
        /: 10 points: descriptions: get_account\.description has fewer than 25 characters; .* and \d+ more$/,
      ),
      '1 of 2 connectors are good',
      '',
    ]);
    const json = await runCli(['connectors', 'check', folder, '--json'], cliEnv(home.path));
    expect(JSON.parse(json.out)).toMatchObject({
      ok: false,
      connectors: [
        { ok: false, faults: [{ line: 41, path: 'actions.delete_ticket.effect' }] },
        { ok: true, connectorId: 'desk', score: 14 },
      ],
    });
    const none = await runCli(['connectors', 'check', join(folder, 'notes')], cliEnv(home.path));
    expect(none).toMatchObject({ code: 1, err: expect.stringContaining('There is no connector.yaml in') });
  });
});
