import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { createApiKey } from '../../src/identity/api-keys.ts';
import { faultsOfFile, lineOf, startFileApp, type FileApp } from '../support/file-app.ts';

const FILE = `baseUrl: '{origin}'
authentication: [{ type: bearer }]
actions:
  list_people:
    internal: true
    description: People.
    request: GET /people
    paging: { style: none }
    response: { data: people }
  get_person:
    description: A person.
    request: GET /people/{personId}
    path: { personId: { type: integer } }
  add_person:
    description: Adds a person.
    request: POST /people
    body: { name: { type: string, required: true }, mail: { type: string, format: email }, cities: { type: array, items: { type: string } } }
  change_person:
    internal: true
    description: Changes a person.
    request: PATCH /people/{personId}
    path: { personId: { type: integer } }
    body: { name: { type: string }, mail: { type: [string, 'null'] } }
unified:
  crm/contacts:
    list: list_people
    get: { action: get_person, param: personId }
    create:
      action: add_person
      members: [lastName, emails, addresses.city]
      required: [lastName]
      id: created.id
      map: '{"name": lastName, "mail": emails[0], "cities": addresses ? [addresses.city]}'
    update:
      action: change_person
      members: [lastName, emails]
      param: personId
      map: '{"name": lastName, "mail": emails = [] ? null : emails[0]}'
    remoteId: id
    map: '{"lastName": name, "emails": [mail[$ != null]], "addresses": [cities.{"city": $}]}'
  crm/deals:
    list: list_people
    get: { action: get_person, param: personId }
    remoteId: id
    map: '{"name": name}'
`;

let app: FileApp;
let connectionId: string;
/** The people of the app, by id. */
let people: Map<number, Record<string, unknown>>;

beforeAll(async () => {
  app = await startFileApp(FILE);
  connectionId = (await app.connect({ token: 'secret-token' })).text('credentialId');
});
afterAll(() => app[Symbol.asyncDispose]());

beforeEach(() => {
  people = new Map();
  app.seen.length = 0;
  app.answer = ({ method, path, body }) => {
    if (method === 'POST') {
      const person = { id: people.size + 7, ...JSON.parse(body) };
      people.set(person.id, person);
      return { status: 201, body: { created: { id: person.id } } };
    }
    const id = Number(path.split('/').at(-1));
    const person = people.get(id);
    if (!person) return { status: 404, body: { message: 'No such person.' } };
    if (method === 'PATCH') people.set(id, { ...person, ...JSON.parse(body) });
    return { body: people.get(id) };
  };
});

const at = (id = '', scope = 'crm/contacts') =>
  `/2023-03/one/${scope}${id === '' ? '' : `/${id}`}?connectionId=${connectionId}`;
const create = (body: object, headers = {}) => app.service.call('POST', at(), { body, headers });
const update = (id: string, body: object) => app.service.call('PATCH', at(id), { body });

test('a record is created from its unified form, and returned as the app stored it', async () => {
  const made = await create({
    lastName: 'Lovelace',
    emails: ['ada@example.com'],
    addresses: [{ city: 'London' }, { city: 'Paris' }],
  });
  expect(made.status).toBe(201);
  expect(made.body).toMatchObject({
    remoteId: '7',
    lastName: 'Lovelace',
    emails: ['ada@example.com'],
    firstName: null,
    raw: { id: 7, cities: ['London', 'Paris'] },
  });
  expect(made.at('addresses.1.city')).toBe('Paris');
  const read = await app.service.call('GET', at(made.text('id')));
  expect(read.body).toEqual(made.body);
});

test('internal actions serve a model, and callers cannot call them', async () => {
  app.answer = () => ({ body: { people: [{ id: 1, name: 'King' }] } });
  const page = await app.service.call('GET', at());
  expect([page.status, page.at('data.0.lastName')]).toEqual([200, 'King']);
  const called = await app.execute('list_people');
  expect([called.status, called.text('code')]).toEqual([404, 'action_not_found']);
});

test('an update changes the given members, and an empty list empties one', async () => {
  const made = await create({ lastName: 'Lovelace', emails: ['ada@example.com'] });
  const renamed = await update(made.text('id'), { lastName: 'King' });
  expect([renamed.status, renamed.at('lastName'), renamed.at('emails')]).toEqual([
    200,
    'King',
    ['ada@example.com'],
  ]);
  const emptied = await update(made.text('id'), { emails: [] });
  expect([emptied.at('lastName'), emptied.at('emails')]).toEqual(['King', []]);
  const sent = app.seen.filter(({ method }) => method === 'PATCH').map(({ body }) => JSON.parse(body));
  expect(sent).toEqual([{ name: 'King' }, { mail: null }]);
});

test.each([
  ['an unknown member', { lastName: 'L', surname: 'x' }, 'surname'],
  ['a member that the connector does not set', { lastName: 'L', jobTitle: 'x' }, 'jobTitle'],
  [
    'a part that the connector does not set',
    { lastName: 'L', addresses: [{ address1: 'x' }] },
    'addresses.address1',
  ],
  ['a value of the wrong type', { lastName: 7 }, 'lastName'],
  ['a required member that is absent', { emails: ['ada@example.com'] }, 'lastName'],
  ['a required member that is null', { lastName: null }, 'lastName'],
  ['an empty record', {}, ''],
  ['a list that the connector cannot empty', { lastName: 'L', addresses: [] }, 'addresses'],
])('a write with %s is refused, and the app is not called', async (_name, body, field) => {
  const answer = await create(body);
  expect([answer.status, answer.text('code')]).toEqual([400, 'invalid_request']);
  expect(answer.at('details.faults.0.field')).toBe(field);
  expect(app.seen).toEqual([]);
});

test('a value that the action does not accept is refused', async () => {
  const answer = await create({ lastName: 'L', emails: ['not an address'] });
  expect([answer.status, answer.text('code')]).toEqual([400, 'invalid_request']);
  expect(app.seen).toEqual([]);
});

test('a repeated Idempotency-Key creates one record', async () => {
  const headers = { 'idempotency-key': 'once' };
  const first = await create({ lastName: 'Once' }, headers);
  const again = await create({ lastName: 'Once' }, headers);
  expect([again.status, again.at('id')]).toEqual([201, first.at('id')]);
  expect(again.headers.get('idempotency-replayed')).toBe('true');
  expect(people.size).toBe(1);
  const other = await create({ lastName: 'Other' }, headers);
  expect([other.status, other.text('code')]).toEqual([409, 'idempotency_conflict']);
});

test('a written record that cannot be read is no error, and says so', async () => {
  const usual = app.answer;
  app.answer = (request) =>
    request.method === 'GET' ? { status: 500, body: { message: 'Try later.' } } : usual(request);
  const made = await create({ lastName: 'Lovelace' });
  expect(made.status).toBe(201);
  expect(made.text('incomplete')).toContain('The record was written but could not be read');
  expect(made.at('remoteId')).toBe('7');
  app.answer = usual;
  expect((await app.service.call('GET', at(made.text('id')))).at('lastName')).toBe('Lovelace');
});

test('an answer without the new id is an error that warns of a second record', async () => {
  app.answer = () => ({ status: 201, body: {} });
  const made = await create({ lastName: 'Lovelace' });
  expect([made.status, made.text('code')]).toEqual([502, 'upstream_failed']);
  expect(made.text('error')).toContain('Look for the record before you create it again');
});

test('a record of another connection, and one that is gone, are not found', async () => {
  const made = await create({ lastName: 'Lovelace' });
  people.clear();
  for (const id of [made.text('id'), 'contact_other_Nw', made.text('id').replace('contact', 'deal')]) {
    const answer = await update(id, { lastName: 'King' });
    expect([answer.status, answer.text('code')]).toEqual([404, 'record_not_found']);
  }
});

test('a model without writes says so', async () => {
  const answer = await app.service.call('POST', at('', 'crm/deals'), { body: { name: 'Tea' } });
  expect([answer.status, answer.text('code')]).toEqual([400, 'invalid_request']);
  expect(answer.text('error')).toContain('cannot create crm/deals of App');
});

test('a key without the right to write, and another user, are refused', async () => {
  const bearer = await createApiKey(app.service.context, {
    environment: 'development',
    scopes: ['unified:read'],
  });
  const answer = await app.service.call('POST', at(), { body: { lastName: 'L' }, bearer });
  expect([answer.status, answer.text('code')]).toEqual([403, 'forbidden']);
  const other = (await app.service.call('POST', '/users', { body: { username: 'eve' } })).text('userId');
  const theirs = await create({ lastName: 'L' }, { 'x-svc-userid': other });
  expect([theirs.status, theirs.text('code')]).toEqual([404, 'credential_not_found']);
  expect(app.seen).toEqual([]);
});

test('connectors check finds faults of writes with their line', async () => {
  const odd = FILE.replace('action: add_person', 'action: get_person')
    .replace('required: [lastName]', 'required: [firstName]')
    .replace('param: personId\n      map', 'param: id\n      map');
  expect((await faultsOfFile(odd)).sort()).toEqual(
    [
      `${lineOf(odd, 'action: get_person\n      members')} unified.crm/contacts.create.action: "get_person" only reads`,
      `${lineOf(odd, 'param: id\n')} unified.crm/contacts.update.param: "id" is no parameter of change_person; its parameters: personId, name, mail`,
      `${lineOf(odd, 'required: [firstName]')} unified.crm/contacts.create.required: "firstName" is not one of members`,
    ].sort(),
  );
});

test('connectors check plays examples of writes', async () => {
  const examples = (given: string, input: string) => ({
    'app/examples.yaml': `writes: [{ scope: crm/contacts, write: create, given: ${given}, input: ${input} }]\n`,
  });
  const good = examples('{ lastName: King, emails: [k@example.com] }', '{ name: King, mail: k@example.com }');
  const unused = FILE.replace('"mail": emails[0], "cities"', '"cities"');
  const told = async (file: string, files: Record<string, string>) =>
    (await faultsOfFile(file, files)).filter((fault) => fault.includes('writes'));
  expect(await told(FILE, good)).toEqual([]);
  expect(await told(FILE, examples('{ lastName: King }', '{ name: Queen }'))).toEqual([
    expect.stringContaining('input: should be {"name":"Queen"}, is {"name":"King"}'),
  ]);
  expect(
    await told(unused, examples('{ lastName: King, emails: [k@example.com] }', '{ name: King }')),
  ).toEqual([expect.stringContaining('given.emails: changes nothing in the input of the action')]);
  expect(
    await told(FILE, examples('{ lastName: King, emails: [none] }', '{ name: King, mail: none }')),
  ).toEqual([expect.stringContaining('input.mail')]);
});
