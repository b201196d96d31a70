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
  const chunks: Buffer[] = [];
  for await (const chunk of capped(decompressed(body, encoding), maxBytes)) chunks.push(chunk);
  return chunks.length === 1 && chunks[0] ? chunks[0] : Buffer.concat(chunks);
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
      const limit = `${Math.round(maxBytes / 1024 / 1024)} MiB`;
      throw new GatehouseError(
        'upstream_too_large',
        `The answer is larger than ${limit}. Ask for less of it.`,
      );
    }
    yield bytes;
  }
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
