import type { Import } from './context.ts';
import { entriesOf, LeftOut, memberOf, placeOf, type Node } from './node.ts';
import type { Operation } from './operation.ts';
import { propertiesIn } from './types.ts';

/** The successful answer of an operation. */
export interface OperationResponse {
  /** Its schema, where it is JSON. */
  schema: Node | undefined;
  /** Whether every answer is a file or a text. */
  isFile: boolean;
  /** Names of its headers, lower case. */
  headers: Set<string>;
}

const NO_ANSWER: OperationResponse = { schema: undefined, isFile: false, headers: new Set() };

/** Returns the first successful answer that a document describes, JSON before other media types. */
export function readAnswer(context: Import, operation: Operation): OperationResponse {
  const responses = entriesOf(memberOf(operation.node, 'responses'));
  const successes = responses
    .filter(([status]) => /^2(\d\d|XX)$/i.test(status))
    .sort(([a], [b]) => (a < b ? -1 : 1));
  const chosen = successes.length > 0 ? successes : responses.filter(([status]) => status === 'default');
  let file: OperationResponse | undefined;
  for (const [, entry] of chosen) {
    const response = followed(context, entry);
    if (!response) continue;
    const headers = new Set(entriesOf(memberOf(response, 'headers')).map(([name]) => name.toLowerCase()));
    const { schema, types } = contentOf(context, operation, response);
    if (schema && types.some(isJson)) return { schema, isFile: false, headers };
    if (types.length > 0 && !types.some(isJson)) file ??= { schema: undefined, isFile: true, headers };
  }
  return file ?? NO_ANSWER;
}

function contentOf({ documents, isSwagger2 }: Import, { produces }: Operation, response: Node) {
  if (isSwagger2) {
    const schema = memberOf(response, 'schema');
    if (schema.value === undefined) return { schema: undefined, types: [] };
    return { schema, types: produces.length === 0 ? ['application/json'] : produces };
  }
  const content = entriesOf(memberOf(response, 'content'));
  const json = content.find(([mediaType]) => isJson(mediaType));
  const types = content.map(([mediaType]) => mediaType);
  return { schema: json && memberOf(documents.follow(json[1]), 'schema'), types };
}

function isJson(mediaType: string): boolean {
  return /^(\*\/\*|application\/\*|[\w.-]+\/([\w.-]+\+)?json)\s*(;|$)/i.test(mediaType.trim());
}

/** Returns the paths of the app's own words in the answers of failures, such as `error.message`. */
export function messagePaths(context: Import, operation: Operation): string[] {
  return entriesOf(memberOf(operation.node, 'responses'))
    .filter(([status]) => /^([45](\d\d|XX)|default)$/i.test(status))
    .flatMap(([, entry]) => {
      const response = followed(context, entry);
      const schema = response && contentOf(context, operation, response).schema;
      return schema ? MESSAGES.filter((path) => isText(context, schema, path)) : [];
    });
}

/** Returns the node that an answer refers to; undefined where that is broken, because calls do not need it. */
function followed({ documents, reporter }: Import, node: Node): Node | undefined {
  try {
    return documents.follow(node);
  } catch (error) {
    if (!(error instanceof LeftOut)) throw error;
    reporter.approximate(placeOf(node), error.message);
    return undefined;
  }
}

const MESSAGES = [
  'error.message',
  'error.detail',
  'error_description',
  'message',
  'detail',
  'errors.0.message',
  'errors.0.detail',
  'error',
];

function isText(context: Import, schema: Node, path: string): boolean {
  const [name = '', ...rest] = path.split('.');
  const { documents } = context;
  const at = followed(context, schema);
  if (!at) return false;
  if (name === '0') return isText(context, memberOf(at, 'items'), rest.join('.'));
  const member = propertiesIn(documents, at).get(name);
  if (!member) return false;
  if (rest.length > 0) return isText(context, member, rest.join('.'));
  const text = followed(context, member);
  return text !== undefined && [memberOf(text, 'type').value].flat().includes('string');
}
