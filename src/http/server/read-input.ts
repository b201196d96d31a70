import type { IncomingMessage } from 'node:http';
import type { z } from 'zod';
import { faultsOf, GatehouseError, invalidRequest } from '../../lib/errors.ts';
import { FOR_FAULTS } from '../../lib/for-faults.ts';
import { headerText } from '../../lib/header-text.ts';
import { jsonFromBody, MIB, readBytes } from '../../lib/http-body.ts';
import type { Json } from '../../lib/json.ts';

const BODY_BYTES = MIB;
const NO_BYTES = Buffer.alloc(0);

/** The body of a route with `largeBody`, and the limit for this caller. */
export type LargeBody = { maxBytes: number; body: unknown };

/**
 * Returns the parsed body. `correct` changes it before it is checked.
 * @throws GatehouseError `unsupported_media_type`, `invalid_request`, those of readBytes().
 */
export async function readJson(
  schema: z.ZodType,
  req: IncomingMessage,
  { large, correct }: { large: LargeBody | undefined; correct(body: Json): Json },
): Promise<{ body: unknown; largeBody: Buffer | undefined }> {
  const bytes = hasBody(req) ? await readBytes(req, large?.maxBytes ?? BODY_BYTES) : NO_BYTES;
  if (bytes.length === 0) {
    if (schema.safeParse(undefined).success)
      return { body: parse(schema, undefined, 'The body'), largeBody: undefined };
    return { body: parse(schema, correct({}), 'The body'), largeBody: undefined };
  }
  const type = headerText(req, 'content-type')?.split(';')[0]?.trim().toLowerCase();
  if (type !== undefined && type !== 'application/json' && !type.endsWith('+json')) {
    throw new GatehouseError(
      'unsupported_media_type',
      `The Content-Type is ${type.slice(0, 80)}. Send the body as application/json.`,
    );
  }
  if (large && bytes.length > BODY_BYTES) return { body: large.body, largeBody: bytes };
  const body = jsonFromBody(bytes.toString('utf8'));
  return { body: parse(schema, correct(body), 'The body'), largeBody: undefined };
}

/** Returns whether a request has a body. A request without these headers has none (RFC 9112 section 6.3). */
function hasBody({ headers }: IncomingMessage): boolean {
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;
}

/** Returns the parsed value. @throws GatehouseError `invalid_request` that lists each fault by field. */
export function parse(schema: z.ZodType, value: unknown, where: string): unknown {
  const parsed = schema.safeParse(value, FOR_FAULTS);
  if (parsed.success) return parsed.data;
  throw invalidRequest(faultsOf(parsed.error.issues), where);
}

/**
 * Returns query values by name. A repeated name becomes a list, which every schema rejects. Otherwise all values but
 * one would be ignored silently.
 */
export function queryValues(query: URLSearchParams): Record<string, string | string[]> {
  return Object.fromEntries(
    [...new Set(query.keys())].map((name) => {
      const values = query.getAll(name);
      return [name, values.length === 1 ? (values[0] ?? '') : values];
    }),
  );
}
