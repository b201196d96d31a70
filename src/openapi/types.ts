import type { Documents } from './documents.ts';
import { entriesOf, isRecord, itemsOf, memberOf, placeOf, type Node } from './node.ts';

/** Schemas that one question looks into; `allOf` may repeat itself without end. */
const MAX_PARTS = 200;

/** Returns the type of a schema, through references and `allOf`; undefined where it has none or several. */
export function typeIn(documents: Documents, node: Node): string | undefined {
  for (const { value } of partsOf(documents, node)) {
    const { type, properties, items } = isRecord(value) ? value : {};
    const types = [type].flat().filter((one) => one !== 'null' && one !== undefined && one !== null);
    if (types.length === 1) return String(types[0]);
    if (types.length > 1) return undefined;
    if (isRecord(properties)) return 'object';
    if (items !== undefined) return 'array';
  }
  return undefined;
}

/** Returns the properties of an object schema, with those of its `allOf`. */
export function propertiesIn(documents: Documents, node: Node): Map<string, Node> {
  const found = new Map<string, Node>();
  for (const part of partsOf(documents, node))
    for (const [name, member] of entriesOf(propertiesNode(documents, part)))
      if (!found.has(name)) found.set(name, member);
  return found;
}

/** Returns the properties of a schema, which some documents keep in a file of their own. */
export function propertiesNode(documents: Documents, schema: Node): Node {
  const properties = memberOf(schema, 'properties');
  const isReference = isRecord(properties.value) && typeof properties.value['$ref'] === 'string';
  return isReference ? documents.follow(properties) : properties;
}

/** Returns a schema and the parts of its `allOf`, each once, the schema itself first. */
function partsOf(documents: Documents, node: Node): Node[] {
  const parts = new Map<string, Node>();
  const waiting = [node];
  for (let next = waiting.shift(); next && parts.size < MAX_PARTS; next = waiting.shift()) {
    const part = documents.follow(next);
    const place = placeOf(part);
    if (parts.has(place)) continue;
    parts.set(place, part);
    waiting.push(...itemsOf(memberOf(part, 'allOf')).slice(0, MAX_PARTS));
  }
  return [...parts.values()];
}

/** Returns whether a schema is a file or other bytes. */
export function isBinary(documents: Documents, node: Node, left = 4): boolean {
  const { value } = documents.follow(node);
  if (!isRecord(value)) return false;
  const { type, format, contentMediaType, contentEncoding, items } = value;
  if (type === 'file' || (type === 'string' && format === 'binary')) return true;
  if (typeof contentMediaType === 'string' && contentEncoding === undefined && type === undefined)
    return true;
  return (
    left > 0 && isRecord(items) && isBinary(documents, memberOf(documents.follow(node), 'items'), left - 1)
  );
}
