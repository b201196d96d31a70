import type { ConnectorFile, JsonSchema } from '../connectors/format/format.ts';
import { checkDefinition } from '../connectors/parse.ts';
import { invalidRequest, type GatehouseError } from '../lib/errors.ts';
import { readAction, type ReadAction } from './action.ts';
import type { Import, Written } from './context.ts';
import { documentFault, openDocuments, versionOf, type ReadFile } from './documents.ts';
import { actionIdOf, distinctId, snakeCase } from './action-names.ts';
import { isRecord, LeftOut, memberOf, textAt } from './node.ts';
import { isChosen, methodsOf, readOperation, type Include, type Operation } from './operation.ts';
import { createReporter, type Report } from './reporter.ts';
import { messagePaths } from './operation-answer.ts';
import { mergedSides, neededSchemas, renameRefs } from './schema-sides.ts';
import { limitWeight } from './schema-weight.ts';
import { createSchemaBook } from './compact-schemas.ts';
import { readSecurity } from './security.ts';
import { readServer, websiteOf } from './document-servers.ts';
import { plainText } from './plain-text.ts';

export const MEBIBYTE = 1024 * 1024;
/** Actions of one connector. GitHub has 1,223 operations. */
const MAX_OPERATIONS = 5000;
const MAX_MESSAGE_PATHS = 4;

export interface ImportOptions {
  /** Id of the connector; default: made from the document's title. */
  id?: string | undefined;
  include?: Include | undefined;
  /** Most bytes of the document with the files that it refers to. */
  maxBytes: number;
  /** Reads a file that a `$ref` names, by its path relative to the document; absent where none may be read. */
  readFile?: ReadFile | undefined;
  /**
   * Returns the earlier import under an id, whose action ids stay, and whose choice counts where `include` is absent.
   */
  previous?: ((id: string) => Previous | undefined) | undefined;
  /** Today as YYYY-MM-DD, the day on which the document was read. */
  today: string;
}

interface Previous {
  actions: Readonly<Record<string, { request: string }>>;
  include: Include;
}

export interface Imported {
  /** The connector file as it is written, without defaults. */
  written: Written;
  /** The same, checked. */
  definition: ConnectorFile;
  /** The choice of operations that was in force. */
  include: Include;
  report: Report;
}

/**
 * Makes a connector of an OpenAPI document (2.0, 3.0 or 3.1, JSON or YAML).
 * @throws GatehouseError `invalid_request` with the place in the document, where it cannot be read as a whole or holds
 * no operation that can be imported.
 */
export function importOpenApi(text: string, options: ImportOptions): Imported {
  const documents = openDocuments(text, options.maxBytes, options.readFile);
  const { root } = documents;
  const reporter = createReporter();
  const book = createSchemaBook(documents, reporter);
  const context: Import = { documents, book, reporter, isSwagger2: versionOf(root.value) === '2' };
  const about = aboutOf(context, options);
  const previous = options.previous?.(about.id);
  const include = options.include ?? previous?.include ?? {};
  const operations = chosenOperations(context, include);
  const server = readServer(context);
  const security = readSecurity(context);
  const actions = new Map<string, Written>();
  const ids = previousIds(previous?.actions);
  const taken = new Set([...ids.values()].flat());
  const own = new Set(operations.map((one) => `${signature(requestOf(one))} ${actionIdOf(one)}`));
  const messages = new Map<string, number>();
  let idempotencyHeader: string | undefined;
  let variables = server.variables;
  for (const operation of operations) {
    const read = attempt(context, operation, () => readAction(context, operation, { security, server }));
    if (!read) continue;
    actions.set(freeId(operation, read, { ids, taken, own, actions }), read.action);
    idempotencyHeader ??= read.idempotencyHeader;
    variables = { ...read.variables, ...variables };
    for (const path of messagePaths(context, operation)) messages.set(path, (messages.get(path) ?? 0) + 1);
  }
  if (actions.size === 0) throw noAction(reporter.report);
  reporter.report.imported = actions.size;

  const schemes = security.schemes();
  for (const action of actions.values()) dropCommonNeeds(action, schemes);
  const written = withSchemas(context, {
    ...about,
    website: websiteOf(root, server),
    baseUrl: server.baseUrl,
    ...(Object.keys(variables).length > 0 ? { variables } : {}),
    authentication: schemes,
    ...(idempotencyHeader === undefined ? {} : { idempotencyHeader }),
    ...(messages.size > 0 ? { errors: { message: mostNamed(messages) } } : {}),
    actions: Object.fromEntries([...actions].map(([id, action]) => [id, action])),
  });
  const checked = checkDefinition(written, 'connector.yaml', options.id);
  if (!checked.definition)
    throw invalidRequest(
      checked.faults.map(({ path, rule }) => ({ field: path || '(whole)', rule })),
      'The connector made from the document',
    );
  return { written, definition: checked.definition, include, report: reporter.report };
}

function chosenOperations(context: Import, include: Include): Operation[] {
  const { documents, reporter } = context;
  const paths = memberOf(documents.root, 'paths');
  if (paths.value !== undefined && !isRecord(paths.value))
    throw documentFault('#/paths', 'must be an object');
  const all = methodsOf(documents);
  const chosen = all.filter((one) => isChosen(one, include));
  reporter.report.operations = all.length;
  reporter.report.notChosen = all.length - chosen.length;
  if (chosen.length > MAX_OPERATIONS) {
    const rule = `has ${chosen.length} operations; a connector can have ${MAX_OPERATIONS}. Choose some by tag, path or method`;
    throw documentFault('#/paths', rule);
  }
  return chosen.flatMap((one) => attempt(context, one, () => readOperation(documents, one)) ?? []);
}

/** Returns the result of `read`. If it throws LeftOut, adds a line to the report and returns undefined. */
function attempt<T>({ reporter }: Import, { method, path }: { method: string; path: string }, read: () => T) {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof LeftOut)) throw error;
    reporter.leaveOut(`${method} ${path}`, error.message);
    return undefined;
  }
}

/** Returns the ids of earlier actions by request; some documents describe a request twice. */
function previousIds(actions: Previous['actions'] = {}): Map<string, string[]> {
  const ids = new Map<string, string[]>();
  for (const [id, { request }] of Object.entries(actions))
    ids.set(signature(request), [...(ids.get(signature(request)) ?? []), id]);
  return ids;
}

/** Returns a request without the names of its path parameters, because these may change without changing the request. */
function signature(request: string): string {
  return request.replaceAll(/\{[^{}]*\}/g, '{}');
}

interface Names {
  /** Ids of earlier actions by request. */
  ids: ReadonlyMap<string, string[]>;
  taken: ReadonlySet<string>;
  /** The request of each chosen operation with the id from the operation's own name: `GET /orders/{} get_order`. */
  own: ReadonlySet<string>;
  actions: ReadonlyMap<string, Written>;
}

/** Returns the id of an action from an earlier import; else from its operation, made distinct where it is taken. */
function freeId(operation: Operation, { action }: ReadAction, { ids, taken, own, actions }: Names): string {
  const request = signature(String(action['request']));
  const earlier = (ids.get(request) ?? []).filter((id) => !actions.has(id));
  const id = actionIdOf(operation);
  const distinct = distinctId(id, operation);
  for (const known of [id, distinct]) if (earlier.includes(known)) return known;
  const renamed = earlier.find((one) => !own.has(`${signature(requestOf(operation))} ${one}`));
  if (renamed !== undefined) return renamed;
  return actions.has(id) || taken.has(id) ? distinct : id;
}

function requestOf({ method, path }: Operation): string {
  return `${method} ${path.split('#')[0] ?? ''}`;
}

function noAction({ operations, leftOut, notChosen }: Report): GatehouseError {
  if (operations === 0) return documentFault('#/paths', 'holds no operation');
  if (leftOut.length === 0)
    return documentFault('#/paths', `none of its ${notChosen} operations is chosen by tag, path and method`);
  const faults = leftOut.map(({ operation, reason }) => ({ field: operation, rule: reason }));
  return invalidRequest(faults, 'The OpenAPI document holds no operation that a connector can call. It');
}

function aboutOf({ documents: { root } }: Import, { id, today }: ImportOptions) {
  const info = memberOf(root, 'info');
  const title = plainText(textAt(info, 'title'), 60) ?? 'Imported connector';
  const version = plainText(textAt(info, 'version'), 40);
  return {
    id: id ?? (snakeCase(title).replaceAll('_', '-').slice(0, 32).replace(/-+$/, '') || 'imported'),
    name: title,
    description: plainText(textAt(info, 'description'), 300) ?? `The operations of ${title}.`,
    categories: ['imported'],
    sources: [
      {
        title: `OpenAPI document of ${title}${version === undefined ? '' : `, version ${version}`}`,
        read: today,
      },
    ],
  };
}

/** Removes `authentication` from an action that all schemes of the connector may call. */
function dropCommonNeeds(action: Written, schemes: readonly Written[]): void {
  const { authentication: own } = action;
  if (Array.isArray(own) && schemes.every(({ type }) => own.includes(type))) delete action['authentication'];
}

function mostNamed(messages: ReadonlyMap<string, number>): string[] {
  return [...messages]
    .sort(([a, m], [b, n]) => n - m || (a < b ? -1 : 1))
    .slice(0, MAX_MESSAGE_PATHS)
    .map(([path]) => path);
}

/** Adds the schemas that the actions refer to. */
function withSchemas({ book, reporter }: Import, file: Written): Written {
  const named = book.named();
  const roots = schemasOf(file['actions']);
  limitWeight(named, roots, reporter);
  const names = mergedSides(named);
  const kept = new Map<string, JsonSchema>();
  for (const [name, schema] of named) kept.set(names.get(name) ?? name, renameRefs(schema, names));
  const schemas = neededSchemas(renameRefs(file['actions'], names), kept);
  return Object.keys(schemas).length > 0 ? { ...file, schemas } : file;
}

/** Returns the schemas inside of the actions: every parameter, and every answer. */
function schemasOf(actions: unknown): JsonSchema[] {
  return Object.values(Object(actions)).flatMap((action) => {
    if (!isRecord(action)) return [];
    const places = ['path', 'query', 'headers', 'cookies', 'body'].flatMap((place) =>
      Object.values(Object(action[place])),
    );
    const answer = isRecord(action['response']) ? [action['response']['schema']] : [];
    return [...places, ...answer].filter(isRecord);
  });
}
