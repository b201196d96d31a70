import { isUtf8 } from 'node:buffer';
import { pipeline, Readable } from 'node:stream';
import { promisify } from 'node:util';
import zlib from 'node:zlib';
import { GatehouseError } from '../errors.ts';

/*
 * The one way from the bytes of a body to its text: Content-Encoding, charset, byte order mark. parseJson() then makes
 * the value.
 */

const UTF_8 = 'utf-8';
const inflate = promisify(zlib.inflate);
const inflateRaw = promisify(zlib.inflateRaw);
const CODINGS = {
  gzip: promisify(zlib.gunzip),
  // Some clients send it without the header of zlib, whose first byte names the method 8.
  deflate: (body: Buffer, options: zlib.ZlibOptions) =>
    ((body[0] ?? 8) & 15) === 8 ? inflate(body, options) : inflateRaw(body, options),
  br: promisify(zlib.brotliDecompress),
};
const DECODERS = {
  gzip: zlib.createGunzip,
  deflate: zlib.createInflate,
  br: zlib.createBrotliDecompress,
};
/** Codings of one body, one applied after the other. */
const MAX_CODINGS = 3;

/** A body in a charset that this process does not know. */
export class UnknownCharset extends Error {
  override readonly name = 'UnknownCharset';
  readonly charset: string;

  constructor(charset: string) {
    super(`its charset ${charset} is not known`);
    this.charset = charset;
  }
}

/**
 * Returns a body as UTF-8 without a byte order mark, by the charset of its Content-Type, UTF-8 by default. A byte order
 * mark overrides the charset. Bytes that are not of the charset become U+FFFD. A body in UTF-8 is not copied.
 * @throws UnknownCharset
 */
export function inUtf8(bytes: Buffer, contentType: string): Buffer {
  const charset = charsetOf(bytes, contentType);
  if (charset !== UTF_8) return Buffer.from(new TextDecoder(charset).decode(bytes), 'utf8');
  return bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf ? bytes.subarray(3) : bytes;
}

function textIn(bytes: Buffer, contentType: string): string {
  return inUtf8(bytes, contentType).toString('utf8');
}

/** Returns the text of a file in UTF-8, or in UTF-16 with a byte order mark. @throws Error for other bytes. */
export function fileText(bytes: Buffer): string {
  if (charsetOf(bytes, '') === UTF_8 && !isUtf8(bytes)) throw new Error('it is not text in UTF-8');
  return textIn(bytes, '');
}

/** Returns an answer as text. A body in an unknown charset is read as UTF-8. */
export function answerText({ headers, body }: { headers: Record<string, string>; body: Buffer }): string {
  try {
    return textIn(body, headers['content-type'] ?? '');
  } catch {
    return textIn(body, '');
  }
}

/**
 * Returns a request body as UTF-8 without a byte order mark.
 * @throws GatehouseError `unsupported_media_type` for an unknown charset, `invalid_request` for bytes that are no text of
 * the charset.
 */
export function requestInUtf8(bytes: Buffer, contentType: string): Buffer {
  try {
    const charset = charsetOf(bytes, contentType);
    if (charset !== UTF_8) return Buffer.from(decoded(bytes, charset), 'utf8');
    if (!isUtf8(bytes)) throw notText(UTF_8);
    return inUtf8(bytes, contentType);
  } catch (error) {
    throw error instanceof UnknownCharset ? unknownCharsetOf(error) : error;
  }
}

/** Returns the refusal of a request in an unknown charset. */
export function unknownCharsetOf(error: UnknownCharset): GatehouseError {
  return new GatehouseError(
    'unsupported_media_type',
    `The charset ${error.charset} is not known. Send the body in UTF-8.`,
    { cause: error },
  );
}

/** The headers of a request that describe its body, and the limit of the unpacked body. */
export interface RequestBody {
  contentType: string | undefined;
  contentEncoding: string | undefined;
  maxBytes: number;
}

/** Returns a request body as text in UTF-8. @throws as unpackedRequest() and requestInUtf8() */
export async function decodedRequest(
  bytes: Buffer,
  { contentType, contentEncoding, maxBytes }: RequestBody,
): Promise<Buffer> {
  return requestInUtf8(await unpackedRequest(bytes, contentEncoding, maxBytes), contentType ?? '');
}

/** Returns whether a Content-Type names a form (application/x-www-form-urlencoded). */
export function isForm(contentType: string): boolean {
  return /^\s*application\/x-www-form-urlencoded\b/i.test(contentType);
}

/**
 * Returns names and values of a form. Its percent-encoded bytes are in the charset of its Content-Type, UTF-8 by default.
 * Bytes that are not of the charset become U+FFFD.
 * @throws UnknownCharset
 */
export function formIn(bytes: Buffer, contentType: string): [string, string][] {
  const charset = charsetOf(bytes, contentType);
  const text = textIn(bytes, contentType);
  if (charset === UTF_8 || charset.startsWith('utf-16')) return [...new URLSearchParams(text)];
  const decoder = new TextDecoder(charset);
  const plain = (part: string) =>
    part
      .replaceAll('+', ' ')
      .replaceAll(/(?:%[0-9a-f]{2})+/gi, (escapes) =>
        decoder.decode(Buffer.from(escapes.replaceAll('%', ''), 'hex')),
      );
  return text.split('&').flatMap((pair): [string, string][] => {
    const at = pair.indexOf('=');
    if (pair === '') return [];
    return at < 0 ? [[plain(pair), '']] : [[plain(pair.slice(0, at)), plain(pair.slice(at + 1))]];
  });
}

/**
 * Returns names and values of the form in a request, as formIn().
 * @throws GatehouseError as requestInUtf8(); also for percent-encoded bytes that are no text of the charset.
 */
export function requestForm(bytes: Buffer, contentType: string): [string, string][] {
  const text = requestInUtf8(bytes, contentType).toString('utf8');
  const pairs = formIn(bytes, contentType);
  const isReplaced = pairs.some((pair) => pair.join('').includes('\ufffd'));
  if (isReplaced && !/\ufffd|%EF%BF%BD/i.test(text)) throw notText(charsetOf(bytes, contentType));
  return pairs;
}

/**
 * Returns a request body without its Content-Encoding.
 * @throws GatehouseError `unsupported_media_type` for another encoding than gzip, br and deflate, `payload_too_large` when
 * more than `maxBytes` come out, `invalid_request` for a body that is not in that encoding.
 */
export async function unpackedRequest(
  bytes: Buffer,
  contentEncoding: string | undefined,
  maxBytes: number,
): Promise<Buffer> {
  const names = codingsIn(contentEncoding);
  let body = bytes;
  for (const name of names.toReversed()) body = await unpackedBy(name, body, maxBytes);
  return body;
}

/**
 * Yields a request body without its Content-Encoding as it arrives.
 * @throws GatehouseError as unpackedRequest(), and every error of the body.
 */
export async function* unpackedStream(
  body: AsyncIterable<Buffer>,
  contentEncoding: string | undefined,
  maxBytes: number,
): AsyncGenerator<Buffer> {
  const names = codingsIn(contentEncoding);
  if (names.length === 0) return yield* body;
  let stream = Readable.from(body);
  for (const name of names.toReversed()) stream = pipeline(stream, DECODERS[name](), () => {});
  let size = 0;
  try {
    for await (const chunk of stream) {
      const bytes = Buffer.from(chunk);
      size += bytes.length;
      if (size > maxBytes) throw unpacksToMore(maxBytes);
      yield bytes;
    }
  } catch (error) {
    throw error instanceof GatehouseError ? error : notPacked(names.join(', '), error);
  }
}

function codingsIn(contentEncoding: string | undefined): (keyof typeof CODINGS)[] {
  const named = (contentEncoding ?? '').split(',').flatMap((part) => {
    const name = part.trim().toLowerCase();
    return name === '' || name === 'identity' ? [] : [name === 'x-gzip' ? 'gzip' : name];
  });
  const known = named.filter((name) => name === 'gzip' || name === 'deflate' || name === 'br');
  if (known.length === named.length && known.length <= MAX_CODINGS) return known;
  throw new GatehouseError(
    'unsupported_media_type',
    `The Content-Encoding ${named.join(', ').slice(0, 80)} is not known. Send the body as gzip, br or deflate, or without an encoding.`,
    { headers: { 'Accept-Encoding': 'gzip, br, deflate' } },
  );
}

async function unpackedBy(name: keyof typeof CODINGS, body: Buffer, maxBytes: number): Promise<Buffer> {
  try {
    return await CODINGS[name](body, { maxOutputLength: maxBytes });
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : undefined;
    throw code === 'ERR_BUFFER_TOO_LARGE' ? unpacksToMore(maxBytes) : notPacked(name, error);
  }
}

function unpacksToMore(maxBytes: number): GatehouseError {
  return new GatehouseError('payload_too_large', `The body unpacks to more than ${maxBytes} bytes.`);
}

function notPacked(coding: string, cause: unknown): GatehouseError {
  return new GatehouseError(
    'invalid_request',
    `The body is not valid ${coding}, as its Content-Encoding says.`,
    { cause },
  );
}

/** Returns the canonical name of the charset of a body. @throws UnknownCharset */
function charsetOf(bytes: Buffer, contentType: string): string {
  if (bytes[0] === 0xfe && bytes[1] === 0xff) return 'utf-16be';
  if (bytes[0] === 0xff && bytes[1] === 0xfe) return 'utf-16le';
  if (bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf) return UTF_8;
  const named = /;\s*charset\s*=\s*(?:"([^"]*)"|([^\s;"]+))/i.exec(contentType);
  const label = named?.[1] ?? named?.[2];
  if (label === undefined || /^utf-?8$/i.test(label)) return UTF_8;
  try {
    return new TextDecoder(label).encoding;
  } catch {
    throw new UnknownCharset(label.slice(0, 40));
  }
}

function decoded(bytes: Buffer, charset: string): string {
  try {
    return new TextDecoder(charset, { fatal: true }).decode(bytes);
  } catch {
    throw notText(charset);
  }
}

function notText(charset: string): GatehouseError {
  return new GatehouseError(
    'invalid_request',
    `The body is not text in ${charset}. Send it in UTF-8, or name its charset in the Content-Type.`,
  );
}
