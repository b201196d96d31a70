import { ownAction, type Action, type Connector } from '../connectors/catalog.ts';
import { holds } from '../connectors/conditions.ts';
import type { BeforeRead, EachRead } from '../connectors/format/reads-format.ts';
import { filledInput } from '../connectors/templates.ts';
import { checkInput } from '../connectors/schemas/validate.ts';
import { SECOND } from '../lib/clock.ts';
import { appWords, GatehouseError, invalidRequest, ownWords } from '../lib/errors.ts';
import { isJsonObject, valueAt, type Json, type JsonObject } from '../lib/json.ts';
import type { UpstreamContext } from '../upstream/call.ts';
import type { UpstreamCall } from '../upstream/upstream-call.ts';
import { mapValue } from '../upstream/expression.ts';
import { filesIn } from '../upstream/sent-files.ts';
import { readValue } from './read-results.ts';

/** Number of reads of one call that run at the same time. The limits of the connector apply to them too. */
const MAX_PARALLEL = 5;
const MAX_ENTRIES = 50;

/** Returns the rule that denies an action to the caller; undefined where it is allowed. */
export type Denies = (action: Action) => string | undefined;

/**
 * Returns the input of a call with the parameters that `before` fills. If a read fails, the call itself is not sent.
 * @throws GatehouseError `restricted` where the caller may not use a read, `invalid_request` for more than 50 entries,
 * those of readValue()
 */
export async function withFilled(
  context: UpstreamContext,
  call: UpstreamCall,
  denies: Denies,
): Promise<JsonObject> {
  const { before } = call.action.definition;
  if (!before) return call.input;
  const names: JsonObject = { input: call.input, files: await filesIn(call) };
  for (const [name, read] of Object.entries(before.reads)) {
    if (applies(read, call.input)) names[name] = await readFor(context, call, { read, names, denies });
  }
  const filled: JsonObject = {};
  for (const [name, expression] of Object.entries(before.fill)) {
    const value = await mapValue(expression, names, { author: call.connector });
    if (value !== null) filled[name] = value;
  }
  return { ...call.input, ...filled };
}

/**
 * Checks the reads before a call and the steps after it.
 * @throws GatehouseError `restricted` where the caller may not use one that this input needs
 */
export function assertReads(
  connector: Connector,
  { definition }: Action,
  { input, denies }: { input: JsonObject; denies: Denies },
): void {
  const steps = Object.values(definition.after?.steps ?? {}).filter((step) => 'action' in step);
  for (const read of [...Object.values(definition.before?.reads ?? {}), ...steps]) {
    if (applies(read, input)) allowedAction(connector, read, denies);
  }
}

/** Returns the result of one read of `before`: a value, or with `for` the list of the values for its entries. */
async function readFor(
  context: UpstreamContext,
  call: UpstreamCall,
  { read, names, denies }: { read: BeforeRead; names: JsonObject; denies: Denies },
): Promise<Json> {
  const action = allowedAction(call.connector, read, denies);
  const value = (more: JsonObject = {}) =>
    readValue(context, readCall(call, action, { read, names: { ...names, ...more } }), () => {});
  if (read.for === undefined) return value();
  const entries = valueAt(names, read.for) ?? [];
  if (!Array.isArray(entries)) return value({ item: entries }).then((one) => [one]);
  if (entries.length > MAX_ENTRIES) {
    const rule = `needs ${entries.length} reads for ${read.for}; the limit is ${MAX_ENTRIES}`;
    throw invalidRequest([{ field: 'input', rule }]);
  }
  return mapInParallel(entries, (item) => value({ item }));
}

/**
 * Returns the records of a page, each completed by the read that `each` names. A record whose read fails stays as the
 * list gave it, with `readError`. The same holds for a read that did not start before the timeout of the list's action.
 * Each read is a request of its own, because batch endpoints still count each read and interpret refusals in their own way.
 * @throws GatehouseError `credential_invalid`, and the error of the first read where all fail and the app did not
 * refuse it.
 */
export async function completed(
  context: UpstreamContext,
  call: UpstreamCall,
  { records, denies }: { records: Json[]; denies: Denies },
): Promise<Json[]> {
  const read = call.action.definition.each?.find((one) => applies(one, call.input));
  if (!read || records.length === 0) return records;
  const action = actionOf(call.connector, read);
  const rule = ruleAgainst(action, denies);
  if (rule !== undefined) return records.map((record) => withReadError(record, restricted(action, rule)));

  const seconds = call.action.definition.timeoutSeconds ?? call.connector.definition.timeoutSeconds;
  const until = context.clock.now() + seconds * SECOND;
  const outcomes = await mapInParallel(records, async (record) => {
    if (context.clock.now() >= until) return { error: tooLate(call, seconds) };
    try {
      const one = readCall(call, action, { read, names: { input: call.input, record } });
      return { value: await readValue(context, one, () => {}) };
    } catch (error) {
      if (!(error instanceof GatehouseError) || failsAll(call, error)) throw error;
      return { error };
    }
  });
  const [first] = outcomes;
  const allFailed = outcomes.every(({ error }) => error !== undefined);
  if (allFailed && first?.error && first.error.code !== 'upstream_rejected') throw first.error;
  return records.map((record, index) => {
    const { value, error } = outcomes[index] ?? {};
    return error ? withReadError(record, error) : merged(record, value ?? null);
  });
}

/** Returns whether a read is made for this input. */
export function applies({ when, unless }: EachRead, input: JsonObject): boolean {
  return (!when || holds(when, input)) && !(unless && holds(unless, input));
}

/** Returns the action of a read. @throws GatehouseError `restricted` where the caller may not use it */
export function allowedAction(connector: Connector, read: EachRead, denies: Denies): Action {
  const action = actionOf(connector, read);
  const rule = ruleAgainst(action, denies);
  if (rule !== undefined) throw restricted(action, rule);
  return action;
}

function actionOf(connector: Connector, { action }: EachRead): Action {
  const found = ownAction(connector, action);
  if (!found) throw new Error(`${connector.connectorId}.${action} is read but does not exist.`);
  return found;
}

/** Returns the rule against an action. An internal action is part of the action that reads it, so no rule applies. */
function ruleAgainst(action: Action, denies: Denies): string | undefined {
  return action.definition.internal ? undefined : denies(action);
}

function restricted({ connectorId, actionId }: Action, rule: string): GatehouseError {
  const what = `${connectorId}.${actionId}`;
  return new GatehouseError(
    'restricted',
    `This needs ${what}, which this MCP server does not allow (${rule}).`,
    {
      details: { rule },
    },
  );
}

/**
 * Returns the call of a read.
 * @throws GatehouseError `invalid_request` where a value that the read requires is missing
 */
export function readCall(
  call: UpstreamCall,
  action: Action,
  { read, names }: { read: EachRead; names: JsonObject },
): UpstreamCall {
  const { connector, credential, files, signal, trace, onAttempt } = call;
  const input = filledCall(action, read, names);
  const faults = checkInput(action, input);
  if (faults.length > 0)
    throw invalidRequest(faults, `The input of ${action.actionId}, which is read for this,`);
  return { connector, action, credential, files, input, signal, trace, onAttempt };
}

/** Returns the input of a call that a file makes, with the values of `names`. A member without a value is left out. */
export function filledCall(
  action: Action,
  { input }: Pick<EachRead, 'input'>,
  names: JsonObject,
): JsonObject {
  const known = Object.entries(input).filter(([, member]) => !isMissing(member, names));
  const filled = filledInput(Object.fromEntries(known), (path) => valueAt(names, path));
  return Object.fromEntries(
    Object.entries(filled).map(([name, value]) => [name, asTyped(action, name, value)]),
  );
}

/** Converts an id to the type of its parameter, because apps return numbers where they accept texts, and vice versa. */
function asTyped({ definition }: Action, name: string, value: Json): Json {
  const { path, query, body } = definition;
  const type = (path[name] ?? query[name] ?? body[name])?.['type'];
  if (typeof value === 'number' && type === 'string') return String(value);
  const isNumber =
    typeof value === 'string' && (type === 'integer' || type === 'number') && /^\d+$/.test(value);
  return isNumber ? Number(value) : value;
}

function isMissing(member: Json, names: JsonObject): boolean {
  const path = typeof member === 'string' ? /^\{([\w.]+)\}$/.exec(member)?.[1] : undefined;
  return path !== undefined && (valueAt(names, path) ?? null) === null;
}

/** Returns whether further reads would fail in the same way: the credential is dead, or the client went away. */
function failsAll({ signal }: UpstreamCall, { code }: GatehouseError): boolean {
  return code === 'credential_invalid' || signal?.aborted === true;
}

function tooLate({ connector }: UpstreamCall, seconds: number): GatehouseError {
  const what = `The reads of ${connector.name} for this page took longer than ${seconds} s`;
  return new GatehouseError('upstream_timeout', `${what}. Ask for a smaller page.`);
}

/** Returns the record with its error. The app's words are in a member of their own. */
function withReadError(record: Json, error: GatehouseError): Json {
  const said = appWords(error);
  const readError = { code: error.code, message: ownWords(error), ...(said === undefined ? {} : { said }) };
  return isJsonObject(record) ? { ...record, readError } : { record, readError };
}

function merged(record: Json, value: Json): Json {
  return isJsonObject(record) && isJsonObject(value) ? { ...record, ...value } : value;
}

/**
 * Runs `one` for each entry, MAX_PARALLEL at the same time. After the first error no further entry starts, and the error is
 * thrown when the running ones have ended.
 */
async function mapInParallel<T, R>(entries: readonly T[], one: (entry: T) => Promise<R>): Promise<R[]> {
  const results: R[] = [];
  const left = entries.entries();
  let failed = false;
  const work = async () => {
    for (const [index, entry] of left) {
      if (failed) return;
      try {
        results[index] = await one(entry);
      } catch (error) {
        failed = true;
        throw error;
      }
    }
  };
  const workers = await Promise.allSettled(Array.from({ length: MAX_PARALLEL }, work));
  for (const worker of workers) if (worker.status === 'rejected') throw worker.reason;
  return results;
}
