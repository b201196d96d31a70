import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { stringify } from 'yaml';
import { compareFile, type Compared } from '../../src/author/compare-file.ts';
import { compare } from '../../src/custom/build.ts';
import { compareWithDocument } from '../../src/openapi/compare/compare-document.ts';
import { MAX_FILE_BYTES } from '../../src/openapi/document-files.ts';
import { cliEnv, runCli } from '../support/cli.ts';
import { PATIENCE_MS } from '../support/until.ts';
import { documentWith, imported, operation } from './documents.ts';
import { DOCUMENTS, FOLDER, importedFrom, textOf } from './public-documents.ts';

/* `gatehouse connectors check --openapi`: a connector file next to the document of its app. */
const scratch = mkdtempSync(join(tmpdir(), 'gatehouse-compare-'));
afterAll(() => rmSync(scratch, { recursive: true, force: true }));
let folders = 0;

const CONNECTOR = `id: desk
name: Desk
description: A help desk.
categories: [support]
website: https://desk.example.com
sources: [{title: Written for the tests, read: 2026-11-21}]
baseUrl: https://{shop}.desk.example.com/api/v2
variables:
  shop: {title: Shop, format: subdomain}
authentication:
  - type: oauth2
    authorizeUrl: https://desk.example.com/authorize
    tokenUrl: https://desk.example.com/token
    scopes: [tickets.read, tickets.write]
errors: {message: [error]}
paging:
  pages: {style: offset, limitParam: limit, offsetParam: offset, maxLimit: 100}
actions:
  list_tickets:
    description: Tickets.
    request: GET /tickets
    query:
      state: {type: string, enum: [open, closed]}
    paging: pages
    response:
      data: tickets
      schema: {type: object, properties: {id: {type: string}, subject: {type: string}}}
  add_ticket:
    description: Adds a ticket.
    request: POST /tickets
    body:
      subject: {type: string, required: true}
      city: {type: string, as: requester.city}
  change_state:
    description: Changes the state of a ticket.
    request: PUT /tickets/{ticketId}/state/{state}
    path:
      ticketId: {type: string}
      state: {type: string, enum: [open, closed]}
`;

const TICKET = { type: 'object', properties: { id: { type: 'string' }, subject: { type: 'string' } } };
const STATE = { type: 'string', enum: ['open', 'closed'] };
const oauth = (...scopes: string[]) => ({ security: [{ oauth: scopes }] });
const within = (name: string, place: string, schema: object, more: object = {}) => ({
  name,
  in: place,
  schema,
  ...more,
});

const OAUTH = {
  type: 'oauth2',
  flows: {
    authorizationCode: {
      authorizationUrl: 'https://desk.example.com/authorize',
      tokenUrl: 'https://desk.example.com/token',
      scopes: { 'tickets.read': 'Reads.', 'tickets.write': 'Writes.' },
    },
  },
};

/** The document of the desk, which the connector above fits. */
const DOCUMENT = documentWith(
  {
    '/tickets': {
      get: operation(
        {
          ...oauth('tickets.read'),
          parameters: [
            within('state', 'query', STATE),
            within('limit', 'query', { type: 'integer', maximum: 100 }),
            within('offset', 'query', { type: 'integer' }),
          ],
        },
        { type: 'object', properties: { tickets: { type: 'array', items: TICKET } } },
      ),
      post: operation(
        {
          ...oauth('tickets.write'),
          requestBody: {
            content: {
              'application/json': {
                schema: {
                  type: 'object',
                  required: ['subject'],
                  properties: {
                    subject: { type: 'string' },
                    requester: { type: 'object', properties: { city: { type: 'string' } } },
                  },
                },
              },
            },
          },
        },
        TICKET,
      ),
    },
    '/tickets/{id}/state/{to}': {
      put: operation(
        { parameters: [within('id', 'path', { type: 'string' }), within('to', 'path', STATE)] },
        TICKET,
      ),
    },
  },
  {
    servers: [{ url: 'https://{shop}.desk.example.com/api/v2', variables: { shop: { default: 'demo' } } }],
    components: { securitySchemes: { oauth: OAUTH } },
  },
);

/** Writes the connector with one change and the document, and returns the arguments that compare them. */
function written(change: (file: string) => string, document: object | string): string[] {
  const folder = join(scratch, `case-${++folders}`, 'desk');
  mkdirSync(folder, { recursive: true });
  const changed = change(CONNECTOR);
  writeFileSync(join(folder, 'connector.yaml'), changed);
  const path = join(dirname(folder), 'api.json');
  writeFileSync(path, typeof document === 'string' ? document : JSON.stringify(document));
  return ['connectors', 'check', folder, '--openapi', path];
}

const replaced = (from: string, to: string) => (file: string) => {
  if (!file.includes(from)) throw new Error(`the file has no ${from}`);
  return file.replace(from, to);
};

/** Compares in this process, without a check of the connector. The command is run where its own work is the subject. */
async function compared(
  change: (file: string) => string = (file) => file,
  document: object | string = DOCUMENT,
): Promise<Compared> {
  const [, , folder = '', , path = ''] = written(change, document);
  return compareFile(join(folder, 'connector.yaml'), path, compare);
}

/** Runs the command, which compares in another process. */
async function commanded(change: (file: string) => string = (file) => file): Promise<object> {
  const { code, out, err } = await runCli([...written(change, DOCUMENT), '--json'], cliEnv(scratch));
  if (!out.startsWith('{')) throw new Error(err);
  return { ...JSON.parse(out), code };
}

/** Returns the differences of a change as `line path: rule`. */
async function differences(change: (file: string) => string, document?: object | string): Promise<string[]> {
  const found = await compared(change, document);
  return found.differences.map(({ line, path, rule }) => `${line} ${path}: ${rule}`);
}

/** Returns where the first line with a text is, counted from 1. */
const lineOf = (text: string) => CONNECTOR.split('\n').findIndex((line) => line.includes(text)) + 1;

test('a connector that fits its document has no difference', async () => {
  expect(await commanded()).toMatchObject({
    code: 0,
    ok: true,
    openapi: { compared: 3, differences: [], accepted: [], notCompared: [] },
  });
});

describe('a difference is named with its line', () => {
  test('a difference of a path is named with its line', async () => {
    const rule = 'the document has no POST /ticket. Did you mean "POST /tickets"?';
    expect(await commanded(replaced('POST /tickets', 'POST /ticket'))).toMatchObject({
      code: 1,
      ok: false,
      openapi: {
        compared: 2,
        differences: [{ line: lineOf('POST /tickets'), path: 'actions.add_ticket.request', rule }],
      },
    });
  });

  test('a difference of a method is named with its line', async () => {
    expect(await differences(replaced('PUT /tickets', 'PATCH /tickets'))).toEqual([
      expect.stringContaining('Did you mean "PUT /tickets/{id}/state/{to}"?'),
    ]);
  });

  test('a difference of a body member and a required one is named with its line', async () => {
    expect(
      await differences(replaced('subject: {type: string, required: true}', 'subjekt: {type: string}')),
    ).toEqual([
      `${lineOf('subject: {type: string, required')} actions.add_ticket.body.subjekt: the document has no "subjekt". Did you mean "subject"?`,
      `${lineOf('add_ticket')} actions.add_ticket: the document requires "subject", which is not sent`,
    ]);
  });

  test('a difference of a member inside of an object is named with its line', async () => {
    expect(await differences(replaced('requester.city', 'requester.town'))).toEqual([
      expect.stringContaining('body.city: the document has no "requester.town"'),
    ]);
  });

  test('a required member that callers may leave out is named with its line', async () => {
    expect(await differences(replaced(', required: true', ''))).toEqual([
      expect.stringContaining('body.subject: the document requires "subject", and callers may leave it out'),
    ]);
  });

  test('a difference of values of query and path is named with its line', async () => {
    const change = (file: string) => file.replaceAll('[open, closed]', '[open, clozed]');
    expect(await differences(change)).toEqual([
      expect.stringContaining(
        'query.state: the document has no value "clozed" for "state". Did you mean "closed"?',
      ),
      expect.stringContaining('path.state: the document has no value "clozed" for "state"'),
    ]);
  });

  test('a difference of the size of a page is named with its line', async () => {
    expect(await differences(replaced('maxLimit: 100', 'maxLimit: 200'))).toEqual([
      `${lineOf('maxLimit')} paging.pages.maxLimit: the document allows at most 100 for "limit" (list_tickets)`,
    ]);
  });

  test('a difference of the parameter of a page is named with its line', async () => {
    expect(await differences(replaced('offsetParam: offset', 'offsetParam: ofset'))).toEqual([
      `${lineOf('offsetParam')} paging.pages.offsetParam: the document has no "ofset". Did you mean "offset"? (list_tickets)`,
    ]);
  });

  test('a difference of a member of the answer is named with its line', async () => {
    expect(
      await differences(replaced('id: {type: string}, subject', 'id: {type: string}, subjects')),
    ).toEqual([
      expect.stringContaining(
        'response.schema.properties.subjects: the answer in the document has no "tickets.subjects"',
      ),
    ]);
  });

  test('a difference of a scope is named with its line', async () => {
    expect(await differences(replaced('[tickets.read, tickets.write]', '[tickets.read]'))).toEqual([
      expect.stringContaining('authentication.0.scopes: the document requires the scope tickets.write'),
    ]);
  });

  test('a missing header that the document requires is named with its line', async () => {
    const document = JSON.parse(JSON.stringify(DOCUMENT));
    document.paths['/tickets'].get.parameters.push(within('X-Desk-Team', 'header', {}, { required: true }));
    expect(await differences((file) => file, document)).toEqual([
      `${lineOf('list_tickets')} actions.list_tickets: the document requires "x-desk-team", which is not sent`,
    ]);
    expect(
      await differences(
        replaced(
          '    query:',
          '    headers: {teamId: {type: string, required: true, as: X-Desk-Team}}\n    query:',
        ),
        document,
      ),
    ).toEqual([]);
  });

  test('a deprecated operation is named with its line', async () => {
    const document = JSON.parse(JSON.stringify(DOCUMENT));
    document.paths['/tickets'].get.deprecated = true;
    expect(await differences((file) => file, document)).toEqual([
      expect.stringContaining('list_tickets.request: the document marks this operation as deprecated'),
    ]);
  });

  test('another base address is named with its line', async () => {
    expect(await differences(replaced('/api/v2', '/api/v1'))).toEqual([
      `${lineOf('baseUrl')} baseUrl: the document is about https://{shop}.desk.example.com/api/v2`,
    ]);
  });
});

describe('the prefix of paths is understood', () => {
  const paths = (prefix: string) =>
    Object.fromEntries(Object.entries(Object(DOCUMENT).paths).map(([path, item]) => [prefix + path, item]));

  test('a prefix of paths is understood where the document writes it into each path', async () => {
    const document = {
      ...DOCUMENT,
      servers: [{ url: 'https://demo.desk.example.com' }],
      paths: paths('/api/v2'),
    };
    expect(await compared((file) => file, document)).toMatchObject({ compared: 3, differences: [] });
  });

  test('a prefix of paths is understood where the server has a variable in its path', async () => {
    const servers = [
      { url: 'https://demo.desk.example.com/{base}/v2', variables: { base: { default: 'api' } } },
    ];
    expect(await compared((file) => file, { ...DOCUMENT, servers })).toMatchObject({ differences: [] });
  });

  test('a prefix of paths is understood where the connector has a part in its paths', async () => {
    const change = (file: string) => file.replace('/api/v2', '/api').replaceAll(/(GET|POST|PUT) /g, '$1 /v2');
    expect(await compared(change)).toMatchObject({ compared: 3, differences: [] });
  });
});

test.each([
  ['OpenAPI 3.1 in YAML', () => stringify({ ...DOCUMENT, openapi: '3.1.0' })],
  [
    'Swagger 2.0',
    () => {
      const { paths } = JSON.parse(JSON.stringify(DOCUMENT));
      const inlined = (one: { schema?: object }) => ({ ...one, ...one.schema, schema: undefined });
      for (const item of Object.values(paths).map(Object)) {
        for (const one of Object.values(item).map(Object)) {
          const body = one.requestBody?.content['application/json'].schema;
          one.parameters = (one.parameters ?? []).map(inlined);
          if (body) one.parameters.push({ name: 'body', in: 'body', schema: body });
          one.responses = { 200: { schema: one.responses[200].content['application/json'].schema } };
        }
      }
      const about = {
        info: { title: 'Desk', version: '1' },
        host: 'demo.desk.example.com',
        basePath: '/api/v2',
      };
      return JSON.stringify({ swagger: '2.0', ...about, paths });
    },
  ],
])('the document may be %s', async (_name, make) => {
  expect(await compared(undefined, make())).toMatchObject({
    compared: 3,
    differences: [],
    notCompared: [],
  });
  const found = await differences(replaced('POST /tickets', 'POST /ticket'), make());
  expect(found).toEqual([expect.stringContaining('the document has no POST /ticket')]);
});

describe('a comment in the file', () => {
  const wrong = 'city: {type: string, as: requester.town}';

  test('a comment in the file accepts the difference of its line', async () => {
    const change = replaced('city: {type: string, as: requester.city}', `${wrong} # openapi: new since June`);
    expect(await commanded(change)).toMatchObject({
      code: 0,
      openapi: { differences: [], accepted: [{ reason: 'new since June' }] },
    });
  });

  test('a comment in the file accepts the difference of the line below', async () => {
    const change = replaced(
      '      city: {type: string, as: requester.city}',
      `      # openapi: new since June\n      ${wrong}`,
    );
    expect(await compared(change)).toMatchObject({
      differences: [],
      accepted: [{ reason: 'new since June' }],
    });
  });

  test('a comment in the file that accepts nothing is reported', async () => {
    const change = replaced('as: requester.city}', 'as: requester.city} # openapi: new since June');
    expect(await differences(change)).toEqual([
      `${lineOf('requester.city')} : this comment accepts no difference: remove it`,
    ]);
  });
});

describe('parts that cannot be compared are named', () => {
  test('GraphQL, a computed body and an answer without members are named as not compared', async () => {
    const document = JSON.parse(JSON.stringify(DOCUMENT));
    document.paths['/tickets'].get.responses = { 200: { description: 'Tickets.' } };
    const change = (file: string) =>
      file
        .replace(
          '    request: PUT /tickets/{ticketId}/state/{state}',
          "    request: POST /graphql\n    graphql: '{ id }'",
        )
        .replace(/ {4}path:\n.*\n.*\n/, '')
        .replace('    body:\n', '    bodyMap: \'{"subject": input.subject}\'\n    body:\n');
    const found = await compared(change, document);
    expect(found.notCompared.map(({ path, rule }) => `${path}: ${rule}`)).toEqual([
      'actions.list_tickets.response: the document does not describe the members of the answer',
      'actions.add_ticket.bodyMap: the body is computed at each call',
      'actions.change_state.request: a GraphQL document is not part of OpenAPI',
    ]);
    expect(found.differences).toEqual([]);
  });

  test('an operation with a broken reference is named as not compared', async () => {
    const document = JSON.parse(JSON.stringify(DOCUMENT));
    document.paths['/tickets'].get.parameters.push({ $ref: '#/components/parameters/gone' });
    const found = await compared(undefined, document);
    expect(found.notCompared).toEqual([
      expect.objectContaining({ rule: expect.stringContaining('leads nowhere') }),
    ]);
    expect(found.compared).toBe(2);
  });
});

test('a comparison without --json prints the differences and what was compared', async () => {
  const done = await runCli(written(replaced('POST /tickets', 'POST /ticket'), DOCUMENT), cliEnv(scratch));
  expect(done.code).toBe(1);
  expect(done.err).toMatch(
    /desk\/connector\.yaml:\d+: actions\.add_ticket\.request: the document has no POST \/ticket/,
  );
  expect(done.out).toContain('2 actions compared with Desk 1; differences: 1');
});

test('a connector whose example fails is compared, and one that cannot be read is not', async () => {
  const args = written(replaced('POST /tickets', 'POST /ticket'), DOCUMENT);
  writeFileSync(join(args[2] ?? '', 'examples.yaml'), 'examples: [{action: gone}]\n');
  const failing = await runCli([...args, '--json'], cliEnv(scratch));
  expect(JSON.parse(failing.out)).toMatchObject({
    ok: false,
    faults: expect.arrayContaining([expect.objectContaining({ path: expect.stringContaining('examples') })]),
    openapi: { compared: 2, differences: [{ path: 'actions.add_ticket.request' }] },
  });
  const broken = written(replaced('actions:', 'acts:'), DOCUMENT);
  const unread = await runCli([...broken, '--json'], cliEnv(scratch));
  expect(unread.code).toBe(1);
  expect(JSON.parse(unread.out)).not.toHaveProperty('openapi');
});

test('the id of a connector in the folder names its file', async () => {
  const [, , folder = '', , document = ''] = written((file) => file, DOCUMENT);
  const env = cliEnv(scratch, { GATEHOUSE_CONNECTORS: dirname(folder) });
  const done = await runCli(['connectors', 'check', 'desk', '--openapi', document, '--json'], env);
  expect(JSON.parse(done.out)).toMatchObject({ ok: true, connectorId: 'desk', openapi: { compared: 3 } });
});

test.each([
  ['that does not exist', undefined, 'Cannot read'],
  ['that is no OpenAPI document', '{"a": 1}', 'must be an OpenAPI document'],
  ['that is no JSON', '{"openapi": ', 'is not valid JSON'],
  [
    'that refers to an address',
    '{"openapi": "3.0.0", "paths": {"/a": {"$ref": "https://a.example/b"}}}',
    'is not followed',
  ],
])('a document %s is refused', async (_name, text, reason) => {
  const args = written((file) => file, text ?? '{}');
  if (text === undefined) rmSync(args.at(-1) ?? '');
  const done = await runCli(args, cliEnv(scratch));
  expect(done).toMatchObject({ code: 1, err: expect.stringContaining(reason) });
});

test(
  'a document of 5,000 operations with a schema inside of itself is compared',
  async () => {
    const node = { $ref: '#/components/schemas/node' };
    const paths = Object.fromEntries(
      Array.from({ length: 5000 }, (_, index) => [`/things${index}`, { get: operation({}, node) }]),
    );
    const schemas = {
      node: { anyOf: [node, { properties: { next: node } }], allOf: [node, node], items: node },
    };
    const document = { ...DOCUMENT, paths: { ...paths, ...Object(DOCUMENT).paths }, components: { schemas } };
    const change = replaced('GET /tickets', 'GET /things7');
    const done = await runCli([...written(change, document), '--json'], cliEnv(scratch));
    expect(JSON.parse(done.out)).toMatchObject({ openapi: { compared: 3 } });
  },
  PATIENCE_MS,
);

describe('an imported connector fits its own document', () => {
  test('an imported connector fits its own document, written for the tests', () => {
    const { definition } = imported(DOCUMENT);
    const options = { text: JSON.stringify(DOCUMENT), maxBytes: MAX_FILE_BYTES, readFile: undefined };
    expect(compareWithDocument(definition, options)).toMatchObject({ compared: 3, differences: [] });
  });

  // A document of webhooks alone cannot be imported, and an import does not read limits of pages from descriptions.
  const imports = DOCUMENTS.filter((name) => !name.includes('webhook'));
  const isKnown = /deprecated|allows at most/;

  test.skipIf(imports.length === 0).each(imports)(
    'an imported connector fits its own document of %s',
    (document) => {
      const { definition } = importedFrom(document);
      const folder = dirname(join(FOLDER, document));
      const options = {
        text: textOf(document),
        maxBytes: MAX_FILE_BYTES,
        readFile: (path: string) => readFileSync(join(folder, path), 'utf8'),
      };
      const { differences } = compareWithDocument(definition, options);
      expect(differences.filter(({ rule }) => !isKnown.test(rule)).slice(0, 20)).toEqual([]);
    },
    PATIENCE_MS,
  );
});
