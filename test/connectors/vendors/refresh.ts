import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { buildClientSchema, buildSchema, type GraphQLSchema } from 'graphql';
import { parse } from 'yaml';
import type { ActionDefinition, ConnectorFile } from '../../../src/connectors/format/format.ts';
import { parseConnector } from '../../../src/connectors/parse.ts';
import { factsOf } from '../../../src/openapi/compare/facts.ts';
import { type OperationFacts, shape } from '../../../src/openapi/compare/field.ts';
import { createFlatSchemas } from '../../../src/openapi/compare/flat-schema.ts';
import { listOf, type Members, membersOf } from '../../../src/openapi/compare/document-members.ts';
import { neededPaths } from '../../../src/openapi/compare/needed.ts';
import { type OwnAction, pagingOf, sentBody, sentQuery } from '../../../src/openapi/compare/sent.ts';
import { unite, wantedOf, wantedPaths } from '../../../src/openapi/compare/wanted.ts';
import { openDocuments } from '../../../src/openapi/documents.ts';
import { MEBIBYTE } from '../../../src/openapi/import.ts';
import { methodsOf, readOperation } from '../../../src/openapi/operation.ts';
import { fromCsdl } from './read/csdl.ts';
import { fromDiscovery } from './read/discovery.ts';
import { reducedSchema } from './read/graphql.ts';
import { fromMarkdown } from './read/markdown.ts';
import { fromStone } from './read/stone.ts';
import { fromXsd } from './read/xsd.ts';
import { type Source, SOURCES } from './sources.ts';
import { textOf } from './write.ts';

/*
 * Makes the extracts of vendors' documents that vendors.test.ts compares the connectors with:
 *   node test/connectors/vendors/refresh.ts <folder of documents> [day, YYYY-MM-DD] [connector ids]
 * Only facts of the operations that a connector calls are written: names, enums, limits, scopes, deprecation.
 */

const [, , folder = '', day = new Date().toISOString().slice(0, 10), ...only] = process.argv;
for (const source of SOURCES) if (only.length === 0 || only.includes(source.connectorId)) refresh(source);

function refresh(source: Source): void {
  const file = join(import.meta.dirname, '../../../data/connectors', source.connectorId, 'connector.yaml');
  const { definition } = parseConnector(readFileSync(file, 'utf8'), file);
  if (!definition) throw new Error(`${file} has faults`);
  const docs = source.format === 'graphql' ? [] : documentsOf(source, definition);
  const operations = operationsOf(source, definition, docs);
  const schema = source.format === 'graphql' ? source.document : source.graphql;
  const version = source.version ?? String(membersOf(docs[0]?.['info'])['version']);
  const text = textOf({
    source: { document: source.from, version, read: day },
    operations: Object.fromEntries(operations),
    graphql: schema === undefined ? undefined : graphqlOf(definition, schema),
  });
  writeFileSync(join(import.meta.dirname, `${source.connectorId}.json`), text);
}

function documentsOf(
  { document, format, server, prefix = '' }: Source,
  definition: ConnectorFile,
): Members[] {
  const texts = filesIn(join(folder, document)).map((file) => readFileSync(file, 'utf8'));
  if (format === 'stone') return [fromStone(texts)];
  if (format === 'markdown') return [fromMarkdown(texts)];
  const requests = Object.values(definition.actions).flatMap((one) => requestsOf(definition, one, prefix));
  if (format === 'csdl') return texts.map((text) => fromCsdl(text, requests));
  if (format === 'xsd') return [fromXsd(texts, requests)];
  const read = texts.map((text) =>
    membersOf(text.startsWith('{') ? JSON.parse(text) : parse(text, { maxAliasCount: -1 })),
  );
  return format === 'discovery' ? read.map(fromDiscovery) : read.map((doc) => belowServer(doc, server));
}

function filesIn(path: string): string[] {
  return statSync(path).isDirectory()
    ? readdirSync(path)
        .sort()
        .map((name) => join(path, name))
    : [path];
}

/**
 * Puts the part after `server` in the document's own address before its paths, because one of several documents may be
 * of /v2.
 */
function belowServer(doc: Members, server: string | undefined): Members {
  const [first] = listOf(doc['servers']);
  const url = String(membersOf(first)['url']);
  if (!server || !url.startsWith(server)) return doc;
  const paths = Object.entries(membersOf(doc['paths'])).map(([path, item]) => [
    url.slice(server.length) + path,
    item,
  ]);
  return { ...doc, paths: Object.fromEntries(paths) };
}

/** A document with its operations. */
interface Known {
  documents: ReturnType<typeof openDocuments>;
  schemas: ReturnType<typeof createFlatSchemas>;
  methods: ReturnType<typeof methodsOf>;
}

function operationsOf({ prefix = '', scopes = 'each' }: Source, definition: ConnectorFile, docs: Members[]) {
  const found = new Map<string, OperationFacts>();
  const known = docs.map((doc): Known => {
    const documents = openDocuments(JSON.stringify(doc), 64 * MEBIBYTE, undefined);
    return { documents, schemas: createFlatSchemas(documents), methods: methodsOf(documents) };
  });
  const actions = Object.entries(definition.actions)
    .filter(([, one]) => !one.graphql)
    .map(([id, action]) => ({ definition, id, action }));
  for (const { action } of actions) {
    const [method = '', path = ''] = action.request.split(' ');
    const name = `${method} ${shape(path)}`;
    const same = actions.filter((one) => shape(one.action.request) === shape(action.request));
    const place = requestsOf(definition, action, prefix).flatMap((one) => placeOf(known, one))[0];
    if (!place) continue;
    const wanted = {
      query: same.map((one) => wantedOf(sentQuery(one))).reduce(unite),
      body: same.map((one) => wantedOf(sentBody(one))).reduce(unite),
      answer: wantedPaths(same.flatMap((one) => neededPaths(one).map(({ steps }) => steps))),
      limits: new Set(same.flatMap(limitOf)),
      scopes,
    };
    found.set(name, factsOf(place, readOperation(place.documents, place.operation), wanted));
  }
  return found;
}

function limitOf({ definition, action }: OwnAction): string[] {
  const paging = pagingOf(definition, action);
  return paging && paging.style !== 'none' && paging.limitParam ? [paging.limitParam] : [];
}

/**
 * Returns the method and nameless path of an action, with each of its values where a parameter of the path has an
 * enum.
 */
function requestsOf(definition: ConnectorFile, action: ActionDefinition, prefix: string): string[] {
  const [method = '', path = ''] = action.request.split(' ');
  const below = action.baseUrl?.startsWith(definition.baseUrl)
    ? action.baseUrl.slice(definition.baseUrl.length)
    : '';
  let all = [prefix + below + path];
  for (const [name, parameter] of Object.entries(action.path)) {
    const values = listOf(parameter['enum']);
    if (values.length > 0)
      all = values.flatMap((one) => all.map((each) => each.replace(`{${name}}`, String(one))));
  }
  return [...all, prefix + below + path].map((one) => `${method} ${shape(one)}`);
}

/**
 * Returns the operation of a request: the exact path, else one with parameters where the connector has fixed names.
 */
function placeOf(known: Known[], request: string) {
  const [method = '', path = ''] = request.split(' ');
  const own = path.split('/');
  const fits = (other: string) => {
    const steps = shape(other).split('/');
    return steps.length === own.length && steps.every((one, index) => one === own[index] || one === '{}');
  };
  const all = known.flatMap(({ methods, ...doc }) =>
    methods
      .filter((operation) => operation.method === method && fits(operation.path))
      .map((operation) => ({ ...doc, operation })),
  );
  return all
    .filter(({ operation }) => shape(operation.path) === path)
    .concat(all)
    .slice(0, 1);
}

function graphqlOf(definition: ConnectorFile, name: string): string[] {
  const uses = Object.entries(definition.actions)
    .filter(([, one]) => one.graphql)
    .map(([id, action]) => ({
      document: action.graphql ?? '',
      sent: wantedOf(sentBody({ definition, id, action })),
    }));
  return reducedSchema(schemaIn(basename(name), readFileSync(join(folder, name), 'utf8')), uses);
}

/** Reads a schema in the schema language, or the answer to an introspection. */
function schemaIn(name: string, text: string): GraphQLSchema {
  if (name.endsWith('.graphql')) return buildSchema(text, { assumeValidSDL: true });
  const { data, __schema } = JSON.parse(text);
  return buildClientSchema(data ?? { __schema });
}
