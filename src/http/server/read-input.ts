import type { IncomingMessage } from 'node:http';
import { z } from 'zod';
import { GatehouseError, invalidValue } from '../../lib/errors.ts';
import { forFaults } from '../../lib/for-faults.ts';
import { headerText } from '../../lib/http/header-text.ts';
import { jsonFromBody, readBody } from '../../lib/http/http-body.ts';
import type { Json } from '../../lib/json.ts';

const NO_BYTES = Buffer.alloc(0);

/** The body of a route with `largeBody`, and the limit for this caller. */
export type LargeBody = { maxBytes: number; body: unknown };

/**
 * Returns the parsed body, of at most `maxBytes`. `correct` changes it before it is checked.
 * @throws GatehouseError `unsupported_media_type`, `invalid_request`, those of readBody().
 */
export async function readJson(
  schema: z.ZodType,
  req: IncomingMessage,
  {
    maxBytes,
    large,
    isDocument,
    correct,
  }: { maxBytes: number; large: LargeBody | undefined; isDocument: boolean; correct(body: Json): Json },
): Promise<{ body: unknown; largeBody: Buffer | undefined }> {
  const bytes = hasBody(req) ? await readBody(req, large?.maxBytes ?? maxBytes) : NO_BYTES;
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
  if (large && bytes.length > maxBytes) return { body: large.body, largeBody: bytes };
  // A record of any members is a custom schema (shapes.ts). A schema needs numbers as bounds, also beyond 2^53.
  const options = { free: schema instanceof z.ZodCustom, doubles: isDocument };
  const body = jsonFromBody(bytes.toString('utf8'), options);
  return { body: parse(schema, correct(body), 'The body'), largeBody: undefined };
}

/** Returns whether a request has a body. A request without these headers has none (RFC 9112 section 6.3). */
function hasBody({ headers }: IncomingMessage): boolean {
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;
}

/** Returns the parsed value. @throws GatehouseError `invalid_request` that lists each fault by field. */
export function parse(schema: z.ZodType, value: unknown, where: string): unknown {
  const parsed = schema.safeParse(value, forFaults());
  if (parsed.success) return parsed.data;
  throw invalidValue(parsed.error.issues, where);
}

/**
 * Returns query values by name. A repeated name becomes a list, which every schema rejects. Otherwise all values but
 * one would be ignored silently.
 */
export function queryValues(query: URLSearchParams): Record<string, string | string[]> {
  const byName = new Map<string, string[]>();
  // getAll() for each name would walk the whole query for each of them.
  for (const [name, value] of query) {
    const values = byName.get(name);
    if (values) values.push(value);
    else byName.set(name, [value]);
  }
  return Object.fromEntries(
    [...byName].map(([name, values]) => [name, values.length === 1 ? (values[0] ?? '') : values]),
  );
}
