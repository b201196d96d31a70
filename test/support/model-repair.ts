import { isJsonObject, parseJson, valueAt, type Json, type JsonObject } from '../../src/lib/json.ts';

/*
 * A model of the simplest kind: it corrects a refused call by the refusal alone. It takes the names, values and limits that the
 * refusal names, and adds facts of its task only for members that the refusal names.
 */

/** A tools/call as a model writes it. */
export interface ModelCall {
  name: string;
  args: Json;
}

/** The answer to it: `result`, or `error` of JSON-RPC. */
export interface ToolAnswer {
  at(path: string): Json | undefined;
}

/** Returns whether a call was refused, by its tool or by JSON-RPC, or one of its batch was. */
export function isRefused(answer: ToolAnswer): boolean {
  const results = [answer.at('result.structuredContent.results') ?? null].flat();
  return (
    answer.at('error') !== undefined ||
    answer.at('result.isError') === true ||
    results.some((one) => valueAt(one, 'error') !== undefined)
  );
}

/** Returns the call corrected by its refusal. `facts` are what the model knows of its task, by the name of a member. */
export function corrected(call: ModelCall, refusal: ToolAnswer, facts: JsonObject): ModelCall {
  const unknownTool = refusal.at('error.message');
  if (typeof unknownTool === 'string') return byMessage(call, unknownTool);
  const args = structuredClone(isJsonObject(call.args) ? call.args : {});
  const error = refusal.at('result.structuredContent.error') ?? null;
  const message = String(valueAt(error, 'message'));
  const wrapper = /Give the members of "(\w+)" in its place/.exec(message)?.[1];
  if (wrapper !== undefined) return { ...call, args: unwrapped(args, wrapper) };
  const faults = valueAt(error, 'details.faults');
  if (!Array.isArray(faults)) return { ...call, args: byName(args, error, facts) };
  const read = faults.map((fault) => ({
    path: String(valueAt(fault, 'field')).split('.'),
    rule: String(valueAt(fault, 'rule')),
  }));
  // A renamed member may be the required one.
  for (const fault of read.filter(isUnknown)) rename(args, fault);
  for (const fault of read.filter((one) => !isUnknown(one))) correct(args, fault, facts);
  return { ...call, args };
}

function byMessage(call: ModelCall, message: string): ModelCall {
  const example = / here with (\{.*?\})/.exec(message)?.[1];
  if (example !== undefined) {
    const ids = parseJson(example);
    const args = isJsonObject(ids) ? { ...ids, parameters: call.args } : call.args;
    return { name: 'execute_action_svc', args };
  }
  return { ...call, name: proposedIn(message) ?? call.name };
}

function unwrapped(args: JsonObject, wrapper: string): JsonObject {
  const holder =
    isJsonObject(args['parameters']) && wrapper in args['parameters'] ? args['parameters'] : args;
  const { [wrapper]: inner, ...others } = holder;
  const flat = { ...others, ...(isJsonObject(inner) ? inner : {}) };
  return holder === args ? flat : { ...args, parameters: flat };
}

/** Corrects an id, or an account, that the refusal names without a list of faults. */
function byName(args: JsonObject, error: Json, facts: JsonObject): JsonObject {
  const code = String(valueAt(error, 'code'));
  const message = String(valueAt(error, 'message'));
  const member =
    code === 'connector_not_found'
      ? 'connectorId'
      : code === 'action_not_found'
        ? 'actionId'
        : 'credentialId';
  const known = / Known: (.*)\.$/.exec(message)?.[1]?.split(', ') ?? [];
  const wanted = String(facts[member]);
  const accounts = [valueAt(error, 'details.credentials') ?? null].flat();
  const account = accounts.find(
    (one) => facts['account'] !== undefined && valueAt(one, 'name') === facts['account'],
  );
  const value =
    valueAt(account ?? null, 'credentialId') ??
    proposedIn(message) ??
    (known.includes(wanted) ? wanted : undefined);
  return value === undefined ? args : replaced(args, member, value);
}

/** Replaces each value of a member, at any depth. */
function replaced(value: JsonObject, member: string, by: Json): JsonObject {
  const deep = (one: Json): Json =>
    Array.isArray(one) ? one.map(deep) : isJsonObject(one) ? replaced(one, member, by) : one;
  const copied = Object.fromEntries(
    Object.entries(value).map(([name, one]) => [name, name === member ? by : deep(one)]),
  );
  return member === 'credentialId' ? { ...copied, credentialId: by } : copied;
}

function proposedIn(text: string): string | undefined {
  return /Did you mean "([^"]+)"/.exec(text)?.[1];
}

interface ReadFault {
  path: string[];
  rule: string;
}

function isUnknown({ rule }: ReadFault): boolean {
  return rule.startsWith('is not a known');
}

function parentOf(args: JsonObject, { path }: ReadFault): Json {
  return path.slice(0, -1).reduce<Json>((value, step) => valueAt(value, step) ?? null, args);
}

/** Renames an unknown member to the proposed one, or drops it. */
function rename(args: JsonObject, fault: ReadFault): void {
  const name = fault.path.at(-1) ?? '';
  const parent = parentOf(args, fault);
  if (!isJsonObject(parent)) return;
  const proposed = proposedIn(fault.rule);
  const given = parent[name] ?? null;
  delete parent[name];
  if (proposed !== undefined && !(proposed in parent)) parent[proposed] = given;
}

function correct(args: JsonObject, fault: ReadFault, facts: JsonObject): void {
  const { path, rule } = fault;
  const name = path.at(-1) ?? '';
  const parent = parentOf(args, fault);
  if (Array.isArray(parent)) {
    const item = memberFor(parent[Number(name)] ?? null, rule, facts[name]);
    parent[Number(name)] = typeof item === 'string' && item.includes('.') ? idsOf(item) : item;
    return;
  }
  if (!isJsonObject(parent)) return;
  const isMissing = rule.startsWith('is required');
  if (isMissing && parent[name] !== undefined) return;
  const proposed = proposedIn(rule);
  if (isMissing && proposed?.includes('.') === true) Object.assign(parent, idsOf(proposed));
  else parent[name] = memberFor(parent[name] ?? null, rule, facts[name]);
}

function idsOf(joined: string): JsonObject {
  const [connectorId = '', actionId = ''] = joined.split('.');
  return { connectorId, actionId };
}

/** Returns the value that a rule describes. */
function memberFor(given: Json, rule: string, fact: Json | undefined): Json {
  const list = /Did you mean (\[.*\])\?/.exec(rule)?.[1] ?? /: write (\[.*\])$/.exec(rule)?.[1];
  if (list !== undefined) return parseJson(list);
  const quoted = /: write "(.*)" in quotes/.exec(rule)?.[1];
  if (quoted !== undefined) return quoted;
  const proposed = proposedIn(rule);
  if (proposed !== undefined) return proposed;
  const values = /^must be one of: (.*)$/.exec(rule)?.[1]?.split(', ');
  if (values) return fact !== undefined && values.includes(String(fact)) ? fact : (values[0] ?? given);
  const items = /^must (?:be at most|NOT have more than) (\d+) items/.exec(rule)?.[1];
  if (items !== undefined && Array.isArray(given)) return given.slice(0, Number(items));
  const length = /NOT have more than (\d+) characters/.exec(rule)?.[1];
  if (length !== undefined) return String(given).slice(0, Number(length));
  const bound = /^must be (?:at most|at least|<=|>=) (-?\d+)$/.exec(rule)?.[1];
  if (bound !== undefined) return Number(bound);
  return fact ?? /, such as (\S+)$/.exec(rule)?.[1] ?? given;
}
