import Ajv2020 from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { z } from 'zod';
import { startService, type Service } from '../support/service.ts';

/* Reads the OpenAPI document as a client generator does: over HTTP, as JSON. */

const schemaObject = z.looseObject({});
const content = z.record(
  z.string(),
  z.looseObject({ schema: schemaObject, example: z.unknown().optional() }),
);
const operationShape = z.looseObject({
  operationId: z.string(),
  summary: z.string(),
  security: z.array(z.unknown()),
  parameters: z.array(
    z.looseObject({
      name: z.string(),
      in: z.string(),
      description: z.string().optional(),
      schema: schemaObject,
    }),
  ),
  requestBody: z.looseObject({ content }).optional(),
  responses: z.record(z.string(), z.looseObject({ content: content.optional() })),
});
const documentShape = z.looseObject({
  openapi: z.string(),
  paths: z.record(z.string(), z.record(z.string(), operationShape)),
  components: z.looseObject({ schemas: z.record(z.string(), schemaObject) }),
});
type Operation = z.infer<typeof operationShape>;

let service: Service;
let document: z.infer<typeof documentShape>;
let operations: { method: string; path: string; operation: Operation }[];
beforeAll(async () => {
  service = await startService();
  document = documentShape.parse((await service.call('GET', '/openapi.json', { bearer: null })).body);
  operations = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ method: method.toUpperCase(), path, operation })),
  );
});
afterAll(() => service.stop());

/** Returns every schema object below a value, with its place. Examples and defaults are data. */
function schemasIn(value: unknown, at: string): { at: string; schema: Record<string, unknown> }[] {
  if (Array.isArray(value)) return value.flatMap((one, index) => schemasIn(one, `${at}.${index}`));
  const object = schemaObject.safeParse(value);
  if (!object.success) return [];
  const data = new Set(['example', 'examples', 'default', 'const', 'enum']);
  return [
    { at, schema: object.data },
    ...Object.entries(object.data).flatMap(([name, member]) =>
      data.has(name) && !at.endsWith('.properties') ? [] : schemasIn(member, `${at}.${name}`),
    ),
  ];
}

const everywhere = () => [
  ...schemasIn(document.components.schemas, 'components'),
  ...operations.flatMap(({ operation }) => schemasIn(operation, operation.operationId)),
];

/** Returns the fields of every schema with their places and descriptions. */
const fields = () =>
  everywhere()
    .filter(({ at }) => at.endsWith('.properties'))
    .flatMap(({ at, schema }) =>
      Object.entries(schema).map(([name, member]) => ({
        at: `${at}.${name}`,
        schema: schemaObject.parse(member),
      })),
    );

const MODELS = [
  'Action', 'AuditEntry', 'Connector', 'Credential', 'Customer', 'Delivery', 'Error', 'Execution', 'FieldMapping',
  'Installation', 'OAuthApp', 'Order', 'Pagination', 'Product', 'Restrictions', 'Run', 'Server', 'Settings',
  'Subscription', 'User', 'Workflow', 'WorkflowDefinition', 'WorkflowVersion',
]; // prettier-ignore

test('every reference names a model of the document', () => {
  const refs = everywhere().flatMap(({ at, schema: { $ref } }) =>
    typeof $ref === 'string' && !at.endsWith('.properties') ? [$ref] : [],
  );
  const known = new Set(
    Object.keys(document.components.schemas).map((name) => `#/components/schemas/${name}`),
  );
  expect(refs.filter((one) => !known.has(one))).toEqual([]);
  expect(refs.length).toBeGreaterThan(300);
});

test('the models of the API have names', () => {
  expect(Object.keys(document.components.schemas)).toEqual(expect.arrayContaining(MODELS));
  const answer = (path: string) => document.paths[path]?.['get']?.responses['200']?.content;
  expect(answer('/api/servers/{serverId}')?.['application/json']?.schema).toEqual({
    $ref: '#/components/schemas/Server',
  });
});

test('every field, parameter, model and tag has a description', () => {
  const silent = [
    ...fields()
      .filter(({ schema }) => typeof schema['description'] !== 'string')
      .map(({ at }) => at),
    ...operations.flatMap(({ operation }) =>
      operation.parameters
        .filter(({ description }) => !description)
        .map(({ name }) => `${operation.operationId} parameter ${name}`),
    ),
    ...Object.entries(document.components.schemas)
      .filter(([, schema]) => typeof schema['description'] !== 'string')
      .map(([name]) => name),
  ];
  // Describe the fields listed here in data/api-fields.yaml.
  expect(silent).toEqual([]);
  expect(fields().length).toBeGreaterThan(700);
});

test('descriptions are plain English', () => {
  const texts = everywhere().flatMap(({ at, schema: { description, summary } }) =>
    at.endsWith('.properties') ? [] : [description, summary].filter((text) => typeof text === 'string'),
  );
  const sentences = [...new Set(texts)].flatMap((text) =>
    text.replaceAll(/`[^`]*`/g, 'x').split(/(?<=[.!?;:])\s+/),
  );
  const riddles = sentences.filter(
    (sentence) =>
      /^(Who|Whoever|Whose|What|Of|One that|Those|For)\b/.test(sentence) ||
      /\b(anew|meanwhile|beside|by itself|nobody|somebody|anybody|whom|is told|hears? of)\b/i.test(sentence),
  );
  expect(riddles).toEqual([]);
  expect(sentences.filter((sentence) => sentence.split(/\s+/).length > 23)).toEqual([]);
});

test('objects without fixed members are open', () => {
  const free = everywhere().filter(
    ({ at, schema }) =>
      !at.endsWith('.properties') &&
      schema['type'] === 'object' &&
      !['properties', 'anyOf', 'oneOf', 'allOf', '$ref'].some((keyword) => keyword in schema),
  );
  expect(free.filter(({ schema }) => !schema['additionalProperties']).map(({ at }) => at)).toEqual([]);
  expect(free.length).toBeGreaterThan(50);
});

/** Returns a function that judges values by a schema of the document. */
function judge() {
  const ajv = addFormats.default(new Ajv2020.default({ strict: false, allErrors: true }));
  ajv.addSchema({ $id: 'gatehouse', components: document.components });
  return (schema: unknown, value: unknown): string | undefined => {
    const text = JSON.stringify(schema).replaceAll('"#/components', '"gatehouse#/components');
    const validate = ajv.compile(JSON.parse(text));
    return validate(value) ? undefined : ajv.errorsText(validate.errors);
  };
}

test('every example of a field fits its schema', () => {
  const faultOf = judge();
  const examples = fields().flatMap(({ at, schema }) =>
    z
      .array(z.unknown())
      .default([])
      .parse(schema['examples'])
      .map((example) => ({ at, example, fault: faultOf(schema, example) })),
  );
  expect(examples.filter(({ fault }) => fault !== undefined)).toEqual([]);
  expect(examples.length).toBeGreaterThan(500);
});

test('every operation has examples of body and answer that fit their schemas', () => {
  const faultOf = judge();
  const faults = operations.flatMap(({ operation }) => {
    const answers = Object.entries(operation.responses).filter(([status]) => /^[23]/.test(status));
    const shown = [operation.requestBody, ...answers.map(([, answer]) => answer)].flatMap((one) =>
      Object.entries(one?.content ?? {}),
    );
    expect(answers.length).toBeGreaterThan(0);
    return shown.flatMap(([type, { schema, example }]) => {
      if (type === 'text/event-stream') return [];
      if (example === undefined) return [`${operation.operationId} has no example of ${type}`];
      const fault = faultOf(schema, example);
      return fault === undefined ? [] : [`${operation.operationId}: ${fault}`];
    });
  });
  expect(faults).toEqual([]);
});

test('the service accepts every example of a body', async () => {
  const refused: string[] = [];
  const asked = operations.filter(
    ({ path, operation }) => operation.requestBody && !path.startsWith('/mcp/'),
  );
  for (const { method, path, operation } of asked) {
    const body = operation.requestBody?.content['application/json']?.example;
    if (body === undefined) continue;
    const url = path.replaceAll(/\{(\w+)\}/g, (_, name: string) => exampleParameter(operation, name));
    const query = operation.parameters
      .filter((one) => one.in === 'query' && (one['required'] === true || one.name === 'userId'))
      .map(({ name }) => `${name}=${encodeURIComponent(exampleParameter(operation, name))}`);
    const answer = await service.call(method, `${url}?${query.join('&')}`, {
      headers: { 'x-api-version': '2025-09' },
      body,
    });
    const code = answer.at('code');
    if (code === 'invalid_request' || answer.status >= 500)
      refused.push(`${operation.operationId}: ${JSON.stringify(answer.body)}`);
  }
  expect(refused).toEqual([]);
  expect(asked.length).toBeGreaterThan(25);
});

function exampleParameter({ parameters }: Operation, name: string): string {
  const { examples, enum: values } = z
    .looseObject({ examples: z.array(z.unknown()).optional(), enum: z.array(z.unknown()).optional() })
    .parse(parameters.find((one) => one.name === name)?.schema ?? {});
  return String(examples?.[0] ?? values?.[0] ?? 'x');
}
