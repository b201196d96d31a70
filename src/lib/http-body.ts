import type { IncomingMessage } from 'node:http';
import { GatehouseError } from './errors.ts';
import { MAX_JSON_DEPTH, parseJson, type Json } from './json.ts';

export const MIB = 1024 * 1024;

/** Reads a request body as UTF-8 text. @throws as readBytes() */
export async function readBody(req: IncomingMessage, maxBytes: number): Promise<string> {
  return (await readBytes(req, maxBytes)).toString('utf8');
}

/**
 * Reads a request body as it came.
 * @throws GatehouseError `payload_too_large` beyond `maxBytes`; the rest is not read.
 */
export async function readBytes(req: IncomingMessage, maxBytes: number): Promise<Buffer> {
  const announced = Number(req.headers['content-length'] ?? 0);
  if (announced > maxBytes) throw tooLarge(maxBytes);
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let size = 0;
    req.on('data', (chunk: Buffer) => {
      size += chunk.length;
      if (size > maxBytes) {
        req.removeAllListeners('data').resume();
        reject(tooLarge(maxBytes));
        return;
      }
      chunks.push(chunk);
    });
    req.on('end', () =>
      resolve(chunks.length === 1 ? (chunks[0] ?? Buffer.alloc(0)) : Buffer.concat(chunks)),
    );
    req.on('error', reject);
    req.on('close', () => {
      if (!req.complete)
        reject(new GatehouseError('invalid_request', 'The request body ended before its length.'));
    });
  });
}

/** JSON from a request body. @throws GatehouseError `invalid_request` saying what is wrong with it. */
export function jsonFromBody(text: string): Json {
  try {
    return parseJson(text);
  } catch (error) {
    const rule =
      error instanceof RangeError
        ? `nests deeper than ${MAX_JSON_DEPTH} levels`
        : `is not JSON: ${error instanceof Error ? withoutExcerpt(error.message) : 'it does not parse'}`;
    throw new GatehouseError('invalid_request', `The body ${rule}.`, { cause: error });
  }
}

/** The parser quotes what stands around the fault, which may be a key. */
function withoutExcerpt(message: string): string {
  return message.replace(/,? (\.\.\.)?".*$/s, '');
}

function tooLarge(maxBytes: number): GatehouseError {
  const size = maxBytes >= MIB ? `${maxBytes / MIB} MiB` : `${maxBytes} bytes`;
  return new GatehouseError('payload_too_large', `The body is larger than ${size}.`, {
    headers: { Connection: 'close' },
  });
}
