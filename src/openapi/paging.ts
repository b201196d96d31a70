import type { Import, Written } from './context.ts';
import { isRecord, memberOf, type Node } from './node.ts';
import type { Operation, Parameter } from './operation.ts';
import type { OperationResponse } from './operation-answer.ts';
import { propertiesIn, typeIn } from './types.ts';

/*
 * Recognises the paging of a list. An operation gets a paging only if the document has both sides of it: the parameters,
 * and the list in the answer. Wrong paging would lose records, so a doubtful operation stays a call without paging.
 */

/** The paging of an operation, with the parameters that the caller no longer gives. */
export interface FoundPaging {
  paging: Written;
  /** Path of the list in the answer. */
  data: string;
  record: Node;
  parameters: Parameter[];
}

const SIZES = new Set([
  'limit',
  'perpage',
  'pagesize',
  'pagelimit',
  'maxresults',
  'maxrecords',
  'count',
  'top',
  'size',
  'pagecount',
  'resultsperpage',
]);
const OFFSETS = new Set(['offset', 'skip', 'startindex', 'startat']);
const PAGES = new Set(['page', 'pagenumber', 'pageno', 'pagenum', 'pageindex', 'currentpage']);
const CURSORS = new Set([
  'cursor',
  'pagetoken',
  'nextpagetoken',
  'nexttoken',
  'startcursor',
  'continuationtoken',
  'nextcursor',
  'pagecursor',
  'marker',
  'after',
]);
const NEXT = [
  'nextcursor',
  'nextpagetoken',
  'nexttoken',
  'nextmarker',
  'continuationtoken',
  'cursor',
  'after',
  'endcursor',
];
const LISTS = new Set(['data', 'items', 'results', 'records', 'values', 'entries', 'value']);
const TOTALS = new Set(['total', 'totalcount', 'totalrecords', 'totalitems', 'totalresults']);

export function findPaging(
  context: Import,
  operation: Operation,
  answer: OperationResponse,
): FoundPaging | undefined {
  if (operation.method !== 'GET' || !answer.schema) return undefined;
  const list = listIn(context, answer.schema);
  if (!list) return undefined;
  const query = operation.parameters.filter((one) => one.in === 'query');
  const size = query.find((one) => SIZES.has(plain(one.name)) && isNumber(context, one));
  const common = { ...sizeOf(context, size), ...totalOf(context, answer.schema, list) };
  const found = (paging: Written, used: Parameter[]): FoundPaging => ({
    paging: { ...paging, ...common },
    ...list,
    parameters: [...used, ...(size ? [size] : [])],
  });
  const named = (names: ReadonlySet<string>, fits: (one: Parameter) => boolean = () => true) =>
    query.find((one) => names.has(plain(one.name)) && fits(one));

  const page = named(PAGES, (one) => isNumber(context, one));
  if (page && answer.headers.has('link')) return found({ style: 'link' }, [page]);
  // A parameter `after` is often a date, so its description must mention a cursor or a page.
  const cursor = named(CURSORS, (one) => one.name !== 'after' || /cursor|page/i.test(describedBy(one)));
  const next = cursor && nextIn(context, answer.schema);
  if (cursor && next !== undefined)
    return found({ style: 'cursor', cursorParam: cursor.name, next: `body:${next}` }, [cursor]);
  const keyset = query.find((one) => one.name === 'starting_after');
  const hasMore = propertiesIn(context.documents, answer.schema).has('has_more');
  if (keyset && hasMore && propertiesIn(context.documents, list.record).has('id')) {
    const before = query.filter((one) => one.name === 'ending_before');
    return found({ style: 'keyset', cursorParam: keyset.name, field: 'id', hasMore: 'body:has_more' }, [
      keyset,
      ...before,
    ]);
  }
  // Without a page size, a short page would not show the end of the list.
  const offset = named(OFFSETS, (one) => isNumber(context, one));
  if (offset && size) return found({ style: 'offset', offsetParam: offset.name }, [offset]);
  if (page && size)
    return found({ style: 'page', pageParam: page.name, ...firstPage(context, page) }, [page]);
  return undefined;
}

/** Returns the path of the only list of objects in an answer, and the schema of its records. */
function listIn({ documents }: Import, schema: Node): { data: string; record: Node } | undefined {
  const whole = documents.follow(schema);
  if (typeIn(documents, whole) === 'array') return { data: '', record: memberOf(whole, 'items') };
  const lists = [...propertiesIn(documents, whole)].filter(
    ([name, member]) => typeIn(documents, member) === 'array' && !name.includes('.'),
  );
  const ofObjects = lists.filter(
    ([, member]) => typeIn(documents, memberOf(documents.follow(member), 'items')) === 'object',
  );
  const named = lists.filter(([name]) => LISTS.has(plain(name)));
  const [only, ...others] = named.length === 1 ? named : ofObjects;
  if (!only || others.length > 0) return undefined;
  return { data: only[0], record: memberOf(documents.follow(only[1]), 'items') };
}

/** Returns the path of the cursor in an answer, at its top or one object below. */
function nextIn({ documents }: Import, schema: Node): string | undefined {
  const top = propertiesIn(documents, schema);
  const direct = textNamed(documents, top);
  if (direct !== undefined) return direct;
  for (const [name, member] of top) {
    if (typeIn(documents, member) !== 'object' || name.includes('.')) continue;
    const below = textNamed(documents, propertiesIn(documents, member));
    if (below !== undefined) return `${name}.${below}`;
  }
  return undefined;
}

function textNamed(documents: Import['documents'], members: Map<string, Node>): string | undefined {
  for (const name of NEXT) {
    for (const [own, member] of members) {
      if (plain(own) !== name || own.includes('.')) continue;
      const { value } = documents.follow(member);
      const isAddress = isRecord(value) && (value['format'] === 'uri' || value['format'] === 'url');
      if (!isAddress && typeIn(documents, member) === 'string') return own;
    }
  }
  return undefined;
}

function sizeOf(context: Import, size: Parameter | undefined): Written {
  if (!size) return {};
  const { value } = schemaOf(context, size);
  const { maximum } = isRecord(value) ? value : {};
  const most = typeof maximum === 'number' && maximum >= 1 ? Math.min(Math.floor(maximum), 1000) : undefined;
  return { limitParam: size.name, ...(most === undefined ? {} : { maxLimit: most }) };
}

function totalOf({ documents }: Import, schema: Node, { data }: { data: string }): Written {
  if (data === '') return {};
  const found = [...propertiesIn(documents, schema)].find(
    ([name, member]) => TOTALS.has(plain(name)) && typeIn(documents, member) === 'integer',
  );
  return found ? { total: `body:${found[0]}` } : {};
}

function firstPage(context: Import, page: Parameter): Written {
  const { value } = schemaOf(context, page);
  const { minimum, default: first } = isRecord(value) ? value : {};
  return first === 0 || (first === undefined && minimum === 0) ? { firstPage: 0 } : {};
}

function isNumber(context: Import, parameter: Parameter): boolean {
  const type = typeIn(context.documents, schemaOf(context, parameter));
  return type === 'integer' || type === 'number';
}

function schemaOf({ documents, isSwagger2 }: Import, { node }: Parameter): Node {
  return isSwagger2 ? node : documents.follow(memberOf(node, 'schema'));
}

function describedBy({ node }: Parameter): string {
  const { value } = memberOf(node, 'description');
  return typeof value === 'string' ? value.slice(0, 1000) : '';
}

function plain(name: string): string {
  return name.toLowerCase().replaceAll(/[^a-z0-9]/g, '');
}
