import { promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';
import type { Reply } from './route.ts';
import { sha256 } from '../../lib/sha256.ts';

/** The highest quality would take a second to save a few percent more. */
const BROTLI_QUALITY = 8;

const COMPRESS = {
  br: (bytes: Buffer) =>
    promisify(brotliCompress)(bytes, { params: { [constants.BROTLI_PARAM_QUALITY]: BROTLI_QUALITY } }),
  gzip: (bytes: Buffer) => promisify(gzip)(bytes),
  identity: async (bytes: Buffer) => bytes,
};
type Encoding = keyof typeof COMPRESS;

/** A document whose bytes are computed once: plain, and in each encoding that a client asked for. */
export interface StoredDocument {
  /**
   * Returns 200 in the encoding that the client prefers, or 304 when it has these bytes. `header` reads a request
   * header.
   */
  reply(header: (name: string) => string | undefined): Promise<Reply>;
}

export function storeDocument(text: string, headers: Record<string, string>): StoredDocument {
  const bytes = Buffer.from(text);
  const hash = etagOf(text).slice(1, -1);
  const encoded = new Map<Encoding, Promise<Buffer>>();
  return {
    async reply(header) {
      const encoding = encodingFor(header('accept-encoding'));
      // Strong ETags differ between encodings (RFC 9110 section 8.8.3.3).
      const etag = encoding === 'identity' ? `"${hash}"` : `"${hash}-${encoding}"`;
      const common: Record<string, string> = {
        'Cache-Control': 'public, no-cache',
        ...headers,
        ETag: etag,
        Vary: 'Accept-Encoding',
      };
      if (hasVersion(header('if-none-match'), etag)) return { status: 304, body: '', headers: common };
      const body = encoded.get(encoding) ?? COMPRESS[encoding](bytes);
      encoded.set(encoding, body);
      if (encoding !== 'identity') common['Content-Encoding'] = encoding;
      return { body: await body, headers: common };
    },
  };
}

/** Returns a strong ETag of a text. Equal texts have equal ETags. */
export function etagOf(text: string): string {
  return `"${sha256(text).slice(0, 22)}"`;
}

/** Returns whether an If-None-Match header names this version (RFC 9110 section 13.1.2: weak comparison). */
export function hasVersion(ifNoneMatch: string | undefined, etag: string): boolean {
  const named = new Set((ifNoneMatch ?? '').split(',').map((one) => one.trim().replace(/^W\//, '')));
  return named.has(etag) || named.has('*');
}

/** Returns the encoding of greatest weight (RFC 9110 section 12.5.3). Prefers the smallest of equal weights. */
function encodingFor(accepted: string | undefined): Encoding {
  const weights = new Map((accepted ?? '').toLowerCase().split(',').map(weightOf));
  const weight = (name: string) => weights.get(name) ?? weights.get('*') ?? 0;
  const better: Encoding = weight('br') >= weight('gzip') ? 'br' : 'gzip';
  return weight(better) > 0 && weight(better) >= (weights.get('identity') ?? 0) ? better : 'identity';
}

/** Parses one member of Accept-Encoding, such as `gzip;q=0.5`. */
function weightOf(part: string): [name: string, weight: number] {
  const [name = '', ...parameters] = part.split(';').map((one) => one.trim());
  const quality = parameters.find((one) => one.startsWith('q='));
  return [name, quality === undefined ? 1 : Number(quality.slice('q='.length)) || 0];
}
