import type { Documents } from './documents.ts';
import { isRecord, itemsOf, memberOf, type Node } from './node.ts';

/** Returns the type of a schema, through references and `allOf`; undefined where it has none or several. */
export function typeIn(documents: Documents, node: Node, left = 16): string | undefined {
  const schema = documents.follow(node);
  if (!isRecord(schema.value)) return undefined;
  const { type, properties, items } = schema.value;
  const types = [type].flat().filter((one) => one !== 'null' && one !== undefined);
  if (types.length === 1) return String(types[0]);
  if (types.length > 1) return undefined;
  if (isRecord(properties)) return 'object';
  if (items !== undefined) return 'array';
  if (left === 0) return undefined;
  for (const part of itemsOf(memberOf(schema, 'allOf'))) {
    const found = typeIn(documents, part, left - 1);
    if (found !== undefined) return found;
  }
  return undefined;
}

/** Returns the properties of an object schema, with those of its `allOf`. */
export function propertiesIn(documents: Documents, node: Node, left = 16): Map<string, Node> {
  const schema = documents.follow(node);
  const found = new Map<string, Node>();
  if (left > 0)
    for (const part of itemsOf(memberOf(schema, 'allOf')))
      for (const [name, member] of propertiesIn(documents, part, left - 1)) found.set(name, member);
  const own = memberOf(schema, 'properties');
  if (isRecord(own.value)) for (const name of Object.keys(own.value)) found.set(name, memberOf(own, name));
  return found;
}

/** Returns whether a schema is a file or other bytes. */
export function isBinary(documents: Documents, node: Node): boolean {
  const { value } = documents.follow(node);
  if (!isRecord(value)) return false;
  const { type, format, contentMediaType, contentEncoding, items } = value;
  if (type === 'file' || (type === 'string' && format === 'binary')) return true;
  if (typeof contentMediaType === 'string' && contentEncoding === undefined && type === undefined)
    return true;
  return isRecord(items) && isBinary(documents, memberOf(documents.follow(node), 'items'));
}
