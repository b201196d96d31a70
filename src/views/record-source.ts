import type { Host } from './host-bridge.ts';
import { isObject, numberOf, objectOf, textOf, type Json, type JsonObject } from './json-values.ts';
import { PAGE_ROWS, type Chunk } from './record-pages.ts';
import type { ShownFacts } from './shown-facts.ts';

/* Reads further records of a result through tools of the server: those of a stored result, and the next page of a list. */

const READ_RESULT = 'read_result_svc';
const EXECUTE_ACTION = 'execute_action_svc';
/** Records to ask for at a time; the server sends fewer where they are large. */
const CHUNK = 200;

export interface RecordSource {
  /** The records that the result itself has. */
  readonly first: Chunk & { start: number };
  /** Reads the records from a position on; undefined when the result cannot be continued. */
  readonly read: ((position: number) => Promise<Chunk>) | undefined;
  /** Returns the source of the records that have all words of a query; undefined where it is no stored result. */
  readonly find: ((query: string) => RecordSource) | undefined;
}

/** The call whose result is shown. */
interface Shown {
  facts: ShownFacts;
  /** Arguments of the call. */
  args: JsonObject;
  /** The structured answer. */
  answer: JsonObject;
}

/** Reads a stored result whose answer has no records. Returns undefined where it is no list. */
export async function storedList(host: Host, resultId: string): Promise<RecordSource | undefined> {
  const answer = await host.callTool(READ_RESULT, { resultId, limit: CHUNK });
  if (!isList(answer)) return undefined;
  const first = { start: 0, rows: rowsOf(answer), total: numberOf(answer['total']) };
  return storedSource(host, { args: { resultId }, first });
}

/** Returns the records of a list, and how its other records are read. */
export function sourceOf(host: Host, { facts, args, answer }: Shown): RecordSource {
  const rows = Array.isArray(answer['data']) ? answer['data'] : [];
  const asks = host.can('serverTools');
  if (facts.tool === READ_RESULT) {
    const first = { start: numberOf(args['offset']) ?? 0, rows, total: numberOf(answer['total']) };
    return storedSource(host, { args, first });
  }
  const list = asks && facts.action?.pages ? listReader(host, { facts, args, answer }) : undefined;
  const start = startOf(facts, args);
  const { hasMore } = objectOf(answer['pagination']);
  const end = start + rows.length;
  const first = { start, rows, total: hasMore === true ? undefined : end };
  const resultId = textOf(objectOf(answer['result'])['resultId']);
  if (!asks || resultId === undefined)
    return { first, read: first.total === end ? undefined : list, find: undefined };

  // The stored result has the whole page of the app. Reading it calls no app.
  const stored = storedSource(host, { args: { resultId }, first: { start: 0, rows, total: undefined } });
  let storedEnd: number | undefined;
  return {
    ...stored,
    first,
    async read(position) {
      if (storedEnd !== undefined && position >= storedEnd) return list ? list(position) : { rows: [] };
      const chunk = (await stored.read?.(position - start)) ?? { rows: [] };
      storedEnd = start + (chunk.total ?? 0);
      // The app may have more than the stored page.
      return { rows: chunk.rows, total: list ? undefined : storedEnd };
    },
  };
}

function storedSource(
  host: Host,
  { args, first }: { args: JsonObject; first: RecordSource['first'] },
): RecordSource {
  const readWith =
    (more: JsonObject) =>
    async (position: number): Promise<Chunk> => {
      const answer = await host.callTool(READ_RESULT, { ...args, ...more, offset: position, limit: CHUNK });
      return { rows: rowsOf(answer), total: numberOf(answer['total']) };
    };
  const canFind = host.can('serverTools');
  return {
    first,
    read: canFind ? readWith({}) : undefined,
    find: canFind
      ? (query) => ({ first: { start: 0, rows: [] }, read: readWith({ query }), find: undefined })
      : undefined,
  };
}

/** Returns the records of an answer. A note stands for a record that is too large for an answer. */
function rowsOf({ data, note }: JsonObject): Json[] {
  const rows = Array.isArray(data) ? data : [];
  return rows.length === 0 && typeof note === 'string' ? [{ note }] : rows;
}

/** Returns how the next page of a list is read: by the same call with another offset. */
function listReader(host: Host, { facts, args }: Shown): (position: number) => Promise<Chunk> {
  const tool = facts.tool ?? EXECUTE_ACTION;
  return async (offset) => {
    const { maxBytes: _, ...rest } = args;
    const place = { offset, limit: PAGE_ROWS };
    const call =
      tool === EXECUTE_ACTION
        ? { ...rest, parameters: { ...objectOf(args['parameters']), ...place } }
        : { ...args, ...place };
    const answer = await host.callTool(tool, call);
    const rows = rowsOf(answer);
    const { hasMore } = objectOf(answer['pagination']);
    return { rows, total: hasMore === true && rows.length > 0 ? undefined : offset + rows.length };
  };
}

function startOf({ tool }: ShownFacts, args: JsonObject): number {
  const parameters = tool === EXECUTE_ACTION ? objectOf(args['parameters']) : args;
  return numberOf(parameters['offset']) ?? 0;
}

/** Returns whether an answer is a list of records. */
export function isList({ data }: JsonObject): boolean {
  return Array.isArray(data) && (data.length === 0 || data.some(isObject) || data.length > 1);
}
