import type { Readable } from 'node:stream';
import { createBrotliDecompress, createGunzip, createInflate } from 'node:zlib';
import { GatehouseError } from './errors.ts';

/**
 * The whole body, decompressed by its Content-Encoding (undefined for a body that is empty), up to `maxBytes`.
 * @throws GatehouseError `upstream_too_large`
 */
export async function readCapped(
  body: Readable,
  encoding: string | string[] | undefined,
  maxBytes: number,
): Promise<Buffer> {
  const stream = decompressed(body, encoding);
  // Events, not iteration: an async iterator costs an answer of one chunk 30 µs.
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let size = 0;
    stream.on('data', (chunk: Buffer) => {
      size += chunk.length;
      if (size > maxBytes) {
        reject(tooLarge(maxBytes));
        stream.destroy();
        return;
      }
      chunks.push(chunk);
    });
    stream.on('end', () => resolve(chunks.length === 1 && chunks[0] ? chunks[0] : Buffer.concat(chunks)));
    stream.on('error', reject);
    stream.on('close', () => reject(new Error('The answer ended before its end.')));
  });
}

/** The body as it comes, decompressed, up to `maxBytes` in all; `translate` makes errors ours. */
export async function* decoderOf(
  body: Readable,
  encoding: string | string[] | undefined,
  maxBytes: number,
  translate: (error: unknown) => Error,
): AsyncIterable<Buffer> {
  try {
    yield* capped(decompressed(body, encoding), maxBytes);
  } catch (error) {
    throw translate(error);
  }
}

/** Counts what comes out, so that a small body that unpacks to a large one ends early. */
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

function tooLarge(maxBytes: number): GatehouseError {
  const limit = `${Math.round(maxBytes / 1024 / 1024)} MiB`;
  return new GatehouseError('upstream_too_large', `The answer is larger than ${limit}. Ask for less of it.`);
}

function decompressed(body: Readable, encoding: string | string[] | undefined): Readable {
  const decoder = decoderFor(
    String(encoding ?? '')
      .trim()
      .toLowerCase(),
  );
  if (!decoder) return body;
  body.on('error', (error) => decoder.destroy(error));
  decoder.on('close', () => body.destroy());
  return body.pipe(decoder);
}

function decoderFor(encoding: string) {
  switch (encoding) {
    case 'gzip':
    case 'x-gzip':
      return createGunzip();
    case 'deflate':
      return createInflate();
    case 'br':
      return createBrotliDecompress();
    default:
      return undefined;
  }
}
