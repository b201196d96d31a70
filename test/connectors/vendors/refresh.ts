import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { parseConnector } from '../../../src/connectors/parse.ts';

/*
 * Makes the extracts of vendors' documents that vendors.test.ts compares the connectors with:
 *   node test/connectors/vendors/refresh.ts <folder of documents> [day, YYYY-MM-DD]
 * Only facts of the operations that a connector calls are written: paths, methods, names, enums, scopes, deprecation.
 */

interface Source {
  connectorId: string;
  document: string;
  /** Where the document is published. */
  from: string;
  /** What stands before the connector's paths in the document. */
  prefix: string;
}

const SOURCES: Source[] = [
  { connectorId: 'github', document: 'github-api.json', from: 'npm @octokit/openapi 23.0.2', prefix: '' },
  {
    connectorId: 'notion',
    document: 'notion.json',
    from: 'makenotion/notion-mcp-server @ 1d38420',
    prefix: '/v1',
  },
  {
    connectorId: 'slack',
    document: 'slack-web.json',
    from: 'slackapi/slack-api-specs @ bc08db4',
    prefix: '',
  },
  { connectorId: 'stripe', document: 'stripe-2021.json', from: 'stripe/openapi @ e812732f', prefix: '/v1' },
  { connectorId: 'zoom', document: 'zoom-v2.json', from: 'zoom/api @ 4429982', prefix: '' },
];

type Members = { [name: string]: unknown };
const isMembers = (value: unknown): value is Members =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
const membersOf = (value: unknown): Members => (isMembers(value) ? value : {});
const listOf = (value: unknown): unknown[] => (Array.isArray(value) ? value : []);

function refresh(folder: string, { connectorId, document, from, prefix }: Source, day: string): void {
  const doc = membersOf(parse(readFileSync(join(folder, document), 'utf8')));
  const root = join(import.meta.dirname, '../../..');
  const file = join(root, 'data/connectors', connectorId, 'connector.yaml');
  const { definition } = parseConnector(readFileSync(file, 'utf8'), file);
  if (!definition) throw new Error(`${file} has faults`);
  const paths = membersOf(doc['paths']);
  const operations: { [operation: string]: unknown } = {};
  for (const { request, baseUrl } of Object.values(definition.actions)) {
    const [method = '', path = ''] = request.split(' ');
    const own = prefix + (baseUrl ?? '').replace(definition.baseUrl, '') + path;
    const found = Object.keys(paths).find((known) => shape(known) === shape(own));
    const operation = found && membersOf(paths[found])[method.toLowerCase()];
    if (!found || !isMembers(operation)) continue;
    operations[`${method} ${shape(path)}`] = factsOf(doc, membersOf(paths[found]), operation);
  }
  const source = { document: from, version: membersOf(doc['info'])['version'], read: day };
  const sorted = Object.fromEntries(Object.entries(operations).sort(([a], [b]) => (a < b ? -1 : 1)));
  const out = join(import.meta.dirname, `${connectorId}.json`);
  writeFileSync(out, `${JSON.stringify({ source, operations: sorted }, null, 1)}\n`);
}

/** A path with its parameters nameless. */
function shape(path: string): string {
  return path.replaceAll(/\{[^}]*\}/g, '{}').replace(/\/$/, '');
}

function factsOf(doc: Members, item: Members, operation: Members): Members {
  const parameters = [...listOf(item['parameters']), ...listOf(operation['parameters'])].map((one) =>
    resolved(doc, one),
  );
  const content = Object.values(membersOf(resolved(doc, operation['requestBody'])['content']));
  const bodies = [
    ...content.map((one) => membersOf(one)['schema']),
    ...parameters.filter((one) => one['in'] === 'body').map((one) => one['schema']),
  ];
  const members: Members = {};
  for (const schema of bodies) Object.assign(members, propertiesOf(doc, schema, 3));
  for (const one of parameters.filter((each) => each['in'] === 'formData'))
    members[String(one['name'])] = enumOf(one);
  const query = parameters
    .filter((one) => one['in'] === 'query')
    .map((one) => [String(one['name']), enumOf({ ...one, ...resolved(doc, one['schema']) })]);
  const scopes = listOf(operation['security'])
    .flatMap((one) => Object.values(membersOf(one)).flatMap(listOf))
    .filter((scope) => scope !== 'none');
  return {
    ...(operation['deprecated'] === true ? { deprecated: true } : {}),
    query: Object.fromEntries(query),
    body: members,
    ...(scopes.length > 0 ? { scopes: [...new Set(scopes)] } : {}),
  };
}

function resolved(doc: Members, value: unknown): Members {
  const one = membersOf(value);
  const ref = one['$ref'];
  if (typeof ref !== 'string') return one;
  let at: unknown = doc;
  for (const name of ref.slice(2).split('/')) at = membersOf(at)[name.replaceAll('~1', '/')];
  return membersOf(at);
}

/** Names of a body's members with their enums; alternatives together. */
function propertiesOf(doc: Members, value: unknown, depth: number): Members {
  const schema = resolved(doc, value);
  const names: Members = {};
  if (depth > 0) {
    for (const keyword of ['allOf', 'anyOf', 'oneOf'])
      for (const one of listOf(schema[keyword])) Object.assign(names, propertiesOf(doc, one, depth - 1));
  }
  for (const [name, property] of Object.entries(membersOf(schema['properties'])))
    names[name] = enumOf(resolved(doc, property));
  return names;
}

/** The values of an enum; null where values are open. */
function enumOf(schema: Members): unknown {
  const values = schema['enum'] ?? membersOf(schema['items'])['enum'];
  return Array.isArray(values) ? values.filter((one) => one !== '' && one !== null) : null;
}

const [, , folder = '', day = new Date().toISOString().slice(0, 10)] = process.argv;
for (const source of SOURCES) refresh(folder, source, day);
