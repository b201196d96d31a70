import { isUtf8 } from 'node:buffer';
import type { Action } from '../connectors/catalog.ts';
import type { Json } from '../lib/json.ts';
import { tooLarge } from '../outbound/outbound-body.ts';
import { MAX_ANSWER_BYTES } from '../outbound/outbound.ts';
import { blankSecrets, secretsIn } from '../lib/scrub.ts';
import type { Secret } from '../lib/secret.ts';
import type { FileStore } from './file-store.ts';
import type { UpstreamCall } from './upstream-call.ts';
import { readsXml } from './xml-answer.ts';

const DEFAULT_TYPE = 'application/octet-stream';

/** An answer that is a file, as it arrives. */
export interface ArrivingFile {
  headers: Record<string, string>;
  content: AsyncIterable<Buffer>;
  /** Live secrets of the request, which no stored file may hold. */
  secrets: readonly Secret[];
  /** The place of the content, which only a text in memory needs to its end. */
  place: Disposable;
}

/** Media types that a raw call returns as a value. */
const VALUE_TYPES = /json|^text\/(plain|csv)/i;

/** Returns whether calls of an action may be answered with a file. */
export function mayAnswerFile({ raw, method, definition }: Action): boolean {
  return definition.response.body === 'file' || (raw && method !== 'HEAD');
}

/** Returns whether a successful answer is a file. The answer of a raw call names its type itself. */
export function answersFile({ connector, action }: Pick<UpstreamCall, 'connector' | 'action'>, type: string) {
  if (!action.raw) return action.definition.response.body === 'file';
  const isValue = VALUE_TYPES.test(type) || (/xml/i.test(type) && readsXml({ connector, action }));
  return mayAnswerFile(action) && type !== '' && !isValue;
}

/** A file as the value of an answer, and the secrets that may be in it. */
export interface FileAnswer {
  body: Json;
  reflected: readonly string[];
}

/**
 * Returns a file as JSON, without a store: UTF-8 text unchanged, other content in base64, without the secrets in
 * `reflected`.
 */
export function fileOf(contentType: string, bytes: Buffer, reflected: readonly string[]): Json {
  const file = { mediaType: contentType || DEFAULT_TYPE, size: bytes.length };
  if (isText(bytes)) return { ...file, text: bytes.toString('utf8') };
  const clean = reflected.length > 0 ? blankSecrets(bytes, reflected) : bytes;
  return { ...file, base64: clean.toString('base64') };
}

/**
 * Returns a file: UTF-8 text up to 10 MiB as {mediaType, size, text}. Other content goes to the store as it arrives,
 * and is {fileId, mediaType, size}.
 * @throws GatehouseError as FileStore.save(), and every error of the content.
 */
export async function storedFile(store: FileStore, file: ArrivingFile): Promise<FileAnswer> {
  const { headers, content, secrets } = file;
  const mediaType = headers['content-type'] || DEFAULT_TYPE;
  const length = headers['content-encoding'] === undefined ? headers['content-length'] : undefined;
  if (Number(length ?? 0) > store.maxBytes) {
    await discard(content);
    throw tooLarge(store.maxBytes);
  }
  const chunks = content[Symbol.asyncIterator]();
  const start = await textStart(chunks);
  const held = Buffer.concat(start.chunks);
  if (start.isWhole && isText(held)) {
    const reflected = secretsIn(held, secrets);
    return { body: { mediaType, size: held.length, text: held.toString('utf8') }, reflected };
  }
  file.place[Symbol.dispose]();
  const { fileId, size } = await store.save({
    content: withoutSecrets(joined(held, chunks), secrets),
    mediaType,
    announced: length === undefined ? undefined : Number(length),
  });
  return { body: { fileId, mediaType, size }, reflected: [] };
}

/** Reads the beginning of a content: all of it while it looks like text, up to the largest text. */
async function textStart(chunks: AsyncIterator<Buffer>): Promise<{ chunks: Buffer[]; isWhole: boolean }> {
  const decoder = new TextDecoder('utf-8', { fatal: true });
  const read: Buffer[] = [];
  let size = 0;
  for (;;) {
    const next = await chunks.next();
    if (next.done) return { chunks: read, isWhole: true };
    read.push(next.value);
    size += next.value.length;
    if (size > MAX_ANSWER_BYTES || !continuesText(decoder, next.value))
      return { chunks: read, isWhole: false };
  }
}

function continuesText(decoder: InstanceType<typeof TextDecoder>, chunk: Buffer): boolean {
  if (chunk.includes(0)) return false;
  try {
    decoder.decode(chunk, { stream: true });
    return true;
  } catch {
    return false;
  }
}

function isText(bytes: Buffer): boolean {
  return isUtf8(bytes) && !bytes.includes(0);
}

async function* joined(first: Buffer, rest: AsyncIterator<Buffer>): AsyncGenerator<Buffer> {
  try {
    if (first.length > 0) yield first;
    for (let next = await rest.next(); !next.done; next = await rest.next()) yield next.value;
  } finally {
    // Closes the connection where the reader stopped before the end.
    await rest.return?.();
  }
}

/** Forms of a secret, such as a URL-encoded one, are at most this many times as long. */
const LONGEST_FORM = 4;

/** Yields a content with `*` in place of each secret, also of one that lies over two chunks. */
async function* withoutSecrets(
  content: AsyncIterable<Buffer>,
  secrets: readonly Secret[],
): AsyncGenerator<Buffer> {
  const overlap = LONGEST_FORM * Math.max(0, ...secrets.map((secret) => secret.open().length));
  let end = Buffer.alloc(0);
  for await (const chunk of content) {
    const bytes = end.length === 0 ? chunk : Buffer.concat([end, chunk]);
    const found = secretsIn(bytes, secrets);
    const clean = found.length > 0 ? blankSecrets(bytes, found) : bytes;
    const at = Math.max(0, clean.length - overlap);
    if (at > 0) yield clean.subarray(0, at);
    end = Buffer.from(clean.subarray(at));
  }
  if (end.length > 0) yield end;
}

/** Closes the connection of a content. Only a content that was begun can be ended. */
export async function discard(content: AsyncIterable<Buffer>): Promise<void> {
  const chunks = content[Symbol.asyncIterator]();
  await chunks.next();
  await chunks.return?.();
}

/**
 * Returns the bytes of a content that is no file.
 * @throws GatehouseError `upstream_too_large`, and every error of the content.
 */
export async function collected(content: AsyncIterable<Buffer>): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of content) {
    size += chunk.length;
    if (size > MAX_ANSWER_BYTES) throw tooLarge(MAX_ANSWER_BYTES);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}
