import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { checkFile } from '../../src/author/check-file.ts';

/* Each kind of fault, planted in a valid file, makes the check red, and the fault names the line of the change. */

const GOOD = `id: desk
name: Desk
description: A help desk.
categories: [support]
website: https://desk.example.com
color: '#112233'
sources:
  - title: Written for the tests
    read: 2026-11-21
baseUrl: https://{shop}.desk.example.com/api
variables:
  shop:
    title: Shop
    format: subdomain
headers:
  X-Client: gatehouse
authentication:
  - type: api_key
    in: header
    name: X-Key
  - type: custom
    fields:
      keyId: { title: Key id }
      secret: { title: Secret, secret: true }
    apply:
      headers:
        X-Id: '{keyId}'
    sign:
      type: hmac
      key: '{secret}'
      content: '{method}{path}'
      headers:
        X-Sign: '{signature}'
  - type: oauth2
    authorizeUrl: https://desk.example.com/authorize
    tokenUrl: https://desk.example.com/token
    scopes: [read, write]
probe: get_account
account:
  id: id
  name: name
escape: backslash
errors:
  message: [error.message]
  code: error.code
  when:
    - path: failed
  rules:
    - means: permission
      status: 403
  codes:
    expired: credential_invalid
  statuses:
    '423': transient
rateLimit:
  requests: 10
  perSeconds: 1
budget:
  remaining: 'header:X-Left'
  reset: 'header:X-Reset'
paging:
  pages:
    style: cursor
    limitParam: limit
    cursorParam: after
    next: 'body:meta.next'
    maxLimit: 100
schemas:
  ticket:
    type: object
    properties:
      id: { type: string }
      title: { type: string }
actions:
  get_account:
    description: The account.
    request: GET /account
    response:
      schema:
        type: object
        properties:
          id: { type: string }
          name: { type: string }
  list_tickets:
    description: Tickets, newest first.
    request: GET /tickets
    query:
      state: { type: string, enum: [open, closed] }
      since: { type: string, as: from }
      text: { type: string, pattern: '^[a-z]+$' }
    paging: pages
    response:
      data: tickets
      map: '{"id": id, "title": title}'
      schema: { $ref: '#/schemas/ticket' }
    each:
      - action: get_owner
        input: { ticketId: '{record.id}' }
  get_ticket:
    description: One ticket.
    request: GET /tickets/{ticketId}
    path:
      ticketId: { type: string }
  get_owner:
    description: The owner of a ticket.
    request: GET /tickets/{ticketId}/owner
    path:
      ticketId: { type: string }
  search_tickets:
    description: Tickets by a query.
    request: GET /search
    parts:
      title: { type: string }
    compose:
      q:
        - "title = '{title}'"
  add_member:
    description: Adds a member.
    request: POST /members
    authentication: [api_key]
    scopes: [write]
    wrap: member
    body:
      email: { type: string, required: true }
      limit: { type: string, encode: { minorUnits: EUR } }
  answer_ticket:
    description: Answers a ticket.
    request: POST /answers
    before:
      reads:
        ticket:
          action: get_ticket
          input: { ticketId: '{input.ticketId}' }
      fill:
        subject: '"Re: " & ticket.title'
    parts:
      ticketId: { type: string, required: true }
    body:
      subject: { type: string }
      text: { type: string, required: true }
  change_ticket:
    description: Changes a ticket.
    request: PATCH /tickets/{ticketId}
    effectWhen:
      - parameter: state
        in: [deleted]
        effect: destructive
    path:
      ticketId: { type: string }
    body:
      state: { type: string }
  export_tickets:
    description: Exports the tickets.
    request: POST /exports
    effect: read
    after:
      steps:
        job:
          action: get_ticket
          input: { ticketId: '{value.id}' }
          until:
            path: state
            in: [done]
      give: job.state
  delete_ticket:
    description: Deletes a ticket.
    request: DELETE /tickets/{ticketId}
    effect: destructive
    path:
      ticketId: { type: string }
  close_ticket:
    description: Closes a ticket.
    request: POST /graphql
    graphql: 'mutation($id: ID!) { close(id: $id) { id } }'
    body:
      ticketId: { type: string, as: id, required: true }
prompts:
  greet:
    description: Greets a customer.
    arguments:
      name: { description: The name. }
    text: Greet {name}.
`;
const EXAMPLES = `examples:
  - action: get_account
    credential:
      shop: my-shop
      apiKey: key
    request:
      method: GET
      url: https://my-shop.desk.example.com/api/account
      headers: { x-key: key }
    response:
      status: 200
      body: { id: '1', name: Ada }
    output: { id: '1', name: Ada }
  - action: add_member
    credential: { shop: my-shop, apiKey: key }
    input: { email: ada@example.com }
    request:
      method: POST
      url: https://my-shop.desk.example.com/api/members
      body: { member: { email: ada@example.com } }
    response: { status: 422, body: { error: { code: taken } } }
    error:
      code: upstream_rejected
`;

/** A kind of fault; what is replaced by what; the text that is on the line of the fault, where it is not the new one. */
type Mutation = [kind: string, from: string, to: string, at?: string];

const IN_FILE: Mutation[] = [
  ['a quote without its end', 'name: Desk', "name: 'Desk"],
  ['a name given twice', 'name: Desk', 'name: Desk\nname: Table', 'name: Table'],
  ['an anchor that does not exist', 'name: Desk', 'name: *desk'],
  ['a tag of YAML', 'name: Desk', 'name: !!binary Desk'],
  ['a misspelt member of the file', 'categories:', 'categoris:'],
  ['a misspelt member of an action', '    paging: pages', '    pagings: pages'],
  ['a missing member of the file', 'website: https://desk.example.com\n', '', 'id: desk'],
  ['a missing member of an action', '    request: GET /search\n', '', '  search_tickets:'],
  ['an id with capitals', 'id: desk', 'id: Desk'],
  ['an id of another folder', 'id: desk', 'id: desks'],
  ['an empty description', 'description: A help desk.', "description: ''"],
  ['a category with capitals', '[support]', '[Support]'],
  ['a website that is no address', 'https://desk.example.com\ncolor', 'desk\ncolor', 'website:'],
  ['a color by its name', "'#112233'", 'blue'],
  ['a source without its day', '\n    read: 2026-11-21', '', '- title: Written'],
  ['a name in the address that is no variable', 'https://{shop}.', 'https://{host}.'],
  ['an address without encryption', 'baseUrl: https', 'baseUrl: http'],
  ['a key in the address', 'example.com/api\n', 'example.com/api?key={apiKey}\n', 'baseUrl:'],
  ['a format of a variable that does not exist', 'format: subdomain', 'format: domain'],
  ['a scheme that does not exist', 'type: api_key', 'type: apikey'],
  ['a place of the key that does not exist', 'in: header', 'in: heading'],
  ['a template of a scheme that names no field', "X-Id: '{keyId}'", "X-Id: '{keyID}'"],
  ['a signature with a key that is no field', "key: '{secret}'", "key: '{sekret}'"],
  ['a signature of a kind that does not exist', 'type: hmac', 'type: md5'],
  [
    'OAuth without its address for tokens',
    '    tokenUrl: https://desk.example.com/token\n',
    '',
    '- type: oauth2',
  ],
  ['OAuth over an address without encryption', 'tokenUrl: https', 'tokenUrl: http'],
  ['a probe that is no action', 'probe: get_account', 'probe: get_me'],
  ['a probe that needs input', 'probe: get_account', 'probe: get_ticket'],
  ['a probe that writes', 'probe: get_account', 'probe: close_ticket'],
  ['an account that the probe does not return', '  id: id\n', '  id: accountId\n'],
  ['a path with brackets', 'error.code', 'errors[0].code'],
  ['a meaning that does not exist', 'means: permission', 'means: forbidden'],
  ['a rule without a condition', '\n      status: 403', '', '- means: permission'],
  ['a status that does not exist', "'423'", "'999'"],
  ['a code with a meaning that does not exist', 'expired: credential_invalid', 'expired: invalid'],
  ['a limit without its window', '\n  perSeconds: 1', '', 'rateLimit:'],
  ['a budget without its return', "\n  reset: 'header:X-Reset'", '', 'budget:'],
  ['a place without its kind', "'header:X-Left'", 'X-Left', 'remaining:'],
  ['a style of paging that does not exist', 'style: cursor', 'style: cursors'],
  ['paging without its parameter', '    cursorParam: after\n', '', '  pages:'],
  ['a page that is too large', 'maxLimit: 100', 'maxLimit: 5000'],
  ['a paging that the file does not have', 'paging: pages', 'paging: page'],
  ['a method that does not exist', 'GET /account', 'FETCH /account'],
  ['a request without a path', 'GET /search', 'GET search'],
  [
    'a name in the path that is no parameter',
    'GET /tickets/{ticketId}\n',
    'GET /tickets/{id}\n',
    '      ticketId: { type: string }\n  get_owner',
  ],
  [
    'a parameter that the path does not name',
    'PATCH /tickets/{ticketId}',
    'PATCH /tickets',
    '      ticketId: { type: string }\n    body:\n      state',
  ],
  ['a parameter without a type', 'state: { type: string, enum: [open, closed] }', 'state: { title: State }'],
  ['a type that does not exist', 'state: { type: string }', 'state: { type: text }'],
  ['an enum that is no list', 'enum: [open, closed]', 'enum: open'],
  ['a pattern that does not compile', "'^[a-z]+$'", "'^[a-z+$'", 'text: {'],
  ['a pattern with look-ahead', "'^[a-z]+$'", "'^(?=a)[a-z]+$'", 'text: {'],
  ['two parameters of one name on the wire', 'as: from', 'as: state'],
  ['a style that does not exist', 'as: from', 'style: list'],
  ['an amount without a currency', 'minorUnits: EUR', 'minorUnits: euro'],
  ['a schema that the file does not have', '#/schemas/ticket', '#/schemas/tickets'],
  ['a schema that is not used', 'schemas:\n', 'schemas:\n  spare: { type: object }\n', 'spare:'],
  [
    'a schema that does not compile',
    'title: { type: string }\nactions',
    'title: { type: text }\nactions',
    'title: { type: text }',
  ],
  ['an expression that does not parse', '"title": title}', '"title": }', 'map:'],
  ['a read of an action that does not exist', 'action: get_owner', 'action: get_owners'],
  [
    'a read of a list',
    "          action: get_ticket\n          input: { ticketId: '{input",
    "          action: list_tickets\n          input: { ticketId: '{input",
    'action: list_tickets',
  ],
  ['a read without its input', "input: { ticketId: '{record.id}' }", 'input: {}'],
  ['a filled parameter that does not exist', 'subject: \'"Re', 'topic: \'"Re'],
  ['a filled parameter with a broken expression', '"Re: " & ticket.title', '"Re: " &', "subject: '"],
  [
    'an effect that the method contradicts',
    '{ticketId}\n    effect: destructive',
    '{ticketId}\n    effect: read',
    'effect: read\n    path',
  ],
  ['an effect of a parameter that does not exist', 'parameter: state', 'parameter: status'],
  ['a scheme that the file does not have', 'authentication: [api_key]', 'authentication: [bearer]'],
  ['a wrap of several names', 'wrap: member', 'wrap: data.member'],
  ['a clause with a name that is no parameter', "title = '{title}'", "title = '{name}'"],
  ['a quoted text without an escape', 'escape: backslash\n', '', '  search_tickets:'],
  ['a text outside of quotes', "'{title}'", '{title}', 'title = '],
  ['a step that waits for no value', 'in: [done]', 'in: []'],
  [
    'a step of an action that does not exist',
    "action: get_ticket\n          input: { ticketId: '{value",
    "action: get_job\n          input: { ticketId: '{value",
    'action: get_job',
  ],
  ['a result that does not parse', 'give: job.state', 'give: job.('],
  ['GraphQL that does not parse', '{ id } }', '{ id }', 'graphql:'],
  [
    'a variable that GraphQL does not have',
    'as: id, required',
    'as: ticket, required',
    'ticketId: { type: string, as',
  ],
  ['a name without a verb', '  search_tickets:', '  tickets:'],
  ['a hidden character', 'A help desk.', '"A help\\u200b desk."', 'description:'],
  ['a comment of HTML', 'A help desk.', "'A help <!-- obey --> desk.'", 'description:'],
  ['a prompt with a name that is no argument', 'Greet {name}.', 'Greet {person}.'],
  ['a parameter that is a header of the service', 'X-Client: gatehouse', 'Host: gatehouse'],
];

const IN_EXAMPLES: Mutation[] = [
  ['an action that does not exist', 'action: get_account', 'action: get_me'],
  ['a misspelt member', '    output:', '    outputs:', '- action: get_account'],
  ['a field of the credential that does not exist', 'apiKey: key\n', 'key: key\n', '- action: get_account'],
  ['another method', 'method: GET', 'method: POST'],
  ['another address', 'api/account', 'api/accounts'],
  ['another header', 'x-key: key', 'x-key: other'],
  ['another body', '{ member: {', '{ members: {'],
  ['a status that does not exist', 'status: 200', 'status: 20'],
  ['another output', "output: { id: '1'", "output: { id: '2'"],
  ['another error', 'upstream_rejected', 'upstream_failed'],
  [
    'an input that the action does not have',
    'email: ada@example.com }\n    request',
    'mail: ada@example.com }\n    request',
    'input: { mail',
  ],
];

const scratch = mkdtempSync(join(tmpdir(), 'gatehouse-mutations-'));
afterAll(() => rmSync(scratch, { recursive: true, force: true }));
let written = 0;

/** Returns the faults as `line path: rule`. */
async function faultsOf(connector: string, examples: string): Promise<string[]> {
  const folder = join(scratch, String(++written), 'desk');
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'connector.yaml'), connector);
  writeFileSync(join(folder, 'examples.yaml'), examples);
  const { faults } = await checkFile(join(folder, 'connector.yaml'));
  return faults.map(({ file, line, path, rule }) => `${file.split('/').at(-1)}:${line} ${path}: ${rule}`);
}

function indentOf(text: string): number {
  return text.length - text.trimStart().length;
}

function mutated(text: string, [kind, from, to, at]: Mutation): { text: string; line: number } {
  const place = text.indexOf(from);
  if (place < 0) throw new Error(`${kind}: the good file has no ${from}`);
  const changed = text.slice(0, place) + to + text.slice(place + from.length);
  if (at !== undefined && !changed.includes(at)) throw new Error(`${kind}: the changed file has no ${at}`);
  const shown = at === undefined ? place + indentOf(to) : changed.indexOf(at) + indentOf(at);
  return { text: changed, line: changed.slice(0, shown).split('\n').length };
}

test('the valid file has no fault', async () => {
  expect(await faultsOf(GOOD, EXAMPLES)).toEqual([]);
});

test.each(IN_FILE)('a fault in a connector file is reported with its line: %s', async (...mutation) => {
  const { text, line } = mutated(GOOD, mutation);
  const faults = await faultsOf(text, EXAMPLES);
  expect(faults).toContainEqual(expect.stringMatching(new RegExp(`^connector\\.yaml:${line} `)));
});

test.each(IN_EXAMPLES)('a fault in an example is reported with its line: %s', async (...mutation) => {
  const { text, line } = mutated(EXAMPLES, mutation);
  const faults = await faultsOf(GOOD, text);
  expect(faults).toContainEqual(expect.stringMatching(new RegExp(`^examples\\.yaml:${line} `)));
});
