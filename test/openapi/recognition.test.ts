import { describe, expect, test } from 'vitest';
import { documentWith, imported, operation } from './documents.ts';

/** Parts of a document that become fields of the format: credentials, paging, effects, schemas, addresses. */
const RECORDS = { type: 'array', items: { type: 'object', properties: { id: { type: 'string' } } } };
const query = (name: string, type = 'string', more: object = {}) => ({
  name,
  in: 'query',
  schema: { type, ...more },
});

function actionOf(get: object, more: object = {}) {
  const { definition, report } = imported(documentWith({ '/x': { get } }, more));
  return { action: definition.actions['get_x'], definition, report };
}

describe('credentials', () => {
  const schemes = {
    key: { type: 'apiKey', in: 'header', name: 'X-Key' },
    app: { type: 'apiKey', in: 'query', name: 'app_id' },
    session: { type: 'apiKey', in: 'cookie', name: 'sid' },
    basic: { type: 'http', scheme: 'basic' },
    bearer: { type: 'http', scheme: 'bearer' },
    digest: { type: 'http', scheme: 'digest' },
    oidc: { type: 'openIdConnect', openIdConnectUrl: 'https://id.example/.well-known' },
    oauth: {
      type: 'oauth2',
      flows: {
        authorizationCode: {
          authorizationUrl: 'https://id.example/authorize',
          tokenUrl: 'https://id.example/token',
          refreshUrl: 'https://id.example/refresh',
          scopes: { read: '', write: '' },
        },
      },
    },
    implicit: { type: 'oauth2', flows: { implicit: { authorizationUrl: 'https://id.example/a' } } },
    clear: { type: 'oauth2', flows: { clientCredentials: { tokenUrl: 'http://id.example/token' } } },
  };
  const secured = (security: object[]) => {
    const { definition, report } = imported(
      documentWith({ '/x': { get: operation({ security }) } }, { components: { securitySchemes: schemes } }),
    );
    return { schemes: definition.authentication, action: definition.actions['get_x'], report };
  };

  test('each kind becomes a scheme of its type', () => {
    const { schemes: found, action } = secured([
      { key: [] },
      { basic: [] },
      { bearer: [] },
      { oauth: ['read'] },
    ]);
    expect(found).toMatchObject([
      { type: 'api_key', in: 'header', name: 'X-Key' },
      { type: 'basic' },
      { type: 'bearer' },
      {
        type: 'oauth2',
        tokenUrl: 'https://id.example/token',
        refreshUrl: 'https://id.example/refresh',
        scopes: ['read'],
      },
    ]);
    expect(action).toMatchObject({ scopes: ['read'] });
    expect(action?.authentication).toBeUndefined();
  });

  test('keys that are needed together are one scheme with two fields', () => {
    const { schemes: found } = secured([{ key: [], app: [] }]);
    expect(found).toMatchObject([
      {
        type: 'custom',
        fields: { key: { secret: true }, app: { secret: true } },
        apply: { headers: { 'X-Key': '{key}' }, query: { app_id: '{app}' } },
      },
    ]);
  });

  test('a key in a cookie, and a second key, are custom schemes', () => {
    expect(secured([{ session: [] }]).schemes).toMatchObject([
      { type: 'custom', apply: { headers: { Cookie: 'sid={session}' } } },
    ]);
    expect(secured([{ key: [] }, { app: [] }]).schemes).toMatchObject([
      { type: 'api_key' },
      { type: 'custom', apply: { query: { app_id: '{app}' } } },
    ]);
  });

  test('kinds without a flow that a service can run are tokens, and the report says so', () => {
    for (const [name, what] of [
      ['oidc', 'OpenID Connect is a token that a person enters'],
      ['implicit', 'OAuth by implicit is a token that a person enters'],
      ['clear', 'OAuth by clientCredentials is a token that a person enters'],
    ] as const) {
      const { schemes: found, report } = secured([{ [name]: [] }]);
      expect(found).toMatchObject([{ type: 'bearer' }]);
      expect(report.approximated.map((one) => one.what)).toContain(what);
    }
  });

  test('an operation whose credential no connector can hold is left out', () => {
    const { report } = imported(
      documentWith(
        {
          '/x': { get: operation({ security: [{ digest: [] }] }) },
          '/y': { get: operation({ security: [] }) },
        },
        { components: { securitySchemes: schemes } },
      ),
    );
    expect(report.leftOut).toEqual([
      { operation: 'GET /x', reason: 'it needs a credential of a kind that connectors do not have' },
    ]);
  });

  test('the caller does not give a parameter that the credential supplies', () => {
    const { action } = actionOf(
      operation({
        security: [{ app: [] }],
        parameters: [
          query('app_id'),
          {
            name: 'token',
            in: 'header',
            required: true,
            description: 'Authentication token.',
            schema: { type: 'string' },
          },
          query('name'),
        ],
      }),
      { components: { securitySchemes: schemes } },
    );
    expect([...Object.keys(action?.query ?? {}), ...Object.keys(action?.headers ?? {})]).toEqual(['name']);
  });
});

describe('paging', () => {
  const list = (parameters: object[], answer: object, headers?: object) =>
    actionOf({
      parameters,
      responses: { 200: { headers, content: { 'application/json': { schema: answer } } } },
    }).action;

  test.each<[title: string, parameters: object[], answer: object, paging: object]>([
    [
      'an offset with a size and a total',
      [query('skip', 'integer'), query('limit', 'integer', { maximum: 200 })],
      { type: 'object', properties: { items: RECORDS, total_count: { type: 'integer' } } },
      { style: 'offset', offsetParam: 'skip', limitParam: 'limit', maxLimit: 200, total: 'body:total_count' },
    ],
    [
      'page numbers from 0',
      [query('page', 'integer', { default: 0 }), query('per_page', 'integer')],
      RECORDS,
      { style: 'page', pageParam: 'page', limitParam: 'per_page', firstPage: 0 },
    ],
    [
      'a cursor inside of an object',
      [query('cursor'), query('limit', 'integer')],
      {
        type: 'object',
        properties: {
          members: RECORDS,
          response_metadata: { type: 'object', properties: { next_cursor: { type: 'string' } } },
        },
      },
      { style: 'cursor', cursorParam: 'cursor', next: 'body:response_metadata.next_cursor' },
    ],
    [
      'the id of the last record',
      [query('starting_after'), query('ending_before'), query('limit', 'integer')],
      { type: 'object', properties: { data: RECORDS, has_more: { type: 'boolean' } } },
      { style: 'keyset', cursorParam: 'starting_after', field: 'id', hasMore: 'body:has_more' },
    ],
  ])('paging by %s is recognised', (_, parameters, answer, paging) => {
    const action = list(parameters, answer);
    expect(action?.paging).toMatchObject(paging);
    expect(action?.query).toEqual({});
  });

  test('paging by a Link header is recognised', () => {
    const action = list([query('page', 'integer'), query('per_page', 'integer')], RECORDS, {
      Link: { schema: { type: 'string' } },
    });
    expect(action?.paging).toMatchObject({ style: 'link', next: 'header:Link', limitParam: 'per_page' });
  });

  test.each<[title: string, parameters: object[], answer: object]>([
    [
      'a cursor that no answer returns',
      [query('cursor')],
      { type: 'object', properties: { items: RECORDS } },
    ],
    [
      'a date called after',
      [query('after')],
      { type: 'object', properties: { items: RECORDS, next_cursor: { type: 'string' } } },
    ],
    ['an offset without a size', [query('offset', 'integer')], RECORDS],
    [
      'two lists',
      [query('page', 'integer'), query('limit', 'integer')],
      { type: 'object', properties: { a: RECORDS, b: RECORDS } },
    ],
    ['an answer that is no list', [query('page', 'integer'), query('limit', 'integer')], { type: 'object' }],
  ])('paging is not claimed for %s', (_, parameters, answer) => {
    const action = list(parameters, answer);
    expect(action?.paging).toBeUndefined();
    expect(Object.keys(action?.query ?? {})).toHaveLength(parameters.length);
  });
});

test('effects follow from methods, names raise them, and a search reads', () => {
  const { definition } = imported(
    documentWith({
      '/a': { get: operation(), post: operation(), delete: operation() },
      '/chat.delete': { post: operation({ operationId: 'chat_delete' }) },
      '/users/{id}/remove': { get: operation({ operationId: 'removeUser' }) },
      '/send': { get: operation({ operationId: 'sendMail' }) },
      '/a/search': { post: operation({ operationId: 'searchA', 'x-gatehouse-effect': 'write' }) },
      '/b/query': { post: operation({ operationId: 'queryB' }) },
      '/c': {
        get: operation({ 'x-gatehouse-effect': 'destructive' }),
        put: operation({ 'x-gatehouse-effect': 'read' }),
      },
    }),
  );
  const effects = Object.entries(definition.actions).map(([id, { effect }]) => [id, effect]);
  expect(Object.fromEntries(effects)).toEqual({
    get_a: undefined,
    post_a: undefined,
    delete_a: undefined,
    chat_delete: 'destructive',
    remove_user: 'destructive',
    send_mail: 'write',
    search_a: undefined,
    query_b: 'read',
    get_c: 'destructive',
    put_c: undefined,
  });
});

test('a discriminator names the value of each alternative', () => {
  const { definition } = imported(
    documentWith(
      {
        '/x': {
          post: operation({
            requestBody: {
              content: {
                'application/json': {
                  schema: {
                    oneOf: [{ $ref: '#/components/schemas/Cat' }, { $ref: '#/components/schemas/Dog' }],
                    discriminator: { propertyName: 'kind', mapping: { dog: '#/components/schemas/Dog' } },
                  },
                },
              },
            },
          }),
        },
      },
      {
        components: {
          schemas: {
            Cat: { type: 'object', properties: { kind: { type: 'string' }, lives: { type: 'integer' } } },
            Dog: { type: 'object', properties: { kind: { type: 'string' }, tricks: { type: 'integer' } } },
          },
        },
      },
    ),
  );
  expect(definition.actions['post_x']?.body['body']).toMatchObject({
    whole: true,
    oneOf: [
      { allOf: [{ $ref: '#/schemas/Cat' }], properties: { kind: { enum: ['Cat'] } }, required: ['kind'] },
      { allOf: [{ $ref: '#/schemas/Dog' }], properties: { kind: { enum: ['dog'] } } },
    ],
  });
});

describe('addresses', () => {
  const base = (servers: object[]) => imported(documentWith({ '/x': { get: operation() } }, { servers }));

  test('https is chosen, http becomes https, and a missing address is asked for', () => {
    expect(base([{ url: 'http://a.example' }, { url: 'https://b.example/' }]).definition.baseUrl).toBe(
      'https://b.example',
    );
    const clear = base([{ url: 'http://a.example/v1/' }]);
    expect(clear.definition.baseUrl).toBe('https://a.example/v1');
    expect(clear.report.approximated[0]?.what).toContain('https replaces http');
    expect(base([]).definition).toMatchObject({
      baseUrl: '{server}',
      variables: { server: { format: 'origin' } },
    });
    expect(base([{ url: 'javascript:alert(1)' }]).definition.baseUrl).toBe('{server}');
    expect(base([{ url: 'https://user:pw@a.example' }]).definition.baseUrl).toBe('{server}');
  });

  test('an operation keeps a server of its own', () => {
    const { action } = actionOf(operation({ servers: [{ url: 'https://upload.desk.example' }] }));
    expect(action?.baseUrl).toBe('https://upload.desk.example');
  });

  test('the words of failures and the header of repeated calls are found', () => {
    const failure = {
      type: 'object',
      properties: { error: { type: 'object', properties: { message: { type: 'string' } } } },
    };
    const { definition } = actionOf({
      parameters: [{ name: 'Idempotency-Key', in: 'header', schema: { type: 'string' } }],
      responses: { 400: { content: { 'application/json': { schema: failure } } } },
    });
    expect(definition).toMatchObject({
      idempotencyHeader: 'Idempotency-Key',
      errors: { message: ['error.message'] },
    });
  });
});
