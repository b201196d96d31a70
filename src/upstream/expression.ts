import type { Expression, JsonataOptions } from 'jsonata';
import { SECOND } from '../lib/clock.ts';
import { fromMinorUnits, toMinorUnits } from '../lib/currency.ts';
import { GatehouseError, invalidRequest } from '../lib/errors.ts';
import { isJsonObject, type Json } from '../lib/json.ts';
import { linearRegExpClass } from '../lib/linear-pattern.ts';
import { scrub } from '../lib/scrub.ts';
import { addressesIn } from './email.ts';
import { memoByText } from '../lib/memo.ts';

const TIMEOUT_MS = SECOND;
const MAX_COMPILED = 2000;
/** Compiles an expression whose run is bounded in time. */
const compiled = memoByText(MAX_COMPILED, (expression) =>
  compileExpression(expression, linear({ timeout: TIMEOUT_MS, stack: 200 })),
);

/**
 * Returns the value of a JSONata expression over `input`; undefined becomes null. `secrets` stay out of its errors.
 * JSONata is loaded at its first use.
 * @throws GatehouseError `upstream_failed` when the expression fails (`reason: mapping`), or runs for over a second.
 */
export async function mapValue(
  expression: string,
  input: Json,
  secrets: readonly string[] = [],
): Promise<Json> {
  const program = await compiled(expression);
  try {
    const value: unknown = await program.evaluate(input);
    return toJson(value);
  } catch (error) {
    const reason = reasonOf(error);
    throw new GatehouseError(
      'upstream_failed',
      `The answer does not fit the connector's mapping: ${scrub(reason, secrets).slice(0, 200)}`,
      {
        cause: error,
        // A slow mapping may succeed when this machine has less to do, so it gets no reason.
        ...(isTimeout(error) ? {} : { details: { reason: 'mapping' } }),
      },
    );
  }
}

/**
 * Returns the value of a JSONata expression over a caller's input; undefined becomes null.
 * @throws GatehouseError `invalid_request` when the expression fails for this input.
 */
export async function mapInput(expression: string, input: Json): Promise<Json> {
  const program = await compiled(expression);
  try {
    const value: unknown = await program.evaluate(input);
    return exactJson(value);
  } catch (error) {
    const rule = `does not fit the connector's mapping: ${reasonOf(error).slice(0, 200)}`;
    throw invalidRequest([{ field: 'input', rule }]);
  }
}

/** Adds regular expressions with linear time, because this process must not block. */
function linear(options: JsonataOptions): JsonataOptions {
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

function isTimeout(error: unknown): boolean {
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
