import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { connectorText } from '../../src/author/connector-text.ts';
import { startFileApp, type FileApp } from '../support/file-app.ts';
import { documentWith, imported, operation } from './documents.ts';

/** Small documents of all versions, imported and called on a real socket. */
const PET = {
  type: 'object',
  required: ['id', 'name'],
  properties: {
    id: { type: 'integer', readOnly: true },
    name: { type: 'string' },
    owner: { $ref: '#/components/schemas/Owner' },
  },
};
const OPENAPI_3 = {
  openapi: '3.0.3',
  info: { title: 'App', version: '2' },
  servers: [{ url: '/api/v1/' }],
  security: [{ key: [] }],
  components: {
    securitySchemes: { key: { type: 'apiKey', in: 'header', name: 'X-Key' } },
    schemas: {
      Pet: PET,
      Owner: {
        type: 'object',
        properties: {
          name: { type: 'string' },
          pets: { type: 'array', items: { $ref: '#/components/schemas/Pet' } },
        },
      },
    },
  },
  paths: {
    '/pets': {
      get: operation(
        {
          operationId: 'listPets',
          summary: 'List pets',
          parameters: [
            { name: 'limit', in: 'query', schema: { type: 'integer', maximum: 2 } },
            { name: 'offset', in: 'query', schema: { type: 'integer' } },
            {
              name: 'tags',
              in: 'query',
              explode: false,
              schema: { type: 'array', items: { type: 'string' } },
            },
            { name: 'X-Trace-Id', in: 'header', schema: { type: 'string' } },
          ],
        },
        {
          type: 'object',
          properties: {
            pets: { type: 'array', items: { $ref: '#/components/schemas/Pet' } },
            total: { type: 'integer' },
          },
        },
      ),
      post: operation({
        operationId: 'createPet',
        description: 'Creates a pet.',
        requestBody: {
          required: true,
          content: { 'application/json': { schema: { $ref: '#/components/schemas/Pet' } } },
        },
      }),
      put: operation({
        operationId: 'replacePets',
        requestBody: {
          required: true,
          content: { 'application/json': { schema: { type: 'array', items: { type: 'string' } } } },
        },
      }),
    },
    '/pets/{pet-id}': {
      parameters: [{ name: 'pet-id', in: 'path', required: true, schema: { type: 'integer' } }],
      get: operation({ summary: 'Get a pet' }),
      delete: { operationId: 'deletePet', responses: { 204: {} } },
    },
    '/pets/search': {
      post: operation({
        operationId: 'searchPets',
        requestBody: {
          content: {
            'application/x-www-form-urlencoded': {
              schema: { type: 'object', properties: { words: { type: 'array', items: { type: 'string' } } } },
            },
          },
        },
      }),
    },
  },
};

describe('an imported document of OpenAPI 3.0', () => {
  let app: FileApp;
  beforeAll(async () => {
    const { written, include } = imported(OPENAPI_3, { id: 'app' });
    const files = { 'app/connector.yaml': connectorText(written, { document: 'app.json', include }) };
    app = await startFileApp('', { files });
    await app.connect({ server: app.origin, apiKey: 'secret-key' });
  });
  beforeEach(() => {
    app.seen.splice(0);
    app.answer = () => ({});
  });
  afterAll(() => app[Symbol.asyncDispose]());

  test('operations become actions with effects from their methods', async () => {
    const actions = await app.call('GET', '/connectors/app/actions');
    expect(actions.at('data')).toMatchObject([
      { actionId: 'list_pets', name: 'List pets', effect: 'read', list: true },
      { actionId: 'create_pet', effect: 'write', list: false },
      { actionId: 'replace_pets', effect: 'write' },
      { actionId: 'get_pets_by_pet_id', name: 'Get a pet', effect: 'read' },
      { actionId: 'delete_pet', effect: 'destructive' },
      { actionId: 'search_pets', effect: 'read' },
      { actionId: 'request', raw: true },
    ]);
  });

  test('a list walks the pages of the app', async () => {
    app.answer = ({ query }) => {
      const from = Number(query.get('offset'));
      const all = [1, 2, 3].map((id) => ({ id, name: `Pet ${id}` }));
      return { body: { pets: all.slice(from, from + Number(query.get('limit'))), total: 3 } };
    };
    const answer = await app.execute('list_pets', { limit: 3, tags: ['a', 'b'], X_Trace_Id: 't1' });
    expect(answer.at('data')).toMatchObject([{ id: 1 }, { id: 2 }, { id: 3 }]);
    expect(app.seen[0]?.path).toBe('/api/v1/pets');
    expect(app.seen[0]?.query.get('tags')).toBe('a,b');
    expect(app.seen[0]?.headers).toMatchObject({ 'x-key': 'secret-key', 'x-trace-id': 't1' });
  });

  test('a body has the members of its schema without those that the app sets', async () => {
    expect((await app.execute('create_pet', { id: 1, name: 'Rex' })).status).toBe(400);
    expect((await app.execute('create_pet', { name: 'Rex', owner: { name: 'Ada' } })).status).toBe(200);
    expect(app.seen.map(({ body }) => JSON.parse(body))).toEqual([{ name: 'Rex', owner: { name: 'Ada' } }]);
  });

  test('a list body, a form and a path parameter with a hyphen reach the app', async () => {
    await app.execute('replace_pets', { body: ['a', 'b'] });
    await app.execute('search_pets', { words: ['x y', 'z'] });
    await app.execute('get_pets_by_pet_id', { pet_id: 7 });
    expect(app.seen.map(({ method, target, body }) => [method, target, body])).toEqual([
      ['PUT', '/api/v1/pets', '["a","b"]'],
      ['POST', '/api/v1/pets/search', 'words=x+y&words=z'],
      ['GET', '/api/v1/pets/7', ''],
    ]);
  });

  test('schemas that contain each other lack what the app sets, at any depth', async () => {
    const action = await app.call('GET', '/connectors/app/actions/create_pet');
    expect(JSON.stringify(action.at('inputSchema'))).not.toContain('"id"');
    expect(JSON.stringify(action.at('inputSchema'))).toContain('#/$defs/Owner_input');
  });
});

test('Swagger 2.0 becomes the same kind of connector', () => {
  const { definition, report } = imported({
    swagger: '2.0',
    info: { title: 'Old API', version: '1' },
    host: 'old.example',
    basePath: '/v2/',
    schemes: ['http'],
    securityDefinitions: {
      basic: { type: 'basic' },
      login: {
        type: 'oauth2',
        flow: 'accessCode',
        authorizationUrl: 'https://old.example/a',
        tokenUrl: 'https://old.example/t',
        scopes: { 'notes:read': 'x' },
      },
    },
    security: [{ login: ['notes:read'] }, { basic: [] }],
    paths: {
      '/notes': {
        post: {
          operationId: 'addNote',
          consumes: ['multipart/form-data'],
          parameters: [
            { name: 'text', in: 'formData', type: 'string', required: true },
            { name: 'scan', in: 'formData', type: 'file' },
          ],
          responses: { 201: { schema: { $ref: '#/definitions/Note' } } },
        },
        get: {
          parameters: [
            {
              name: 'ids',
              in: 'query',
              type: 'array',
              items: { type: 'integer' },
              collectionFormat: 'pipes',
            },
          ],
          responses: { 200: { schema: { $ref: '#/definitions/Note' } } },
        },
      },
    },
    definitions: { Note: { type: 'object', properties: { text: { type: 'string', 'x-nullable': true } } } },
  });
  expect(definition).toMatchObject({
    id: 'old-api',
    baseUrl: 'https://old.example/v2',
    authentication: [
      { type: 'oauth2', scopes: ['notes:read'], tokenUrl: 'https://old.example/t' },
      { type: 'basic' },
    ],
    actions: {
      add_note: {
        bodyType: 'multipart',
        body: { text: { type: 'string', required: true }, scan: { type: 'string', format: 'binary' } },
      },
      get_notes: { query: { ids: { style: 'pipe' } }, scopes: ['notes:read'] },
    },
    schemas: { Note: { properties: { text: { type: ['string', 'null'] } } } },
  });
  expect(report.approximated).toEqual([]);
});

test('operations that send files are called with files of the user', async () => {
  const binary = { type: 'string', format: 'binary' };
  const put = (operationId: string, content: object) => ({
    put: operation({ operationId, requestBody: { required: true, content } }),
  });
  const document = {
    openapi: '3.1.0',
    info: { title: 'App', version: '1' },
    servers: [{ url: '/' }],
    security: [{ key: [] }],
    components: { securitySchemes: { key: { type: 'apiKey', in: 'header', name: 'X-Key' } } },
    paths: {
      '/raw': put('putRaw', { 'application/octet-stream': { schema: binary } }),
      '/image': put('putImage', { 'image/*': {} }),
      '/form': put('putForm', {
        'multipart/form-data': {
          schema: {
            type: 'object',
            required: ['file'],
            properties: {
              title: { type: 'string' },
              file: { ...binary, description: 'The scan.' },
              pages: { type: 'array', items: binary },
            },
          },
          encoding: { file: { contentType: 'image/png' } },
        },
      }),
    },
  };
  const { written, include, report } = imported(document, { id: 'app' });
  expect([report.operations, report.imported]).toEqual([3, 3]);
  const files = { 'app/connector.yaml': connectorText(written, { document: 'app.json', include }) };
  await using app = await startFileApp('', { files });
  await app.connect({ server: app.origin, apiKey: 'secret-key' });
  const fileId = await app.upload('content', { name: 'a.txt', type: 'text/plain' });
  expect((await app.execute('put_raw', { content: { fileId } })).status).toBe(200);
  expect((await app.execute('put_image', { content: { fileId } })).status).toBe(200);
  await app.execute('put_form', { title: 'T', file: { fileId }, pages: [{ fileId }, { base64: 'Yg==' }] });
  const [raw, image, form] = app.seen;
  expect([raw?.body, raw?.headers['content-type']]).toEqual(['content', 'application/octet-stream']);
  expect([image?.body, image?.headers['content-type']]).toEqual(['content', 'text/plain']);
  const heads = [
    ...(form?.body ?? '').matchAll(/^Content-Disposition: form-data; (.*)\r\n(Content-Type: .*)?/gm),
  ];
  expect(heads.map(([, name, type]) => [name, type])).toEqual([
    ['name="title"', undefined],
    ['name="file"; filename="a.txt"', 'Content-Type: image/png'],
    ['name="pages"; filename="a.txt"', 'Content-Type: text/plain'],
    ['name="pages"; filename="file"', 'Content-Type: application/octet-stream'],
  ]);
});

test('OpenAPI 3.1 in YAML keeps its types, constants and bounds', () => {
  const { definition } = imported(`openapi: 3.1.0
info: {title: New, version: 1}
servers: [{url: 'https://{region}.new.example/{version}', variables: {region: {default: eu, enum: [eu, us]}, version: {default: v1.2/beta}}}]
paths:
  /things:
    post:
      requestBody:
        content:
          application/merge-patch+json:
            schema:
              type: object
              properties:
                kind: {const: thing}
                size: {type: [integer, 'null'], exclusiveMinimum: 0}
      responses: {}
`);
  expect(definition).toMatchObject({
    baseUrl: 'https://{region}.new.example/v1.2/beta',
    variables: { region: { enum: ['eu', 'us'], default: 'eu' } },
    actions: {
      post_things: {
        fixed: { headers: { 'Content-Type': 'application/merge-patch+json' } },
        body: { kind: { const: 'thing' }, size: { type: ['integer', 'null'], exclusiveMinimum: 0 } },
      },
    },
  });
});

test('values of YAML without quotes are texts where a schema wants texts', () => {
  const { definition, report } = imported(`openapi: 3.0.3
info: {title: New, version: 1}
servers: [{url: https://new.example}]
paths:
  /things:
    get:
      parameters:
        - {name: version, in: query, required: true, schema: {type: string, enum: [1.0, 2, true], default: 1.0}}
        - {name: count, in: query, schema: {type: integer, enum: [1, 2]}}
      responses: {}
`);
  expect(definition.actions['get_things']?.query).toMatchObject({
    version: { enum: ['1.0', '2', 'true'], default: '1.0' },
    count: { enum: [1, 2] },
  });
  expect(report.approximated).toContainEqual({
    place: '#/paths/~1things/get/parameters/0/schema',
    what: expect.stringContaining('texts'),
  });
});

test.each<[string, object, object, string]>([
  ['numbers', { type: 'string', enum: [1, 2.5] }, { enum: ['1', '2.5'] }, 'type string now: 1, 2.5'],
  ['a constant', { type: 'string', const: 1 }, { const: '1' }, 'its const'],
  ['texts', { type: 'integer', enum: ['1', 2] }, { enum: [1, 2] }, 'type integer now: "1"'],
  ['truths', { type: 'boolean', enum: ['true'] }, { enum: [true] }, 'type boolean now: "true"'],
  ['a default', { type: 'integer', default: '5' }, { default: 5 }, 'its default has the type integer'],
  ['null', { type: 'string', nullable: true, enum: [1, null] }, { enum: ['1', null] }, 'type string'],
  ['parts', { type: 'string', allOf: [{ enum: [1] }] }, { allOf: [{ enum: ['1'] }] }, 'type string'],
  [
    'items',
    { type: 'array', items: { type: 'string', enum: [1] } },
    { items: { enum: ['1'] } },
    'type string',
  ],
  ['no value that fits', { type: 'integer', enum: ['a'] }, { type: 'integer' }, 'so it is not checked: "a"'],
  ['bounds', { type: 'integer', minimum: 3, maximum: 1 }, { type: 'integer' }, 'exclude each other'],
  ['rules of another value', { enum: ['ab'], type: 'string', maxLength: 1 }, { enum: ['ab'] }, 'other rules'],
])('a schema that no value fits is fixed, and the report has it: %s', (_, schema, fixed, what) => {
  const parameter = { name: 'q', in: 'query', schema };
  const { definition, report } = imported(
    documentWith({ '/x': { get: operation({ parameters: [parameter] }) } }),
  );
  const { description: _description, ...query } = definition.actions['get_x']?.query['q'] ?? {};
  expect(query).toMatchObject(fixed);
  expect('enum' in query).toBe('enum' in fixed);
  expect(query).not.toHaveProperty('maxLength');
  expect(report.approximated.map((one) => one.what).join()).toContain(what);
});

test('a port variable of the address has its default', () => {
  const servers = [
    {
      url: 'http://127.0.0.1:{port}/{base}',
      variables: { port: { default: '8080' }, base: { default: 'v1' } },
    },
  ];
  const { definition, report } = imported(documentWith({ '/x': { get: operation() } }, { servers }));
  expect(definition.baseUrl).toBe('http://127.0.0.1:8080/{base}');
  expect(report.approximated.map(({ what }) => what).join()).not.toContain('names no address');
});

test('a content in base64 of a JSON body is a file', () => {
  const schema = {
    type: 'object',
    properties: { content: { type: 'string', format: 'byte' }, name: { type: 'string' } },
  };
  const requestBody = { content: { 'application/json': { schema } } };
  const { definition } = imported(documentWith({ '/x': { post: operation({ requestBody }) } }));
  expect(definition.actions['post_x']?.body).toMatchObject({
    content: { type: 'string', format: 'binary' },
    name: { type: 'string' },
  });
});

test('tags, paths and methods choose operations', () => {
  const document = documentWith({
    '/users/{id}': { get: operation({ tags: ['Users'] }), delete: operation({ tags: ['Users'] }) },
    '/users/{id}/keys': { get: operation({ tags: ['Keys'] }) },
    '/reports': { get: operation() },
  });
  const chosen = (include: object) => Object.keys(imported(document, { include }).definition.actions);
  expect(chosen({ tags: ['users'] })).toEqual(['get_users_by_id', 'delete_users_by_id']);
  expect(chosen({ paths: ['/users/*'], methods: ['get'] })).toEqual([
    'get_users_by_id',
    'get_users_by_id_keys',
  ]);
  expect(imported(document, { include: { paths: ['/reports'] } }).report).toMatchObject({
    operations: 4,
    imported: 1,
    notChosen: 3,
  });
});

test('a second import keeps the ids of actions when operation ids change or collide', () => {
  const first = imported(documentWith({ '/a/{x}': { get: operation({ operationId: 'read' }) } }));
  expect(Object.keys(first.definition.actions)).toEqual(['read']);
  const second = imported(
    documentWith({
      '/new': { get: operation({ operationId: 'read' }) },
      '/a/{y}': { get: operation({ operationId: 'readOne' }) },
    }),
    { previous: () => ({ actions: first.definition.actions, include: {} }) },
  );
  const requests = Object.entries(second.definition.actions).map(([id, { request }]) => [id, request]);
  expect(requests).toEqual([
    [expect.stringMatching(/^read_[0-9a-f]{8}$/), 'GET /new'],
    ['read', 'GET /a/{y}'],
  ]);
});
