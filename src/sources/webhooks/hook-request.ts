import {
  formIn,
  inUtf8,
  isForm,
  UnknownCharset,
  unknownCharsetOf,
  unpackedRequest,
} from '../../lib/http/body-text.ts';
import { GatehouseError } from '../../lib/errors.ts';
import { MIB } from '../../lib/http/http-body.ts';
import { MAX_JSON_DEPTH, valueAt, type Json } from '../../lib/json.ts';
import { MAX_VALUES, parseBytes, TooManyValues, type Pause } from '../../lib/json-steps.ts';

/** Largest accepted webhook, bytes, also unpacked. Shopify and GitHub limit theirs to 25 MB, and other apps send far less. */
export const MAX_HOOK_BYTES = 10 * MIB;

/** A webhook as it arrived. */
export interface ArrivedHook {
  method: string;
  /** Our whole address, with its query. */
  url: string;
  query: URLSearchParams;
  /** A header by its lower-case name. */
  header(name: string): string | undefined;
  /** The bytes that arrived, which are signed. */
  raw: Buffer;
}

/** A webhook whose body was read. */
export interface HookRequest extends ArrivedHook {
  /** The body as JSON or form members; null when it is blank, neither, or not read yet. */
  body: Json;
}

/** Returns the value at `header:<name>`, `body:<path>` or `query:<parameter>` as text. */
export function textAt(
  request: Pick<HookRequest, 'header' | 'body' | 'query'>,
  place: string,
): string | undefined {
  const [where = '', ...rest] = place.split(':');
  const name = rest.join(':');
  const value =
    where === 'header'
      ? request.header(name.toLowerCase())
      : where === 'query'
        ? (request.query.get(name) ?? undefined)
        : valueAt(request.body, name);
  if (typeof value === 'number' || typeof value === 'boolean') return String(value);
  return typeof value === 'string' && value !== '' ? value : undefined;
}

/**
 * Parses the body of a webhook: JSON, or the members of a form. A large one is parsed in steps.
 * @throws GatehouseError `invalid_request`, `unsupported_media_type` or `payload_too_large` for a body that is neither, in an
 * unknown charset or encoding, or too large.
 */
export async function readHookBody({ raw, header }: ArrivedHook, pause: Pause): Promise<Json> {
  const contentType = header('content-type') ?? '';
  const bytes = await unpackedRequest(raw, header('content-encoding'), MAX_HOOK_BYTES);
  try {
    if (isForm(contentType)) return Object.fromEntries(formIn(bytes, contentType));
    const text = inUtf8(bytes, contentType);
    return isBlank(text) ? null : await parseBytes(text, pause);
  } catch (error) {
    if (error instanceof UnknownCharset) throw unknownCharsetOf(error);
    if (error instanceof TooManyValues) {
      const most = MAX_VALUES.toLocaleString('en');
      throw new GatehouseError('payload_too_large', `The webhook holds more than ${most} values.`, {
        cause: error,
      });
    }
    const rule =
      error instanceof RangeError
        ? `nests deeper than ${MAX_JSON_DEPTH} levels`
        : 'is neither JSON nor a form';
    throw new GatehouseError('invalid_request', `The body of the webhook ${rule}.`, { cause: error });
  }
}

function isBlank(bytes: Buffer): boolean {
  return bytes.length < 1024 && bytes.toString('utf8').trim() === '';
}
