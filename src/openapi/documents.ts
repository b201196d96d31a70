import { parseDocument } from 'yaml';
import { aliasRule, markRepeatedMembers } from '../connectors/yaml-bounds.ts';
import { invalidRequest, thrownMessage, type GatehouseError } from '../lib/errors.ts';
import { keepUnquotedTexts } from './unquoted-values.ts';
import { decoded, isRecord, LeftOut, nodeAt, placeOf, type Node } from './node.ts';

/** Deeper values are refused before they are walked. The deepest of the public documents that were measured has 41. */
const MAX_DEPTH = 200;
/** Values of one document with its aliases expanded. GitHub's 13 MB have 1.1 million. */
const MAX_VALUES = 8_000_000;
/** YAML is parsed at about 0.6 MB of text a second of CPU, JSON at 90 MB. */
const MAX_YAML_BYTES = 8 * 1024 * 1024;
/** Most references that are followed one after the other. */
const MAX_HOPS = 32;
const MAX_ALIASES = 10_000;

/** Reads a file next to the document, by its path relative to the document's folder. */
export type ReadFile = (path: string) => string;

/** A document with the files that it refers to. */
export interface Documents {
  root: Node;
  /**
   * Returns the node that a `$ref` leads to, over any number of references; the node itself where it has none.
   * @throws LeftOut if the target is missing, or the references form a circle.
   */
  follow(node: Node): Node;
  /** Returns the node that the `$ref` of a node leads to, over one reference; undefined where it has none. */
  target(node: Node): Node | undefined;
  /** Returns whether a schema takes texts, and the document has values of it without quotes. */
  hasUnquotedTexts(node: Node): boolean;
  /** Returns the file of a reference in a node, read if needed. @throws GatehouseError as openDocuments(). */
  fileOf(node: Node, path: string): Node;
}

/**
 * Opens a document.
 * @throws GatehouseError `invalid_request` for a text that is neither JSON nor YAML, and for references to other documents
 * that may not be read.
 */
export function openDocuments(text: string, maxBytes: number, readFile: ReadFile | undefined): Documents {
  let left = maxBytes;
  const roots = new Map<string, Node>();
  const unquoted = new Set<string>();
  const open = (file: string, content: string): Node => {
    left -= Buffer.byteLength(content);
    if (left < 0)
      throw documentFault(file === '' ? '(whole)' : file, `the document is over ${maxBytes >> 20} MiB`);
    const { value, unquoted: found } = parseText(content, file);
    const root = { value, file, pointer: '' };
    roots.set(file, root);
    for (const pointer of found) unquoted.add(placeOf({ ...root, pointer }));
    return root;
  };
  const root = open('', text);

  const fileOf = (node: Node, path: string): Node => {
    const file = path === '' ? node.file : relativeFile(node, path);
    return roots.get(file) ?? open(file, readOther(node, file));
  };
  const target = (node: Node): Node | undefined => {
    if (!isRecord(node.value)) return undefined;
    const { $ref: ref } = node.value;
    if (ref === undefined) return undefined;
    if (typeof ref !== 'string') throw new LeftOut(`${placeOf(node)}: $ref must be a text`);
    const [path, pointer] = splitRef(ref);
    const found = nodeAt(fileOf(node, path), pointer);
    if (!found) throw new LeftOut(`${placeOf(node)}: $ref "${shortened(ref)}" leads nowhere`);
    return found;
  };

  function readOther(node: Node, file: string): string {
    if (!readFile)
      throw documentFault(
        placeOf(node),
        `$ref to "${shortened(file)}" leaves the document; bundle it into one document first`,
      );
    try {
      return readFile(file);
    } catch (error) {
      throw documentFault(placeOf(node), `$ref to "${shortened(file)}": ${thrownMessage(error)}`);
    }
  }

  const follow = (node: Node): Node => {
    let at = node;
    for (let hops = 0; hops < MAX_HOPS; hops++) {
      const next = target(at);
      if (!next) return at;
      at = next;
    }
    throw new LeftOut(`${placeOf(node)}: $ref leads to itself, or over more than ${MAX_HOPS} references`);
  };
  return { root, follow, target, hasUnquotedTexts: (node) => unquoted.has(placeOf(node)), fileOf };
}

/** Returns the two parts of a reference: the path of the other document, and the pointer in it. */
export function splitRef(ref: string): [path: string, pointer: string] {
  const hash = ref.indexOf('#');
  return hash < 0 ? [ref, ''] : [ref.slice(0, hash), ref.slice(hash + 1)];
}

/** Returns the path of another file relative to the document's folder; `..` stays for the reader to judge. */
function relativeFile(node: Node, path: string): string {
  if (/^[a-z][a-z0-9+.-]*:|^\/\//i.test(path))
    throw documentFault(placeOf(node), `$ref to the address "${shortened(path)}" is not followed`);
  const parts = path.startsWith('/') ? [] : node.file.split('/').slice(0, -1);
  for (const part of decoded(path).split('/')) {
    if (part === '..' && parts.length > 0 && parts.at(-1) !== '..') parts.pop();
    else if (part !== '.' && part !== '') parts.push(part);
  }
  return path.startsWith('/') ? `/${parts.join('/')}` : parts.join('/');
}

/** Returns the error that refuses a whole document, with the place of the fault. */
export function documentFault(place: string, rule: string): GatehouseError {
  return invalidRequest([{ field: place, rule }], 'The OpenAPI document');
}

/**
 * Returns the major version of a document.
 * @throws GatehouseError `invalid_request` for a version that cannot be read.
 */
export function versionOf(document: unknown): '2' | '3' {
  if (!isRecord(document)) throw documentFault('(whole)', 'must be an object');
  const { swagger, openapi } = document;
  if (swagger === '2.0' || swagger === 2) return '2';
  if (typeof openapi === 'string' && /^3\.[01]\.\d+/.test(openapi)) return '3';
  const rule = 'must be an OpenAPI document with `swagger: "2.0"`, or `openapi: 3.0.x` or 3.1.x';
  throw documentFault(openapi === undefined ? 'swagger' : 'openapi', rule);
}

/** The value of a text, and the pointers of schemas whose values are texts without quotes. */
interface Parsed {
  value: unknown;
  unquoted: ReadonlySet<string>;
}

function parseText(text: string, file: string): Parsed {
  const plain = text.startsWith('\ufeff') ? text.slice(1) : text;
  const parsed = /^\s*[{[]/.test(plain) ? parseJsonOrYaml(plain, file) : parseYaml(plain, file);
  checkSize(parsed.value, file);
  return parsed;
}

function parseJsonOrYaml(text: string, file: string): Parsed {
  try {
    return { value: JSON.parse(text), unquoted: new Set() };
  } catch (error) {
    // A flow mapping of YAML also begins with a brace. A large text is probably JSON with a syntax error.
    if (text.length < 65_536 && !/^\s*\{\s*"/.test(text)) return parseYaml(text, file);
    throw documentFault(file || '(whole)', `is not valid JSON: ${thrownMessage(error)}`);
  }
}

function parseYaml(text: string, file: string): Parsed {
  const where = file || '(whole)';
  if (Buffer.byteLength(text) > MAX_YAML_BYTES)
    throw documentFault(where, 'YAML may have at most 8 MiB; convert the document to JSON');
  try {
    const document = parseDocument(text, { uniqueKeys: false, version: '1.2', merge: true });
    markRepeatedMembers(document);
    const rule = aliasRule(document, MAX_ALIASES);
    if (rule !== undefined) throw documentFault(where, rule);
    const [error] = document.errors;
    if (error) throw documentFault(where, `is not valid YAML: ${error.message.split('\n')[0]}`);
    const unquoted = keepUnquotedTexts(document);
    const value: unknown = document.toJS({ maxAliasCount: MAX_ALIASES });
    return { value, unquoted };
  } catch (error) {
    if (error instanceof Error && error.name === 'GatehouseError') throw error;
    throw documentFault(where, `cannot be read: ${thrownMessage(error)}`);
  }
}

/**
 * Checks depth and number of the values, without recursion. Aliases of YAML share values, so a value counts once for
 * each place.
 */
function checkSize(root: unknown, file: string): void {
  const stack: [value: unknown, depth: number][] = [[root, 0]];
  let count = 0;
  for (let entry = stack.pop(); entry; entry = stack.pop()) {
    const [value, depth] = entry;
    if (++count > MAX_VALUES)
      throw documentFault(
        file || '(whole)',
        `holds more than ${MAX_VALUES} values once aliases are expanded`,
      );
    if (typeof value !== 'object' || value === null) continue;
    if (depth >= MAX_DEPTH) throw documentFault(file || '(whole)', `nests deeper than ${MAX_DEPTH} levels`);
    for (const member of Object.values(value)) stack.push([member, depth + 1]);
  }
}

function shortened(text: string): string {
  return text.length > 100 ? `${text.slice(0, 100)}…` : text;
}
