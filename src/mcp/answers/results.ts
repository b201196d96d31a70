import { LEFT_OUT, type Correction } from '../../lib/correction.ts';
import { StoreUnavailable, type GatehouseError } from '../../lib/errors.ts';
import { withoutHidden } from '../../lib/hidden-characters.ts';
import { isJsonObject, type Json, type JsonObject } from '../../lib/json.ts';
import { jsonText } from '../../lib/json-text-steps.ts';
import { isContent } from './content.ts';
import { THIRD_PARTY } from './third-party.ts';
import { storeResult } from '../scope/large-results.ts';
import { choicesOf, errorView, quoted } from './next-steps.ts';
import type { ToolScope } from '../scope/tool.ts';
import type { Sizing } from '../scope/sizing.ts';

/** The result of tools/call in the form that the SDK sends. */
export interface ToolResult {
  content: (
    | { type: 'text'; text: string; _meta?: typeof THIRD_PARTY }
    | { type: 'resource_link'; uri: string; name: string; mimeType: string; size: number }
  )[];
  structuredContent?: { [key: string]: unknown };
  isError?: true;
  [key: string]: unknown;
}

const MARK = `,"_meta":${JSON.stringify(THIRD_PARTY)}`;

/** Bytes of a result that are inlined. Larger results are stored and read as a resource. */
export const INLINE_BYTES = 64 * 1024;
/** The smallest `maxBytes` that a caller may set. */
export const LEAST_BYTES = 1024;
/** Bytes reserved for the member `result` with its note. */
const FRAME_BYTES = 500;
const MAX_PREVIEW_CHARS = 4096;

/** Returns the sizing that a call of an action asks for. */
export function sizingOf(call: {
  connectorId: string;
  actionId: string;
  parameters?: JsonObject | undefined;
  maxBytes?: number | undefined;
}): Sizing {
  const { connectorId, actionId, parameters = {}, maxBytes = INLINE_BYTES } = call;
  const { offset } = parameters;
  return { maxBytes, offset: typeof offset === 'number' ? offset : 0, source: { connectorId, actionId } };
}

/** The store of results, and the user whose results it stores. */
type ResultScope = Pick<ToolScope, 'context' | 'grant'>;

/**
 * Returns a successful answer as JSON text, structured and again as text for clients without support for structure.
 * The structure is serialised once and used twice. For a page of 50 records that saves a third of the cost of the
 * call. An answer that is too large is stored for an hour: see fit().
 */
export async function toResultText(
  scope: Pick<ToolScope, 'context' | 'grant' | 'corrections'>,
  structuredContent: JsonObject,
  {
    thirdParty = false,
    sizing,
    facts,
  }: { thirdParty?: boolean; sizing?: Sizing | undefined; facts?: JsonObject | undefined } = {},
): Promise<string> {
  const note = noteOf(scope.corrections);
  if (isContent(structuredContent))
    return JSON.stringify(
      withFacts(withNote(thirdParty ? asThirdParty(structuredContent) : structuredContent, note), facts),
    );
  const text = await jsonText(structuredContent, scope.context.throttle.pause);
  const fitting = fits(text, sizing?.maxBytes ?? INLINE_BYTES)
    ? structuredContent
    : await fit(scope, { value: structuredContent, text, sizing });
  const shown = fitting === structuredContent ? text : JSON.stringify(fitting);
  const links = linksIn(fitting).map((link) => `,${JSON.stringify(link)}`);
  const mark = thirdParty ? MARK : '';
  const block = note ? `,${JSON.stringify(note.block)}` : '';
  const meta = note || facts ? `,"_meta":${JSON.stringify({ ...note?.meta, ...facts })}` : '';
  return `{"content":[{"type":"text","text":${JSON.stringify(shown)}${mark}}${links.join('')}${block}],"structuredContent":${shown}${meta}}`;
}

/** Adds facts to the metadata of a result: those that the document of MCP Apps shows (view-facts.ts). */
export function withFacts<T extends { [key: string]: unknown }>(answer: T, facts: JsonObject | undefined): T {
  return facts ? { ...answer, _meta: { ...Object(answer['_meta']), ...facts } } : answer;
}

/** Appends our note to the content of an app. */
function withNote(answer: JsonObject, note: ReturnType<typeof noteOf>) {
  const { content, _meta: meta } = answer;
  if (!note || !Array.isArray(content)) return answer;
  return { ...answer, content: [...content, note.block], _meta: { ...Object(meta), ...note.meta } };
}

/** Marks each block of the content that an app wrote. */
function asThirdParty(answer: JsonObject): JsonObject {
  const { content } = answer;
  if (!Array.isArray(content)) return answer;
  return {
    ...answer,
    content: content.map((block) => (isJsonObject(block) ? { ...block, _meta: THIRD_PARTY } : block)),
  };
}

/** Returns the value unchanged when it is small enough, else the part of it that fits. */
export async function fitted(scope: ResultScope, value: JsonObject, sizing: Sizing): Promise<JsonObject> {
  const text = await jsonText(value, scope.context.throttle.pause);
  return fits(text, sizing.maxBytes) ? value : fit(scope, { value, text, sizing });
}

function fits(text: string, maxBytes: number): boolean {
  // A character takes at most three bytes in UTF-8.
  return text.length * 3 <= maxBytes || Buffer.byteLength(text) <= maxBytes;
}

/**
 * Cuts a list to the whole records that fit, with the offset of the next record. Cuts other values to the beginning of
 * their text. `result` holds the address of the stored whole, which is read in pages.
 */
async function fit(
  { context, grant }: ResultScope,
  { value, text, sizing }: { value: JsonObject; text: string; sizing: Sizing | undefined },
): Promise<JsonObject> {
  const stored = await storeIfWritable(context, grant, { text, source: sizing?.source });
  const maxBytes = sizing?.maxBytes ?? INLINE_BYTES;
  const where = stored
    ? `, or read all ${stored.bytes} bytes within an hour: parts, sums and filters by read_result_svc, pages at ${stored.uri}?page=1 to ${stored.pages}`
    : '';
  const { data, pagination } = value;
  if (sizing && Array.isArray(data) && isJsonObject(pagination)) {
    const rest = Buffer.byteLength(JSON.stringify({ ...value, data: [] }));
    const shown = shownRecords(data, maxBytes - FRAME_BYTES - rest);
    if (shown > 0) {
      const nextOffset = sizing.offset + shown;
      const note = `${shown} of the ${data.length} records of this page are shown: continue with offset ${nextOffset}${where}.`;
      return {
        ...value,
        data: data.slice(0, shown),
        pagination: { hasMore: true, nextOffset },
        result: { ...stored, note },
      };
    }
  }
  const note = `Too large to inline: ask for less, by fields where the tool has them${where}.`;
  const begins = text.slice(0, Math.min(MAX_PREVIEW_CHARS, Math.floor((maxBytes - FRAME_BYTES) / 3)));
  const { account } = value;
  return { ...(account === undefined ? {} : { account }), result: { ...stored, note, begins } };
}

/** Stores a result. Returns undefined while the store accepts no writes, because a cut result is better than none. */
async function storeIfWritable(...args: Parameters<typeof storeResult>) {
  try {
    return await storeResult(...args);
  } catch (error) {
    if (error instanceof StoreUnavailable) return undefined;
    throw error;
  }
}

/** Returns how many records fit, counted from the first. The caller knows that not all fit. */
function shownRecords(data: Json[], maxBytes: number): number {
  let left = maxBytes;
  const over = data.findIndex((record) => {
    left -= Buffer.byteLength(JSON.stringify(record)) + 1;
    return left < 0;
  });
  return Math.max(0, over);
}

/** Returns links to stored results, for a single answer and for a batch. */
function linksIn({ result, results }: JsonObject): ToolResult['content'] {
  const all = Array.isArray(results)
    ? results.map((one) => (isJsonObject(one) ? one['result'] : null))
    : [result];
  return all.flatMap((one) => {
    if (!isJsonObject(one) || typeof one['uri'] !== 'string' || typeof one['bytes'] !== 'number') return [];
    const { uri, bytes: size } = one;
    return [
      { type: 'resource_link' as const, uri, name: 'The whole result', mimeType: 'application/json', size },
    ];
  });
}

/** Returns the error of a tool run as a result that says what to do next. */
export function toErrorResult(
  error: GatehouseError,
  { requestId, corrections }: Pick<ToolScope, 'requestId' | 'corrections'>,
): ToolResult {
  const { details } = error;
  const view = errorView(error, requestId);
  const link = details?.['connectUrl'] ?? details?.['reconnectUrl'];
  const open = typeof link === 'string' ? ` The link, valid for 15 minutes: ${link}` : '';
  const token = details?.['confirmationToken'];
  const tokenText = typeof token === 'string' ? ` confirmationToken: ${token}` : '';
  const schema =
    details?.['inputSchema'] === undefined ? '' : `\nInput schema: ${JSON.stringify(details['inputSchema'])}`;
  const text = `${view.message} ${view.next}${choicesOf(error)}${open}${tokenText}${schema}`;
  const note = noteOf(corrections);
  return {
    content: [
      { type: 'text', text },
      ...quoted(error).map((words) => ({ type: 'text' as const, text: words, _meta: THIRD_PARTY })),
      ...(note ? [note.block] : []),
    ],
    structuredContent: { error: view },
    isError: true,
    ...(note ? { _meta: note.meta } : {}),
  };
}

const MAX_SHOWN = 20;

/** Returns the note on corrected arguments: a line for the model, and the corrections as data. */
function noteOf(corrections: readonly Correction[]) {
  if (corrections.length === 0) return undefined;
  const shown = corrections.slice(0, MAX_SHOWN);
  const lines = shown.map(({ path, from, to }) =>
    to === LEFT_OUT
      ? `${path} ${JSON.stringify(from)} was left out`
      : `${path} ${JSON.stringify(from)} as ${JSON.stringify(to)}`,
  );
  const more = corrections.length > shown.length ? ` and ${corrections.length - shown.length} more` : '';
  const text = withoutHidden(`Arguments were corrected: ${lines.join(', ')}${more}.`);
  return { block: { type: 'text' as const, text }, meta: { 'gatehouse/corrections': shown } };
}
