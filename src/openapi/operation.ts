import type { Documents } from './documents.ts';
import { entriesOf, isRecord, itemsOf, LeftOut, memberOf, placeOf, textAt, type Node } from './node.ts';

/* The operations of a document in one form, whichever version it has. */

export const METHODS = ['get', 'head', 'post', 'put', 'patch', 'delete'] as const;
const MAX_PATH = 2000;
const MAX_PARAMETERS = 500;
const MAX_PARAMETER_NAME = 300;
const UNSUPPORTED = ['options', 'trace'];

export interface Operation {
  /** Upper case. */
  method: string;
  path: string;
  node: Node;
  operationId: string | undefined;
  tags: string[];
  /** Parameters of the operation, and those of its path that it does not replace. */
  parameters: Parameter[];
  /** Swagger 2.0: media types of bodies. */
  consumes: string[];
  produces: string[];
  pathNode: Node;
}

export interface Parameter {
  name: string;
  /** `path`, `query`, `header`, `cookie`; in Swagger 2.0 also `body` and `formData`. */
  in: string;
  node: Node;
}

/** Which operations to import; a list that is absent chooses all. */
export interface Include {
  tags?: readonly string[] | undefined;
  /** Paths of the document; `*` stands for any characters. */
  paths?: readonly string[] | undefined;
  methods?: readonly string[] | undefined;
}

/** Returns every method of every path. Some documents keep each operation in a file of its own. */
export function methodsOf(documents: Documents): { method: string; path: string; item: Node; node: Node }[] {
  return entriesOf(memberOf(documents.root, 'paths')).flatMap(([path, entry]) => {
    if (path.startsWith('x-')) return [];
    const item = followed(documents, entry);
    return entriesOf(item)
      .filter(([name]) => [...METHODS, ...UNSUPPORTED].some((method) => method === name.toLowerCase()))
      .map(([name, node]) => ({ method: name.toUpperCase(), path, item, node: followed(documents, node) }));
  });
}

function followed(documents: Documents, entry: Node): Node {
  try {
    return documents.follow(entry);
  } catch (error) {
    // The path is then left out with its reason, when its operations are read.
    if (error instanceof LeftOut) return entry;
    throw error;
  }
}

/** Returns whether an operation is chosen. */
export function isChosen(
  { method, path, node }: { method: string; path: string; node: Node },
  { tags, paths, methods }: Include,
): boolean {
  if (methods && !methods.some((one) => one.toUpperCase() === method)) return false;
  if (paths && !paths.some((one) => matches(path, one))) return false;
  if (!tags) return true;
  const own = new Set(tagsOf(node).map((tag) => tag.toLowerCase()));
  return tags.some((tag) => own.has(tag.toLowerCase()));
}

/** Compares without a regular expression, because many stars could take for ever. */
function matches(path: string, pattern: string): boolean {
  const [first = '', ...parts] = pattern.split('*');
  if (parts.length === 0) return path === pattern;
  const last = parts.pop() ?? '';
  if (!path.startsWith(first) || !path.endsWith(last)) return false;
  let at = first.length;
  for (const part of parts) {
    const found = path.indexOf(part, at);
    if (found < 0) return false;
    at = found + part.length;
  }
  return at <= path.length - last.length;
}

function tagsOf(node: Node): string[] {
  return itemsOf(memberOf(node, 'tags')).flatMap(({ value }) => (typeof value === 'string' ? [value] : []));
}

/**
 * Returns an operation.
 * @throws LeftOut with the place that is wrong.
 */
export function readOperation(
  documents: Documents,
  { method, path, item, node }: { method: string; path: string; item: Node; node: Node },
): Operation {
  if (!isRecord(node.value)) throw new LeftOut(`${placeOf(node)} must be an object`);
  if (UNSUPPORTED.includes(method.toLowerCase())) throw new LeftOut(`the method ${method} is not supported`);
  if (!path.startsWith('/')) throw new LeftOut('its path must begin with /');
  if (path.length > MAX_PATH) throw new LeftOut(`its path has over ${MAX_PATH} characters`);
  const parameters = new Map<string, Parameter>();
  for (const list of [memberOf(item, 'parameters'), memberOf(node, 'parameters')]) {
    if (list.value !== undefined && !Array.isArray(list.value))
      throw new LeftOut(`${placeOf(list)} must be a list`);
    for (const entry of itemsOf(list)) {
      const parameter = readParameter(documents.follow(entry));
      parameters.set(`${parameter.in} ${parameter.name}`, parameter);
      if (parameters.size > MAX_PARAMETERS) throw new LeftOut(`it has over ${MAX_PARAMETERS} parameters`);
    }
  }
  const mediaTypes = (name: string) => {
    const own = memberOf(node, name);
    return itemsOf(own.value === undefined ? memberOf(documents.root, name) : own).flatMap(({ value }) =>
      typeof value === 'string' ? [value] : [],
    );
  };
  return {
    method,
    path,
    node,
    pathNode: item,
    operationId: textAt(node, 'operationId'),
    tags: tagsOf(node),
    parameters: [...parameters.values()],
    consumes: mediaTypes('consumes'),
    produces: mediaTypes('produces'),
  };
}

function readParameter(node: Node): Parameter {
  const name = memberOf(node, 'name').value;
  const place = memberOf(node, 'in').value;
  if (typeof name !== 'string' || name === '') throw new LeftOut(`${placeOf(node)}: name must be a text`);
  if (name.length > MAX_PARAMETER_NAME)
    throw new LeftOut(`${placeOf(node)}: name has over ${MAX_PARAMETER_NAME} characters`);
  if (typeof place !== 'string') throw new LeftOut(`${placeOf(node)}: in must be a text`);
  return { name, in: place, node };
}
