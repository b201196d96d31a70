import type { Import } from './context.ts';
import { isRecord, memberOf, type Node } from './node.ts';
import type { Parameter } from './operation.ts';
import { typeIn } from './types.ts';

/* How lists and objects are written (OpenAPI, "Style Values"), in the words of the connector format. */

/** Styles of Swagger 2.0, where `csv` is the default. */
const COLLECTION_STYLES: { [format: string]: string } = {
  csv: 'comma',
  multi: 'repeat',
  ssv: 'space',
  pipes: 'pipe',
};

/** Returns the style of a query parameter; undefined where its value needs none, null where the format has none. */
export function queryStyle(context: Import, node: Node, schema: Node): string | undefined | null {
  const type = typeIn(context.documents, schema);
  if (context.isSwagger2)
    return type === 'array' ? (COLLECTION_STYLES[collectionFormat(node)] ?? null) : undefined;
  const style = memberOf(node, 'style').value ?? 'form';
  const explode = memberOf(node, 'explode').value ?? style === 'form';
  // An object may hold lists of objects, whose entries need an index.
  if (style === 'deepObject')
    return type === 'array' && !hasObjects(context, schema) ? 'brackets' : 'indices';
  if (type === 'object') return style === 'form' && explode === true ? 'members' : null;
  if (type !== 'array') return undefined;
  if (explode === true) return 'repeat';
  return { form: 'comma', spaceDelimited: 'space', pipeDelimited: 'pipe' }[String(style)] ?? null;
}

/** Returns the style of a parameter of a path, header or cookie. */
export function listStyle(context: Import, parameter: Parameter, schema: Node): string | undefined | null {
  const { node } = parameter;
  const type = typeIn(context.documents, schema);
  const style = memberOf(node, 'style').value;
  if (style === 'matrix' || style === 'label' || type === 'object') return null;
  if (type !== 'array') return undefined;
  if (context.isSwagger2) return collectionFormat(node) === 'csv' ? 'comma' : null;
  return parameter.in === 'cookie' ? null : 'comma';
}

/**
 * Returns the style of a member of a form. OpenAPI writes lists as repeated members; an object in a list needs the
 * index of its entry.
 */
export function formStyle(context: Import, schema: Node, encoding: Node): string | undefined {
  const type = typeIn(context.documents, schema);
  if (context.isSwagger2) {
    return type === 'array' ? (COLLECTION_STYLES[collectionFormat(schema)] ?? 'comma') : undefined;
  }
  if (type !== undefined && type !== 'array' && type !== 'object') return undefined;
  const style = memberOf(encoding, 'style').value;
  if (style === 'deepObject') return 'indices';
  if (type === 'array') return memberOf(encoding, 'explode').value === false ? 'comma' : 'repeat';
  return 'json';
}

function collectionFormat(node: Node): string {
  const { value } = memberOf(node, 'collectionFormat');
  return typeof value === 'string' ? value : 'csv';
}

function hasObjects({ documents }: Import, schema: Node): boolean {
  const items = memberOf(documents.follow(schema), 'items');
  return isRecord(items.value) && typeIn(documents, items) === 'object';
}
