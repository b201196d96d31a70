import { buildSchema } from 'graphql';
import { describe, expect, test } from 'vitest';
import { factsOf } from '../../src/openapi/compare/facts.ts';
import { createFlatSchemas } from '../../src/openapi/compare/flat-schema.ts';
import type { Members } from '../../src/openapi/compare/document-members.ts';
import { openDocuments } from '../../src/openapi/documents.ts';
import { methodsOf, readOperation } from '../../src/openapi/operation.ts';
import { fromCsdl } from './vendors/read/csdl.ts';
import { fromDiscovery } from './vendors/read/discovery.ts';
import { reducedSchema } from './vendors/read/graphql.ts';
import { fromMarkdown } from './vendors/read/markdown.ts';
import { fromStone } from './vendors/read/stone.ts';
import { fromXsd } from './vendors/read/xsd.ts';

/* Each form in which vendors publish their documents gives the same facts. */

/** Returns the facts of one operation, with the members of `item` in the body and of `items` in the answer. */
function facts(doc: Members, method: string, path: string) {
  const documents = openDocuments(JSON.stringify(doc), 1_000_000, undefined);
  const place = methodsOf(documents).find((one) => one.path === path && one.method === method.toUpperCase());
  if (!place) throw new Error(`the document has no ${method} ${path}`);
  const wanted = {
    query: {},
    body: { item: { id: {} } },
    answer: { items: { id: {} } },
    limits: new Set(['limit']),
    scopes: 'each' as const,
  };
  const {
    headers: _headers,
    path: _path,
    ...facts
  } = factsOf({ documents, schemas: createFlatSchemas(documents) }, readOperation(documents, place), wanted);
  return facts;
}

describe('a document gives facts of an operation', () => {
  test('an OpenAPI document gives the largest page from the description', () => {
    const schema = {
      type: 'object',
      properties: { items: { type: 'array', items: { properties: { id: {} } } } },
    };
    const get = {
      deprecated: true,
      parameters: [
        {
          name: 'limit',
          in: 'query',
          required: true,
          description: 'Page size (max 1,000).',
          schema: { type: 'integer' },
        },
      ],
      responses: { 200: { content: { 'application/json': { schema } } } },
      security: [{ oauth: ['read', 'admin'] }],
    };
    expect(facts({ paths: { '/things': { get } } }, 'get', '/things')).toEqual({
      deprecated: true,
      query: { limit: { required: true, max: 1000 } },
      scopes: [['read'], ['admin']],
      answer: { of: { items: { of: { id: {} } } } },
    });
  });

  test('an OpenAPI document gives a member that all alternatives of a body require', () => {
    const one = { properties: { kind: { enum: ['a'] }, size: {} }, required: ['kind', 'size'] };
    const other = { properties: { kind: { enum: ['b'] } }, required: ['kind'] };
    const post = { requestBody: { content: { 'application/json': { schema: { oneOf: [one, other] } } } } };
    expect(facts({ paths: { '/things': { post } } }, 'post', '/things').body).toEqual({
      of: { kind: { required: true, enum: ['a', 'b'] }, size: {} },
    });
  });

  test('a document of Google discovery gives the facts of an operation', () => {
    const doc = fromDiscovery({
      servicePath: 'v1/',
      schemas: {
        Thing: {
          properties: {
            name: { type: 'string', annotations: { required: ['things.insert'] } },
            item: { $ref: 'Thing' },
          },
        },
      },
      resources: {
        things: {
          methods: {
            insert: {
              id: 'things.insert',
              path: 'things/{id}',
              flatPath: 'things/{id}',
              httpMethod: 'POST',
              scopes: ['all'],
              parameters: { limit: { location: 'query', type: 'integer', maximum: '50' } },
              request: { $ref: 'Thing' },
              response: { $ref: 'Thing' },
            },
          },
        },
      },
    });
    expect(facts(doc, 'post', '/v1/things/{id}')).toEqual({
      query: { limit: { max: 50 } },
      body: { of: { name: { required: true }, item: { of: { name: {}, item: {} } } } },
      scopes: [['all']],
      answer: { of: { name: {}, item: {} } },
    });
  });

  test('a Stone document gives fields of a parent, defaults and a union', () => {
    const doc = fromStone([
      [
        'namespace files',
        '',
        'route move:2 (MoveArg, Result, Void)',
        '    "Moves it."',
        '    attrs',
        '        scope = "files.write"',
        '',
        'struct Base',
        '    path String',
        '        "Where it is."',
        '',
        'struct MoveArg extends Base',
        '    item Mode = add',
        '    limit UInt32(max_value=100)?',
        '',
        'union Mode',
        '    add',
        '    update Base',
        '',
        'struct Result',
        '    items List(Base)',
        '',
      ].join('\n'),
    ]);
    expect(facts(doc, 'post', '/files/move_v2')).toEqual({
      query: {},
      body: {
        of: {
          item: {
            enum: ['add', 'update'],
            of: { '.tag': { enum: ['add', 'update'] }, add: {}, update: {}, path: {} },
          },
          limit: { max: 100 },
          path: { required: true },
        },
      },
      scopes: [['files.write']],
      answer: { of: { items: { of: { path: {} } } } },
    });
  });

  test('a CSDL document gives members of a base type and an action', () => {
    const doc = fromCsdl(
      `<EntityType Name="thing"><Property Name="id" Type="Edm.String" /></EntityType>
      <EntityType Name="user" BaseType="graph.thing"><NavigationProperty Name="things" Type="Collection(graph.thing)" /></EntityType>
      <Action Name="send" IsBound="true"><Parameter Name="bindingParameter" Type="graph.thing" /><Parameter Name="Item" Type="graph.thing" Nullable="false" /></Action>
      <Singleton Name="me" Type="microsoft.graph.user">`,
      ['GET /me/things', 'POST /me/things/{}/send'],
    );
    expect(facts(doc, 'get', '/me/things').answer?.of).toHaveProperty('value');
    expect(facts(doc, 'post', '/me/things/{}/send').body).toEqual({
      of: { item: { required: true, of: { id: {}, '@odata.type': {} } } },
    });
  });

  test('an XML Schema document gives the members below the answer to a query', () => {
    const type =
      '<xs:complexType name="Bill"><xs:sequence><xs:element name="Id" type="xs:string"/><xs:element name="item" type="Ref"/></xs:sequence></xs:complexType>';
    const ref =
      '<xs:complexType name="Ref"><xs:simpleContent><xs:attribute name="name"/></xs:simpleContent></xs:complexType>';
    const doc = fromXsd([type + ref], ['POST /bill', 'GET /query']);
    expect(facts(doc, 'post', '/bill').body).toEqual({
      of: { Id: {}, item: { of: { name: {}, value: {} } } },
    });
    expect(facts(doc, 'get', '/query').answer?.of).toHaveProperty('QueryResponse');
  });

  test('a Markdown document gives no read-only members of a body', () => {
    const doc = fromMarkdown([
      [
        '## Thing properties ##',
        '',
        '| Attribute | Type | Description |',
        '|---|---|---|',
        '| `id` | integer | Id. <i class="label label-info">read-only</i> |',
        '| `state` | string | Options: `on` and `off`. <i class="label label-info">mandatory</i> |',
        '',
        '## Create a thing ##',
        '',
        '### HTTP request ###',
        '',
        '<i class="label label-post">POST</i>',
        '<h6>/things/&lt;id&gt;</h6>',
        '',
      ].join('\n'),
    ]);
    expect(facts(doc, 'post', '/things/{}')).toEqual({
      query: {},
      body: { of: { state: { required: true, enum: ['on', 'off'] } } },
      answer: { of: { id: {}, state: {} } },
    });
  });

  test('a GraphQL schema is reduced to the part that documents use', () => {
    const schema = buildSchema(`
      "Says much." type Query { thing(id: ID!, old: Int): Thing other: Int }
      type Thing { id: ID! size: Size! secret: String }
      enum Size { BIG SMALL }
    `);
    expect(reducedSchema(schema, [{ document: '{ thing(id: 1) { size } }', sent: {} }])).toEqual([
      'schema { query: Query }',
      'enum Size { BIG SMALL }',
      'type Query { unread: Boolean thing(id: ID!): Thing }',
      'type Thing { unread: Boolean size: Size! }',
    ]);
  });
});
