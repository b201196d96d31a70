/* Values of an OpenAPI document together with their place, so that every message can name where it comes from. */

/** A value and its place. `file` is empty for the document itself; `pointer` is a JSON pointer (RFC 6901). */
export interface Node {
  readonly value: unknown;
  readonly file: string;
  readonly pointer: string;
}

/** Thrown where one operation cannot be imported; the report then names the operation and this reason. */
export class LeftOut extends Error {
  override readonly name = 'LeftOut';
}

/** Member of a bundled document that holds the files that it refers to, by their path. */
export const BUNDLED_FILES = 'x-files';
const IN_BUNDLE = new RegExp(`^/${BUNDLED_FILES}/([^/]+)(.*)$`);

/** Returns the place of a node as a reference: `#/paths/~1orders`, `models/order.yml#/properties`. */
export function placeOf({ file, pointer }: Node): string {
  const [, bundled = '', inner = ''] = IN_BUNDLE.exec(pointer) ?? [];
  return bundled === '' ? `${file}#${pointer}` : `${unescaped(bundled)}#${inner}`;
}

export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Returns a member of an object, or of a list by its index. Its value is undefined where there is none. */
export function memberOf({ value, file, pointer }: Node, name: string | number): Node {
  const found =
    typeof value === 'object' && value !== null && Object.hasOwn(value, name)
      ? Reflect.get(value, name)
      : undefined;
  return { value: found, file, pointer: `${pointer}/${escaped(String(name))}` };
}

/** Returns the members of an object by name; none where the node is no object. */
export function entriesOf(node: Node): [name: string, member: Node][] {
  return isRecord(node.value) ? Object.keys(node.value).map((name) => [name, memberOf(node, name)]) : [];
}

/** Returns the items of a list; none where the node is no list. */
export function itemsOf(node: Node): Node[] {
  return Array.isArray(node.value) ? node.value.map((_, index) => memberOf(node, index)) : [];
}

/** Returns a member that is a text and not empty. */
export function textAt(node: Node, name: string): string | undefined {
  const { value } = memberOf(node, name);
  return typeof value === 'string' && value.trim() !== '' ? value : undefined;
}

/** Returns a name as a part of a JSON pointer. */
export function escaped(name: string): string {
  return name.includes('~') || name.includes('/') ? name.replaceAll('~', '~0').replaceAll('/', '~1') : name;
}

/** Returns the node at a JSON pointer, which may be percent-encoded; undefined where it leads nowhere. */
export function nodeAt(root: Node, pointer: string): Node | undefined {
  if (pointer === '') return root;
  if (!pointer.startsWith('/')) return undefined;
  let at = root;
  for (const part of pointer.slice(1).split('/')) {
    at = memberOf(at, unescaped(decoded(part)));
    if (at.value === undefined) return undefined;
  }
  return at;
}

/** Returns a text without percent-encoding; unchanged where that is broken. */
export function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

function unescaped(part: string): string {
  return part.replaceAll('~1', '/').replaceAll('~0', '~');
}
