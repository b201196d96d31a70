import { z } from 'zod';
import { fieldsSchema, projectFields } from '../../actions/projection.ts';
import { GatehouseError, withDetails } from '../../lib/errors.ts';
import { asObject, type Json, type JsonObject } from '../../lib/json.ts';
import { parseAnswer } from '../../upstream/large-answers.ts';
import { tool } from './define-tool.ts';
import { readWholeResult, sourceRule } from '../scope/large-results.ts';
import type { ToolScope } from '../scope/tool.ts';

const RECORDS = 50;
const MOST_RECORDS = 500;
/** Bytes of records in an answer, and characters of any other value. An answer of this size is not stored as large again. */
const MAX_BYTES = 48 * 1024;
const MAX_CHARS = 16 * 1024;
const MAX_EXPRESSION = 4000;

export const readResultTool = tool({
  name: 'read_result_svc',
  title: 'Read a large result',
  description:
    'Reads a result that was too large: records by page, words or fields, or the value of a JSONata expression over ' +
    'the whole result, such as $sum(total) or $[status="open"].name.',
  input: z.strictObject({
    resultId: z.string().max(100).describe('From the answer that was cut. Valid for an hour.'),
    expression: z
      .string()
      .min(1)
      .max(MAX_EXPRESSION)
      .optional()
      .describe('JSONata over the list of records, or over the whole value.'),
    query: z.string().min(1).max(200).optional().describe('Only records that have all of these words.'),
    fields: fieldsSchema.optional().describe('Only these members, such as customer.email.'),
    offset: z
      .int()
      .min(0)
      .max(100_000_000)
      .optional()
      .describe('Records to skip; characters to skip when the value is not a list.'),
    limit: z.int().min(1).max(MOST_RECORDS).optional().describe(`Records; default ${RECORDS}.`),
  }),
  hints: { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false },
  view: 'results',
  thirdParty: true,
  async run(scope, { resultId, expression, query, fields, offset = 0, limit = RECORDS }) {
    const whole = await valueOf(scope, resultId);
    const computed = expression === undefined ? whole : await evaluated(scope, expression, whole);
    const found = query === undefined ? computed : matching(computed, query);
    const { value, unmatched } = fields ? projectFields(found, fields) : { value: found, unmatched: [] };
    return {
      ...(Array.isArray(value) ? pageOf(value, { offset, limit }) : partOf(value, offset)),
      ...(unmatched.length > 0 ? { unmatchedFields: unmatched } : {}),
    };
  },
});

/**
 * Returns the records of a stored list, or the whole stored value.
 * @throws GatehouseError `not_found`, `restricted` when the caller may no longer run its action.
 */
async function valueOf(scope: ToolScope, given: string): Promise<Json> {
  const { context, grant } = scope;
  const resultId = given.replace(/^svc:\/\/results\//, '').replace(/\?.*$/, '');
  const found = await readWholeResult(context, grant, resultId);
  const rule = found && sourceRule(context, grant, found.source);
  if (!found || rule === 'gone')
    throw new GatehouseError(
      'not_found',
      `There is no result "${resultId.slice(0, 100)}" here. Results are stored for an hour, for the caller of the action.`,
      { details: { reason: 'result_gone' } },
    );
  if (rule !== undefined)
    throw new GatehouseError('restricted', `The rule ${rule} denies the action of this result.`, {
      details: { rule },
    });
  const value = await parseAnswer(Buffer.from(found.text), context.throttle.pause);
  return asObject(value)['data'] ?? value;
}

/** @throws GatehouseError `expression_failed` */
async function evaluated({ context, grant }: ToolScope, expression: string, value: Json): Promise<Json> {
  const owner = `${grant.live.server.serverId} ${grant.userId ?? grant.caller}`;
  try {
    const [result = null] = await context.expressions.map({ owner, expression, inputs: [value] });
    return result;
  } catch (error) {
    const isFault = error instanceof GatehouseError && error.code === 'expression_failed';
    throw isFault ? withDetails(error, { reason: 'own_expression' }) : error;
  }
}

/** Returns the records that have all words, in any member and letter case. For an object, returns its members that do. */
function matching(value: Json, query: string): Json {
  const words = query.toLowerCase().split(/\s+/).filter(Boolean);
  const hasAll = (one: unknown) => {
    const text = JSON.stringify(one).toLowerCase();
    return words.every((word) => text.includes(word));
  };
  if (Array.isArray(value)) return value.filter(hasAll);
  const entries = Object.entries(asObject(value));
  return entries.length === 0 ? value : Object.fromEntries(entries.filter(hasAll));
}

function pageOf(records: readonly Json[], { offset, limit }: { offset: number; limit: number }): JsonObject {
  const data: Json[] = [];
  let bytes = 0;
  for (const record of records.slice(offset, offset + limit)) {
    bytes += Buffer.byteLength(JSON.stringify(record)) + 1;
    if (bytes > MAX_BYTES) break;
    data.push(record);
  }
  const isTooLarge = data.length === 0 && offset < records.length;
  const next = offset + (isTooLarge ? 1 : data.length);
  const hasMore = next < records.length;
  return {
    data,
    total: records.length,
    pagination: hasMore ? { hasMore, nextOffset: next } : { hasMore },
    ...(isTooLarge ? { note: `Record ${offset} is larger than 48 KiB: name the fields that you need.` } : {}),
  };
}

/** Returns a small value whole, else a part of its text. */
function partOf(value: Json, offset: number): JsonObject {
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  if (offset === 0 && text.length <= MAX_CHARS) return { data: value };
  const end = offset + MAX_CHARS;
  const hasMore = end < text.length;
  return {
    data: text.slice(offset, end),
    total: text.length,
    pagination: hasMore ? { hasMore, nextOffset: end } : { hasMore },
  };
}
