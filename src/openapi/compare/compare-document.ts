import type { SemanticFault } from '../../connectors/semantics/semantic-fault.ts';
import type { ActionDefinition, ConnectorFile } from '../../connectors/format/format.ts';
import { nearestNames } from '../../lib/words.ts';
import { type Documents, openDocuments, type ReadFile, versionOf } from '../documents.ts';
import { LeftOut, memberOf, textAt } from '../node.ts';
import { readOperation } from '../operation.ts';
import { type Difference, operationDifferences } from './differences.ts';
import { factsOf, type WantedFacts } from './facts.ts';
import { type OperationFacts, shape } from './field.ts';
import { type FoundOperation, hasHost, type Operations, operationsOf } from './find-operation.ts';
import { createFlatSchemas, type FlatSchemas } from './flat-schema.ts';
import { neededPaths } from './needed.ts';
import { parameterDifferences, suppliedNames } from './parameter-differences.ts';
import { type OwnAction, pagingOf, sentBody, sentQuery } from './sent.ts';
import { sentencesOf } from './sentences.ts';
import { wantedOf, wantedPaths } from './wanted.ts';

/** A connector next to the OpenAPI document of its vendor. */
export interface DocumentComparison {
  /** Title and version of the document. */
  document: string;
  /** Number of actions whose operation was found. */
  compared: number;
  differences: SemanticFault[];
  /** Parts that could not be compared, and why. */
  notCompared: SemanticFault[];
}

interface Comparing {
  documents: Documents;
  schemas: FlatSchemas;
  operations: Operations;
  definition: ConnectorFile;
  differences: Difference[];
  notCompared: SemanticFault[];
}

/**
 * Compares a connector with an OpenAPI document (2.0, 3.0 or 3.1, JSON or YAML).
 * @throws GatehouseError `invalid_request` with the place in the document, where it cannot be read as a whole.
 */
export function compareWithDocument(
  definition: ConnectorFile,
  { text, maxBytes, readFile }: { text: string; maxBytes: number; readFile: ReadFile | undefined },
): DocumentComparison {
  const documents = openDocuments(text, maxBytes, readFile);
  versionOf(documents.root.value);
  const info = memberOf(documents.root, 'info');
  const comparing: Comparing = {
    documents,
    schemas: createFlatSchemas(documents),
    operations: operationsOf(documents),
    definition,
    differences: [],
    notCompared: [],
  };
  const found = Object.entries(definition.actions).flatMap(
    ([id, action]) => compareAction(comparing, { definition, id, action }) ?? [],
  );
  compareAddress(
    comparing,
    found.some(({ isElsewhere }) => isElsewhere),
  );
  return {
    document: [textAt(info, 'title') ?? 'without a title', textAt(info, 'version')].filter(Boolean).join(' '),
    compared: found.length,
    differences: sentencesOf(comparing.differences),
    notCompared: comparing.notCompared,
  };
}

/** Compares one action. Returns its operation; undefined where nothing was compared. */
function compareAction(comparing: Comparing, own: OwnAction): FoundOperation | undefined {
  const { operations, differences, notCompared } = comparing;
  const { id, action, definition } = own;
  const path = `actions.${id}.request`;
  const reason = reasonToSkip(definition, action);
  const found = reason === undefined ? operations.find(definition, action) : undefined;
  if (found) return compareOperation(comparing, own, found) ? found : undefined;
  const rule = reason ?? otherAddress(operations, action);
  if (rule === undefined) differences.push(noOperation(operations, own, path));
  else notCompared.push({ path, rule });
  return undefined;
}

/** Notes the differences of an operation. Returns whether it could be read. */
function compareOperation(
  { documents, schemas, definition, differences, notCompared }: Comparing,
  own: OwnAction,
  { places }: FoundOperation,
): boolean {
  try {
    const supplied = suppliedNames(definition);
    const [nearest] = places
      .map((place) => {
        const operation = readOperation(documents, place);
        const facts = factsOf({ documents, schemas }, operation, wantedFacts(own));
        const all = [
          ...operationDifferences(own, facts),
          ...parameterDifferences(own, facts, operation.path),
        ].filter(({ kind, at }) => kind !== 'notSent' || !supplied.has(at[0] ?? ''));
        return { all, unknown: unknownParts(own, facts) };
      })
      .toSorted((a, b) => a.all.length - b.all.length);
    differences.push(...(nearest?.all ?? []));
    notCompared.push(...(nearest?.unknown ?? []));
    return true;
  } catch (error) {
    if (!(error instanceof LeftOut)) throw error;
    const rule = `the operation of the document cannot be read: ${error.message}`;
    notCompared.push({ path: `actions.${own.id}.request`, rule });
    return false;
  }
}

/** Returns what an action reads and sends, so that only this much of a large schema is read. */
function wantedFacts(own: OwnAction): WantedFacts {
  const paging = pagingOf(own.definition, own.action);
  const limit = paging && paging.style !== 'none' ? paging.limitParam : undefined;
  return {
    query: wantedOf(sentQuery(own)),
    body: wantedOf(sentBody(own)),
    answer: wantedPaths(neededPaths(own).map(({ steps }) => steps)),
    limits: new Set(limit === undefined ? [] : [limit]),
    scopes: 'each',
  };
}

function reasonToSkip({ protocol }: ConnectorFile, action: ActionDefinition): string | undefined {
  if (protocol === 'mcp') return 'a remote MCP server has no OpenAPI operations';
  if (action.graphql !== undefined) return 'a GraphQL document is not part of OpenAPI';
  if (action.xml !== undefined) return 'a document in XML is not compared';
  return undefined;
}

/** Returns why a missing operation does not count as a difference; undefined if it counts. */
function otherAddress({ addresses }: Operations, action: ActionDefinition): string | undefined {
  const { baseUrl, path } = action;
  if (baseUrl !== undefined && addresses.length > 0 && !hasHost(baseUrl, addresses))
    return `it is sent to ${baseUrl}, which is no address of the document`;
  const wide = Object.entries(path).find(([, { slashes }]) => slashes);
  return wide && `its path parameter ${wide[0]} may have several segments, and the document has no such path`;
}

function noOperation({ requests }: Operations, { id, action }: OwnAction, path: string): Difference {
  const { request } = action;
  const [method = '', own = ''] = request.split(' ');
  const same = requests.filter((one) => shape(one.slice(one.indexOf(' ') + 1)) === shape(own));
  const paths = requests
    .filter((one) => one.startsWith(`${method} `))
    .map((one) => one.slice(method.length + 1));
  const near = same.length > 0 ? same : nearestNames(own, paths).map((one) => `${method} ${one}`);
  return { kind: 'noOperation', actionId: id, path, at: [], value: request, near };
}

/** Notes an address of the connector that no server of the document has. */
function compareAddress(
  { definition, operations, differences, notCompared }: Comparing,
  isElsewhere: boolean,
) {
  const { addresses } = operations;
  const path = 'baseUrl';
  if (addresses.length === 0) notCompared.push({ path, rule: 'the document names no address of a server' });
  else if (isElsewhere || !hasHost(definition.baseUrl, addresses))
    differences.push({
      kind: 'address',
      actionId: '',
      path,
      at: [],
      value: addresses.slice(0, 3).join(', '),
    });
}

/** Returns the parts of an operation that the document or the connector does not describe. */
function unknownParts(own: OwnAction, facts: OperationFacts): SemanticFault[] {
  const { id, action } = own;
  const at = `actions.${id}`;
  const sent = sentBody(own).of.size > 0;
  return [
    ...(action.bodyMap === undefined
      ? []
      : [{ path: `${at}.bodyMap`, rule: 'the body is computed at each call' }]),
    ...(sent && action.bodyMap === undefined && !facts.body
      ? [{ path: `${at}.body`, rule: 'the document does not describe the body' }]
      : []),
    ...(neededPaths(own).length > 0 && !facts.answer
      ? [{ path: `${at}.response`, rule: 'the document does not describe the members of the answer' }]
      : []),
  ];
}
