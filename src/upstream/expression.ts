import type { Expression, JsonataOptions } from 'jsonata';
import type { Connector } from '../connectors/catalog.ts';
import { SECOND } from '../lib/clock.ts';
import { fromMinorUnits, toMinorUnits } from '../lib/currency.ts';
import { GatehouseError, invalidRequest } from '../lib/errors.ts';
import { isJsonObject, type Json } from '../lib/json.ts';
import { linearRegExpClass } from '../lib/linear-pattern.ts';
import { scrub } from '../lib/scrub.ts';
import { addressesIn } from './email.ts';
import { memoByText } from '../lib/memo.ts';
import { isPlainExpression } from './plain-expression.ts';

const TIMEOUT_MS = SECOND;
const MAX_COMPILED = 2000;
/** Compiles an expression whose run is bounded in time. */
const compiled = memoByText(MAX_COMPILED, (expression) => compileExpression(expression, linear()));

/** The connector whose file has an expression. */
export type Author = Pick<Connector, 'connectorId' | 'environments' | 'mapBounded'>;

/**
 * Returns the value of a JSONata expression of a connector over `input`; undefined becomes null. `secrets` stay out of
 * its errors. JSONata is loaded at its first use.
 * @throws GatehouseError `upstream_failed` when the expression fails (`reason: mapping`), or exceeds a limit.
 */
export async function mapValue(
  expression: string,
  input: Json,
  options: { author?: Author; secrets?: readonly string[] } = {},
): Promise<Json> {
  const [value = null] = await mapValues(expression, [input], options);
  return value;
}

/** Works like mapValue() for each of several inputs, such as the records of a list. */
export async function mapValues(
  expression: string,
  inputs: readonly Json[],
  { author, secrets = [] }: { author?: Author; secrets?: readonly string[] } = {},
): Promise<Json[]> {
  try {
    return await valuesOf(expression, inputs, { author, toJson });
  } catch (error) {
    const fault = faultOf(error);
    throw new GatehouseError(
      'upstream_failed',
      `The answer does not fit the connector's mapping: ${scrub(fault.reason, secrets).slice(0, 200)}`,
      {
        cause: error,
        // A slow mapping may succeed when this machine has less to do, so it gets no reason.
        ...(fault.isLimit ? {} : { details: { reason: 'mapping' } }),
      },
    );
  }
}

/**
 * Returns the value of a JSONata expression of a connector over a caller's input; undefined becomes null.
 * @throws GatehouseError `invalid_request` when the expression fails for this input; `unavailable` when too many wait.
 */
export async function mapInput(expression: string, input: Json, author?: Author): Promise<Json> {
  try {
    const [value = null] = await valuesOf(expression, [input], { author, toJson: exactJson });
    return value;
  } catch (error) {
    if (error instanceof GatehouseError && error.code === 'unavailable') throw error;
    const rule = `does not fit the connector's mapping: ${faultOf(error).reason.slice(0, 200)}`;
    throw invalidRequest([{ field: 'input', rule }]);
  }
}

/**
 * Returns the values of an expression. Expressions of custom connectors are evaluated within limits, because their
 * steps may block this process for a second, and fill its memory.
 */
async function valuesOf(
  expression: string,
  inputs: readonly Json[],
  { author, toJson: asJson }: { author: Author | undefined; toJson: (value: unknown) => Json },
): Promise<Json[]> {
  const { mapBounded, connectorId = '', environments = [] } = author ?? {};
  if (mapBounded && !(await isPlain(expression)))
    return mapBounded({ owner: [...environments, connectorId].join(' '), expression, inputs });
  const program = await compiled(expression);
  const values: Json[] = [];
  for (const input of inputs) {
    const value: unknown = await program.evaluate(input);
    values.push(asJson(value));
  }
  return values;
}

const isPlain = memoByText(MAX_COMPILED, async (expression) =>
  isPlainExpression((await compiled(expression)).ast()),
);

/** Returns the reason of a failure, and whether it is a limit of time, memory or waiting evaluations. */
function faultOf(error: unknown): { reason: string; isLimit: boolean } {
  if (!(error instanceof GatehouseError)) return { reason: reasonOf(error), isLimit: isTimeout(error) };
  const { cause } = error;
  return cause instanceof Error
    ? { reason: cause.message, isLimit: cause.name === 'LimitError' }
    : { reason: error.message, isLimit: true };
}

/** Returns the limits of an expression of a connector, with regular expressions of linear time. */
export function linear(): JsonataOptions {
  const options: JsonataOptions = { timeout: TIMEOUT_MS, stack: 200 };
  // The types of JSONata require the constructor of RegExp, but it only uses `new`.
  Reflect.set(options, 'RegexEngine', linearRegExpClass());
  return options;
}

/**
 * Compiles an expression with the functions that Gatehouse adds.
 * @throws the errors of JSONata; see reasonOf().
 */
export async function compileExpression(expression: string, options: JsonataOptions): Promise<Expression> {
  const { default: jsonata } = await import('jsonata');
  const program = jsonata(expression, options);
  // JSONata's own $base64decode takes bytes for Latin-1 and does not know the URL-safe alphabet.
  program.registerFunction('textFromBase64', textFromBase64, '<s-:s>');
  program.registerFunction('base64FromText', base64FromText, '<s-:s>');
  program.registerFunction('addresses', addressesIn);
  // These have no signature, because an absent amount is valid and gives nothing.
  program.registerFunction('fromMinorUnits', fromMinorUnits);
  program.registerFunction('toMinorUnits', toMinorUnits);
  return program;
}

function base64FromText(text: string | undefined): string | undefined {
  return text === undefined ? undefined : Buffer.from(text, 'utf8').toString('base64');
}

/** Returns the text of a JSONata error, which is no Error. */
export function reasonOf(error: unknown): string {
  return isObject(error) && 'message' in error ? String(error.message) : String(error);
}

export function isTimeout(error: unknown): boolean {
  return isObject(error) && 'code' in error && error.code === 'D1012';
}

function textFromBase64(text: string | undefined): string | undefined {
  return text === undefined ? undefined : Buffer.from(text, 'base64').toString('utf8');
}

/** Returns the JSON part of a JSONata value, which may also hold sequences and functions; other values become null. */
export function toJson(value: unknown): Json {
  if (value === undefined || typeof value === 'function') return null;
  if (Array.isArray(value)) return value.map(toJson);
  if (isJsonObject(value))
    return Object.fromEntries(Object.entries(value).map(([key, member]) => [key, toJson(member)]));
  return typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean' ? value : null;
}

/**
 * Returns the value as toJson(), but rejects values that JSON cannot express.
 * @throws Error
 */
export function exactJson(value: unknown): Json {
  if (isFunction(value)) throw new Error('its value is a function; call it, or leave it out');
  if (typeof value === 'number' && !Number.isFinite(value))
    throw new Error('its value is not a finite number: it divides by zero, or leaves the range of numbers');
  if (Array.isArray(value)) return value.map(exactJson);
  if (isJsonObject(value))
    return Object.fromEntries(Object.entries(value).map(([key, member]) => [key, exactJson(member)]));
  return toJson(value);
}

/**
 * Returns whether the value is a function. Functions of JSONata are also objects, which refer to their whole scope.
 */
function isFunction(value: unknown): boolean {
  if (typeof value === 'function') return true;
  return isObject(value) && ('_jsonata_lambda' in value || '_jsonata_function' in value);
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}
