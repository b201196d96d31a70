import type { Request, Response } from 'express';
import type { z } from 'zod';
import type { Logger } from '../log.ts';

/** An error of the sandbox's API. Its form differs from Gatehouse's own, because the sandbox is a third party. */
export class Refusal extends Error {
  override readonly name = 'Refusal';
  readonly status: number;
  readonly kind: string;
  readonly fields: Record<string, string> | undefined;

  constructor(
    { status, kind }: { status: number; kind: string },
    message: string,
    fields?: Record<string, string>,
  ) {
    super(message);
    this.status = status;
    this.kind = kind;
    this.fields = fields;
  }
}

/** Sends a refusal as `{fault: {kind, text, fields?}}`. */
export function sendRefusal(res: Response, { status, kind, message, fields }: Refusal): void {
  res.status(status).json({ fault: { kind, text: message, ...(fields ? { fields } : {}) } });
}

/** Returns any thrown error as a refusal. Unexpected errors are logged. */
export function refusalOf(error: unknown, log: Logger): Refusal {
  if (error instanceof Refusal) return error;
  // Errors of express.json carry a status below 500 and a sentence that may be shown.
  if (error instanceof Error && 'status' in error && typeof error.status === 'number' && error.status < 500) {
    return new Refusal({ status: error.status, kind: 'bad_body' }, error.message);
  }
  log.error({ err: error }, 'sandbox request failed');
  return new Refusal({ status: 500, kind: 'broken' }, 'The sandbox itself failed.');
}

export function notFound(what: string, id: string): Refusal {
  return new Refusal({ status: 404, kind: 'missing' }, `No ${what} has the id "${id.slice(0, 64)}".`);
}

/** Parses the query of a request by its schema. @throws Refusal 422 with the wrong fields. */
export function queryOf<T>(schema: z.ZodType<T>, req: Request): T {
  const url = new URL(req.originalUrl, 'http://sandbox');
  return parse(schema, Object.fromEntries(url.searchParams));
}

/** Parses the JSON body of a request by its schema. @throws Refusal 422 with the wrong fields. */
export function bodyOf<T>(schema: z.ZodType<T>, req: Request): T {
  const body: unknown = req.body;
  if (body === undefined)
    throw new Refusal(
      { status: 415, kind: 'no_json' },
      'Send a JSON body with Content-Type: application/json.',
    );
  return parse(schema, body);
}

function parse<T>(schema: z.ZodType<T>, value: unknown): T {
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  const fields = parsed.error.issues.flatMap((issue) => {
    const path = issue.path.join('.');
    if (issue.code === 'unrecognized_keys') return issue.keys.map((key) => [key, 'is unknown'] as const);
    return [[path || 'body', issue.message] as const];
  });
  const named = fields.map(([name, rule]) => `${name}: ${rule}`).join('; ');
  throw new Refusal(
    { status: 422, kind: 'invalid' },
    `Some fields are wrong. ${named}`.slice(0, 1000),
    Object.fromEntries(fields),
  );
}
