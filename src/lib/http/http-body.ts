import type { IncomingMessage } from 'node:http';
import { decodedRequest } from './body-text.ts';
import { GatehouseError } from '../errors.ts';
import { assertJsonBounds } from '../json-bounds.ts';
import { isJsonObject, MAX_JSON_DEPTH, parseJson, type Json } from '../json.ts';

export const MIB = 1024 * 1024;

/**
 * Reads a request body as UTF-8, decoded by its Content-Encoding and the charset of its Content-Type.
 * @throws GatehouseError as readBytes() and decodedRequest()
 */
export async function readBody(req: IncomingMessage, maxBytes: number): Promise<Buffer> {
  const { headers } = req;
  return decodedRequest(await readBytes(req, maxBytes), {
    contentType: headers['content-type'],
    contentEncoding: headers['content-encoding'],
    maxBytes,
  });
}

/** Capacity that one request uses in a BodyRoom, until it is disposed. */
export interface HeldRoom extends Disposable {
  /**
   * Takes more capacity.
   * @throws GatehouseError `unavailable` when less is left.
   */
  take(bytes: number): void;
}

/** Capacity for request bodies in memory: in total, and for each owner. */
export class BodyRoom {
  readonly #most: { bytes: number; bytesEach: number };
  readonly #held = new Map<string, number>();
  #all = 0;

  constructor(most: { bytes: number; bytesEach: number }) {
    this.#most = most;
  }

  hold(owner: string): HeldRoom {
    let mine = 0;
    return {
      take: (bytes) => {
        const ofOwner = (this.#held.get(owner) ?? 0) + bytes;
        if (ofOwner > this.#most.bytesEach || this.#all + bytes > this.#most.bytes) throw noRoom();
        this.#held.set(owner, ofOwner);
        this.#all += bytes;
        mine += bytes;
      },
      [Symbol.dispose]: () => {
        const left = (this.#held.get(owner) ?? 0) - mine;
        if (left > 0) this.#held.set(owner, left);
        else this.#held.delete(owner);
        this.#all -= mine;
        mine = 0;
      },
    };
  }
}

/**
 * Reads a request body as bytes, and counts them in `room` where it is given.
 * @throws GatehouseError `payload_too_large` beyond `maxBytes`, `unavailable` when the capacity is used up; the rest
 * is not read.
 */
export async function readBytes(
  req: IncomingMessage,
  maxBytes: number,
  room?: Pick<HeldRoom, 'take'>,
): Promise<Buffer> {
  const announced = Number(req.headers['content-length'] ?? 0);
  if (announced > maxBytes) throw tooLarge(maxBytes);
  // A request that was destroyed earlier emits no `close` event any more.
  if (req.destroyed) throw broken();
  return await new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let size = 0;
    req.on('data', (chunk: Buffer) => {
      size += chunk.length;
      try {
        if (size > maxBytes) throw tooLarge(maxBytes);
        room?.take(chunk.length);
        chunks.push(chunk);
      } catch (error) {
        chunks.length = 0;
        req.removeAllListeners('data').resume();
        reject(error);
      }
    });
    req.on('end', () =>
      resolve(chunks.length === 1 ? (chunks[0] ?? Buffer.alloc(0)) : Buffer.concat(chunks)),
    );
    // A connection that breaks off is the client's doing, as in streamBytes().
    req.on('error', () => reject(broken()));
    req.on('close', () => {
      if (!req.complete) reject(broken());
    });
  });
}

/**
 * Yields a request body as it arrives. The rest is not read when the reader stops.
 * @throws GatehouseError `payload_too_large` beyond `maxBytes`, `invalid_request` when the body breaks off.
 */
export async function* streamBytes(req: IncomingMessage, maxBytes: number): AsyncGenerator<Buffer> {
  if (Number(req.headers['content-length'] ?? 0) > maxBytes) throw tooLarge(maxBytes);
  if (req.destroyed) throw broken();
  let size = 0;
  try {
    // Destroying the request would close the connection before the answer.
    for await (const chunk of req.iterator({ destroyOnReturn: false })) {
      const bytes = Buffer.from(chunk);
      size += bytes.length;
      if (size > maxBytes) throw tooLarge(maxBytes);
      yield bytes;
    }
  } catch (error) {
    throw error instanceof GatehouseError ? error : broken();
  } finally {
    req.resume();
  }
  if (!req.complete) throw broken();
}

/**
 * Parses JSON of a request body, after its values are counted. `free`: no schema names its members; `doubles` as
 * parseJson().
 * @throws GatehouseError `invalid_request` that names the fault.
 */
export function jsonFromBody(
  text: string,
  { free = false, doubles = false }: { free?: boolean; doubles?: boolean } = {},
): Json {
  assertJsonBounds(text, { free });
  const value = parsedBody(text, doubles);
  // Databases store another character instead of half a pair, so it is refused before it is stored.
  if (HALF_ESCAPE.test(text) && !isWellFormed(value)) {
    throw new GatehouseError(
      'invalid_request',
      'The body holds half of a surrogate pair (such as \\ud83d alone), which is no character.',
    );
  }
  return value;
}

/** An escape that may be half of a surrogate pair. UTF-8 itself has no halves. */
const HALF_ESCAPE = /\\u[dD][89a-fA-F]/;

function isWellFormed(value: Json): boolean {
  if (typeof value === 'string') return value.isWellFormed();
  if (Array.isArray(value)) return value.every(isWellFormed);
  if (!isJsonObject(value)) return true;
  return Object.entries(value).every(([name, member]) => name.isWellFormed() && isWellFormed(member));
}

function parsedBody(text: string, doubles: boolean): Json {
  try {
    return parseJson(text, MAX_JSON_DEPTH, { doubles });
  } catch (error) {
    const rule =
      error instanceof RangeError
        ? `nests deeper than ${MAX_JSON_DEPTH} levels`
        : `is not JSON: ${error instanceof Error ? withoutExcerpt(error.message) : 'it does not parse'}`;
    throw new GatehouseError('invalid_request', `The body ${rule}.`, { cause: error });
  }
}

/** Cuts the parser's quotation of the text around the fault, which may be a key. */
function withoutExcerpt(message: string): string {
  return message.replace(/,? (\.\.\.)?".*$/s, '');
}

/** A longer rest of a body is not read. */
const MAX_DISCARDED_BYTES = 32 * MIB;
const DISCARD_MS = 5000;

/**
 * Reads and drops the rest of a body, before an answer that closes the connection. A client that still writes would get a
 * reset connection instead of the answer. Ends after 5 s or 32 MiB.
 */
export async function discardRest(req: IncomingMessage): Promise<void> {
  if (req.complete || req.destroyed) return;
  await new Promise<void>((resolve) => {
    let left = MAX_DISCARDED_BYTES;
    const timer = setTimeout(resolve, DISCARD_MS);
    const end = () => {
      clearTimeout(timer);
      resolve();
    };
    req.on('data', (chunk: Buffer) => {
      left -= chunk.length;
      if (left < 0) end();
    });
    req.on('end', end);
    req.on('close', end);
  });
}

function broken(): GatehouseError {
  return new GatehouseError('invalid_request', 'The request body ended before its length.');
}

function noRoom(): GatehouseError {
  return new GatehouseError('unavailable', 'Too many bodies are under way at once. Send it again.', {
    headers: { Connection: 'close' },
    retryAfterSeconds: 5,
  });
}

function tooLarge(maxBytes: number): GatehouseError {
  const size = maxBytes >= MIB ? `${maxBytes / MIB} MiB` : `${maxBytes / 1024} KiB`;
  return new GatehouseError('payload_too_large', `The body is larger than ${size}.`, {
    headers: { Connection: 'close' },
  });
}
