import type { Context } from '../context.ts';
import { StoreUnavailable, type GatehouseError } from '../lib/errors.ts';
import { withoutHidden } from '../lib/hidden.ts';
import { isJsonObject, type Json, type JsonObject } from '../lib/json.ts';
import { isContent } from './content.ts';
import type { Grant } from './grant.ts';
import { THIRD_PARTY } from './third-party.ts';
import { keepResult, type ResultSource } from './kept-results.ts';

/** The result of tools/call, as the SDK sends it. */
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

/** What is inlined, in bytes; larger results are kept and read as a resource. */
export const INLINE_BYTES = 64 * 1024;
/** The least that a caller may ask for. */
export const LEAST_BYTES = 1024;
/** What `result` may take, with its note. */
const FRAME_BYTES = 500;
const MAX_PREVIEW_CHARS = 4096;

/** How much of a result is inlined, and what it is of. */
export interface Sizing {
  maxBytes: number;
  /** Where the page of a list begins, so that the next call goes on behind what is shown. */
  offset: number;
  source: ResultSource;
}

/** What a call of an action says of its answer. */
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

type ResultContext = Pick<Context, 'db' | 'clock' | 'keys'>;

/**
 * A good answer as JSON text: structured, and the same as text for clients that know no structure. The structure is
 * written out once and used twice: for a page of 50 records that is a third of the cost of the whole call. One that
 * is too large is kept for an hour: see fit().
 */
export async function toResultText(
  context: ResultContext,
  grant: Grant,
  structuredContent: JsonObject,
  { thirdParty = false, sizing }: { thirdParty?: boolean; sizing?: Sizing | undefined } = {},
): Promise<string> {
  if (isContent(structuredContent))
    return JSON.stringify(thirdParty ? marked(structuredContent) : structuredContent);
  const text = JSON.stringify(structuredContent);
  const fitting = fits(text, sizing?.maxBytes ?? INLINE_BYTES)
    ? structuredContent
    : await fit(context, grant, { value: structuredContent, text, sizing });
  const shown = fitting === structuredContent ? text : JSON.stringify(fitting);
  const links = linksIn(fitting).map((link) => `,${JSON.stringify(link)}`);
  const mark = thirdParty ? MARK : '';
  return `{"content":[{"type":"text","text":${JSON.stringify(shown)}${mark}}${links.join('')}],"structuredContent":${shown}}`;
}

/** Content that an app wrote, each block marked. */
function marked(answer: JsonObject): JsonObject {
  const { content } = answer;
  if (!Array.isArray(content)) return answer;
  return {
    ...answer,
    content: content.map((block) => (isJsonObject(block) ? { ...block, _meta: THIRD_PARTY } : block)),
  };
}

/** The same value where it is small enough, else what of it is inlined. */
export async function fitted(
  context: ResultContext,
  grant: Grant,
  value: JsonObject,
  sizing: Sizing,
): Promise<JsonObject> {
  const text = JSON.stringify(value);
  return fits(text, sizing.maxBytes) ? value : fit(context, grant, { value, text, sizing });
}

function fits(text: string, maxBytes: number): boolean {
  // A character is at most three bytes of UTF-8.
  return text.length * 3 <= maxBytes || Buffer.byteLength(text) <= maxBytes;
}

/**
 * Of a list, as many whole records as fit, with the offset behind them; of anything else its beginning as text. Both with
 * `result`, which tells where the whole is read, page by page.
 */
async function fit(
  context: ResultContext,
  grant: Grant,
  { value, text, sizing }: { value: JsonObject; text: string; sizing: Sizing | undefined },
): Promise<JsonObject> {
  const kept = await keepWhereRoom(context, grant, text, sizing?.source);
  const maxBytes = sizing?.maxBytes ?? INLINE_BYTES;
  const where = kept
    ? `, or all ${kept.bytes} bytes are at ${kept.uri}?page=1 to ${kept.pages}, within an hour`
    : '';
  const { data, pagination } = value;
  if (sizing && Array.isArray(data) && isJsonObject(pagination)) {
    const rest = Buffer.byteLength(JSON.stringify({ ...value, data: [] }));
    const shown = shownRecords(data, maxBytes - FRAME_BYTES - rest);
    if (shown > 0) {
      const nextOffset = sizing.offset + shown;
      const note = `${shown} of the ${data.length} records of this page are shown: go on with offset ${nextOffset}${where}.`;
      return {
        ...value,
        data: data.slice(0, shown),
        pagination: { hasMore: true, nextOffset },
        result: { ...kept, note },
      };
    }
  }
  const note = `Too large to inline: ask for less, by fields where the tool has them${where}.`;
  const begins = text.slice(0, Math.min(MAX_PREVIEW_CHARS, Math.floor((maxBytes - FRAME_BYTES) / 3)));
  return { result: { ...kept, note, begins } };
}

/** Undefined while the store takes no writes: the beginning of a result is worth more than none. */
async function keepWhereRoom(...args: Parameters<typeof keepResult>) {
  try {
    return await keepResult(...args);
  } catch (error) {
    if (error instanceof StoreUnavailable) return undefined;
    throw error;
  }
}

/** How many of the records, from the first on, take no more than this: never all, or the whole would have fitted. */
function shownRecords(data: Json[], room: number): number {
  let left = room;
  const over = data.findIndex((record) => {
    left -= Buffer.byteLength(JSON.stringify(record)) + 1;
    return left < 0;
  });
  return Math.max(0, over);
}

/** Links to kept results, of a single answer and of a batch. */
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

/** What a tool run met, as a result that says what to do next (contract.md section 3). */
export function toErrorResult(error: GatehouseError, requestId: string): ToolResult {
  const { details } = error;
  const view = errorView(error, requestId);
  const said = details?.['message'];
  const quoted =
    typeof said === 'string'
      ? [{ type: 'text' as const, text: withoutHidden(JSON.stringify({ said })), _meta: THIRD_PARTY }]
      : [];
  const question = details?.['question'];
  // It names the account in the app's words.
  const asked =
    typeof question === 'string' ? [{ type: 'text' as const, text: question, _meta: THIRD_PARTY }] : [];
  const next = nextStep(error);
  const link = details?.['connectUrl'] ?? details?.['reconnectUrl'];
  const open = typeof link === 'string' ? ` The link, good for fifteen minutes: ${link}` : '';
  const token = details?.['confirmationToken'];
  const agreed = typeof token === 'string' ? ` confirmationToken: ${token}` : '';
  const faults =
    details?.['inputSchema'] === undefined ? '' : `\nInput schema: ${JSON.stringify(details['inputSchema'])}`;
  return {
    content: [
      { type: 'text', text: `${view.message}${next ? ` ${next}` : ''}${open}${agreed}${faults}` },
      ...quoted,
      ...asked,
    ],
    structuredContent: { error: view },
    isError: true,
  };
}

type ErrorView = JsonObject & { message: string };

/** An error as it stands in `structuredContent`, with what to do next. */
export function errorView(error: GatehouseError, requestId: string): ErrorView {
  const { code, details } = error;
  // The app's own words stand alone: mixed into ours they could tell the model what to do.
  const said = details?.['message'];
  const message = typeof said === 'string' ? error.message.replace(`: ${said}`, '') : error.message;
  const view: ErrorView = { code, message, requestId };
  const next = nextStep(error);
  if (next !== undefined) view['next'] = next;
  if (details) view['details'] = JSON.parse(JSON.stringify(details));
  return view;
}

/** What a model does next: by the code of the error, and where its reason says more, by that. */
function nextStep({ code, details }: GatehouseError): string | undefined {
  return NEXT_STEPS[`${code} ${String(details?.['reason'])}`] ?? NEXT_STEPS[code];
}

const NEXT_STEPS: { [code: string]: string } = {
  invalid_request: 'Repair what is named and call again.',
  connector_not_found: 'list_connectors_svc names those that are here.',
  action_not_found: 'search_actions_svc or get_connector_svc name those that are here.',
  credential_required: 'Ask the user to open the link and connect an account of this app, then call again.',
  credential_ambiguous: 'Ask the user which account is meant, then call again with its credentialId.',
  credential_not_found: 'list_credentials_svc names those of this user.',
  credential_invalid: 'Ask the user to connect this account anew, then call again.',
  user_id_missing: 'Tell the operator that this server was called without a user.',
  confirmation_required:
    'Show the user the question that follows, whole, and ask whether they agree. If they do, call execute_action_svc with the same ' +
    'connectorId, actionId and parameters and this token.',
  confirmation_too_large: 'Call again with less: fewer or shorter parameters, in several calls.',
  confirmation_declined: 'Do not try again unless the user asks for it.',
  restricted: 'Do not try again; tell the user that the operator does not allow it.',
  upstream_rejected: 'Change the parameters by what the app says before calling again.',
  'upstream_rejected permission':
    'Do not repeat the call. Tell the user that this account has no right to do this at the app.',
  upstream_rate_limited: 'Wait as long as it says before calling again.',
  upstream_timeout: 'It may have been done all the same: read before you repeat a write.',
  upstream_failed: 'Try again in a moment; read before you repeat a write.',
  upstream_too_large: 'Ask for less: fewer records or a narrower filter.',
};
