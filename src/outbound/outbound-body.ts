import type { Readable } from 'node:stream';
import { promisify } from 'node:util';
import zlib from 'node:zlib';
import { GatehouseError } from '../lib/errors.ts';
import { LARGE_BODY_BYTES, type BodyPlace } from './large-bodies.ts';

const gunzip = promisify(zlib.gunzip);
const inflate = promisify(zlib.inflate);
const brotliDecompress = promisify(zlib.brotliDecompress);

/**
 * Returns a whole body, decompressed by its Content-Encoding (undefined for an empty body), up to `maxBytes`.
 * @throws GatehouseError `upstream_too_large`
 */
export async function unpacked(
  body: Buffer,
  encoding: string | string[] | undefined,
  maxBytes: number,
): Promise<Buffer> {
  const unpack = { gzip: gunzip, deflate: inflate, br: brotliDecompress, none: undefined }[kindOf(encoding)];
  if (!unpack) return body;
  try {
    return await unpack(body, { maxOutputLength: maxBytes });
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : undefined;
    throw code === 'ERR_BUFFER_TOO_LARGE' ? tooLarge(maxBytes) : error;
  }
}

/**
 * Yields the body as it arrives, decompressed, up to `maxBytes` in total. A large one waits unread for its place, until
 * `ended`. `translate` turns errors into ours.
 */
export async function* decoderOf(
  body: Readable,
  encoding: string | string[] | undefined,
  {
    maxBytes,
    translate,
    place,
    ended,
  }: {
    maxBytes: number;
    translate: (error: unknown) => Error;
    place: BodyPlace | undefined;
    ended: AbortSignal;
  },
): AsyncIterable<Buffer> {
  try {
    let size = 0;
    for await (const bytes of capped(decompressed(body, encoding), maxBytes)) {
      size += bytes.length;
      if (place && size > LARGE_BODY_BYTES) await taken(place, ended);
      yield bytes;
    }
  } catch (error) {
    throw translate(error);
  }
}

/** Waits for a place. Rejects when the exchange ends before. */
async function taken(place: BodyPlace, ended: AbortSignal): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    const end = () =>
      reject(ended.reason instanceof Error ? ended.reason : new Error('The exchange was ended.'));
    const begin = () => {
      ended.removeEventListener('abort', end);
      resolve();
    };
    ended.addEventListener('abort', end);
    if (ended.aborted) end();
    else if (place.take(begin)) begin();
  });
}

/** Counts the decompressed bytes, so that a small body that unpacks to a large one ends early. */
async function* capped(stream: Readable, maxBytes: number): AsyncIterable<Buffer> {
  let size = 0;
  for await (const chunk of stream) {
    const bytes = Buffer.isBuffer(chunk) ? chunk : Buffer.from(chunk);
    size += bytes.length;
    if (size > maxBytes) {
      stream.destroy();
      throw tooLarge(maxBytes);
    }
    yield bytes;
  }
}

export function tooLarge(maxBytes: number): GatehouseError {
  const limit = `${Math.round(maxBytes / 1024 / 1024)} MiB`;
  return new GatehouseError('upstream_too_large', `The answer is larger than ${limit}. Ask for less of it.`);
}

function decompressed(body: Readable, encoding: string | string[] | undefined): Readable {
  const decoder = decoderFor(kindOf(encoding));
  if (!decoder) return body;
  body.on('error', (error) => decoder.destroy(error));
  decoder.on('close', () => body.destroy());
  return body.pipe(decoder);
}

function decoderFor(kind: Kind) {
  switch (kind) {
    case 'gzip':
      return zlib.createGunzip();
    case 'deflate':
      return zlib.createInflate();
    case 'br':
      return zlib.createBrotliDecompress();
    case 'none':
      return undefined;
  }
}

type Kind = 'gzip' | 'deflate' | 'br' | 'none';

function kindOf(encoding: string | string[] | undefined): Kind {
  if (encoding === undefined) return 'none';
  const name = String(encoding).trim().toLowerCase();
  if (name === 'x-gzip') return 'gzip';
  return name === 'gzip' || name === 'deflate' || name === 'br' ? name : 'none';
}
