import type { Context } from '../context.ts';
import { HOUR } from '../lib/clock.ts';
import type { GatehouseError } from '../lib/errors.ts';
import { withoutHidden } from '../lib/hidden.ts';
import { newId } from '../lib/ids.ts';
import type { JsonObject } from '../lib/json.ts';
import { isContent } from './content.ts';
import type { Grant } from './grant.ts';

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

/** Marks what an app said: data, whatever it says. */
const THIRD_PARTY = { 'gatehouse/source': 'third_party' } as const;
const MARK = `,"_meta":${JSON.stringify(THIRD_PARTY)}`;

/** What is inlined, in bytes; larger results are kept and read as a resource. */
export const INLINE_BYTES = 64 * 1024;
const PREVIEW_CHARS = 4096;
const KEPT_MS = HOUR;

/**
 * A good answer as JSON text: structured, and the same as text for clients that know no structure. The structure is
 * written out once and used twice: for a page of 50 records that is a third of the cost of the whole call. One that
 * is too large is kept for an hour, and given as its beginning and a link.
 */
export async function toResultText(
  context: Pick<Context, 'db' | 'clock'>,
  grant: Grant,
  structuredContent: JsonObject,
  { thirdParty = false } = {},
): Promise<string> {
  if (isContent(structuredContent)) return JSON.stringify(structuredContent);
  const text = JSON.stringify(structuredContent);
  // A character is at most three bytes of UTF-8.
  if (text.length * 3 <= INLINE_BYTES || Buffer.byteLength(text) <= INLINE_BYTES) {
    const mark = thirdParty ? MARK : '';
    return `{"content":[{"type":"text","text":${JSON.stringify(text)}${mark}}],"structuredContent":${text}}`;
  }
  return JSON.stringify(await keepLarge(context, grant, text));
}

async function keepLarge(
  context: Pick<Context, 'db' | 'clock'>,
  grant: Grant,
  text: string,
): Promise<ToolResult> {
  const size = Buffer.byteLength(text);

  const resultId = newId('res');
  const now = context.clock.now();
  await context.db
    .insertInto('results')
    .values({
      result_id: resultId,
      environment: grant.environment,
      user_id: grant.userId ?? null,
      server_id: grant.live.server.serverId,
      content: text,
      expires_at: now + KEPT_MS,
      created_at: now,
    })
    .execute();
  const uri = `svc://results/${resultId}`;
  const pages = Math.ceil(text.length / INLINE_BYTES);
  const note =
    `The result has ${size} bytes, too many to inline. Read it in ${pages} pages from ${uri}?page=1 on, within an hour; ` +
    `or ask for less of it. It begins:\n${text.slice(0, PREVIEW_CHARS)}`;
  return {
    content: [
      { type: 'text', text: note },
      { type: 'resource_link', uri, name: 'The whole result', mimeType: 'application/json', size },
    ],
    structuredContent: { result: { resultId, uri, bytes: size, pages } },
  };
}

/** A page of a kept result, for the user and server that it was made for; undefined for everybody else. */
export async function readResult(
  { db, clock }: Pick<Context, 'db' | 'clock'>,
  grant: Grant,
  resultId: string,
  page: number,
): Promise<string | undefined> {
  const row = await db
    .selectFrom('results')
    .select(['content', 'user_id'])
    .where('result_id', '=', resultId)
    .where('environment', '=', grant.environment)
    .where('server_id', '=', grant.live.server.serverId)
    .where('expires_at', '>', clock.now())
    .executeTakeFirst();
  if (!row || row.user_id !== (grant.userId ?? null)) return undefined;
  const text = row.content.slice((page - 1) * INLINE_BYTES, page * INLINE_BYTES);
  return text === '' ? undefined : text;
}

/** What a tool run met, as a result that says what to do next (contract.md section 3). */
export function toErrorResult(error: GatehouseError, requestId: string): ToolResult {
  const { code, details } = error;
  // The app's own words stand alone: mixed into ours they could tell the model what to do.
  const said = details?.['message'];
  const message = typeof said === 'string' ? error.message.replace(`: ${said}`, '') : error.message;
  const quoted =
    typeof said === 'string'
      ? [{ type: 'text' as const, text: withoutHidden(JSON.stringify({ said })), _meta: THIRD_PARTY }]
      : [];
  const next = NEXT_STEPS[code];
  const link = details?.['connectUrl'] ?? details?.['reconnectUrl'];
  const open = typeof link === 'string' ? ` The link, good for fifteen minutes: ${link}` : '';
  const token = details?.['confirmationToken'];
  const agreed = typeof token === 'string' ? ` confirmationToken: ${token}` : '';
  const faults =
    details?.['inputSchema'] === undefined ? '' : `\nInput schema: ${JSON.stringify(details['inputSchema'])}`;
  return {
    content: [
      { type: 'text', text: `${message}${next ? ` ${next}` : ''}${open}${agreed}${faults}` },
      ...quoted,
    ],
    structuredContent: { error: { code, message, requestId, ...(details ? { details } : {}) } },
    isError: true,
  };
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
    'Tell the user what it will do and ask whether they agree. If they do, call execute_action_svc with the same ' +
    'connectorId, actionId and parameters and this token.',
  confirmation_declined: 'Do not try again unless the user asks for it.',
  restricted: 'Do not try again; tell the user that the operator does not allow it.',
  upstream_rejected: 'Change the parameters by what the app says before calling again.',
  upstream_rate_limited: 'Wait as long as it says before calling again.',
  upstream_timeout: 'It may have been done all the same: read before you repeat a write.',
  upstream_failed: 'Try again in a moment; read before you repeat a write.',
  upstream_too_large: 'Ask for less: fewer records or a narrower filter.',
};
