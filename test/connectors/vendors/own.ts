import type {
  ActionDefinition,
  ConnectorFile,
  JsonSchema,
  Parameter,
} from '../../../src/connectors/format.ts';
import { isMembers, listOf, type Members, membersOf } from './members.ts';

/** A parameter or member that an action sends. */
export interface Sent {
  /** Whether every call has it. */
  always: boolean;
  enum: unknown[];
  max?: number | undefined;
  /** Whether callers choose its members. */
  open: boolean;
  of: Map<string, Sent>;
}

const nothing = (): Sent => ({ always: false, enum: [], open: false, of: new Map() });

/** Returns the query parameters that an action sends, by their names on the wire. */
export function sentQuery(definition: ConnectorFile, action: ActionDefinition): Sent {
  const root = nothing();
  for (const [name, parameter] of Object.entries(action.query))
    put(root, bracketSteps(parameter.as ?? name), sentOf(definition, action, name, parameter));
  const composed = action.graphql ? [] : Object.keys(action.compose);
  for (const name of [...Object.keys(action.fixed?.query ?? {}), ...composed])
    put(root, bracketSteps(name), { ...nothing(), always: true, open: true });
  putPaging(root, definition, action, 'query');
  return root;
}

/** Returns the body that an action sends. Dotted headers count too, because they are members of a JSON header. */
export function sentBody(definition: ConnectorFile, action: ActionDefinition): Sent {
  const root = nothing();
  const wrap = (action.wrap ?? '').replaceAll('[]', '').split('.').filter(Boolean);
  const inner = wrap.length > 0 ? put(root, wrap, { ...nothing(), always: true }) : root;
  if (['text', 'related'].includes(action.bodyType ?? '')) root.open = true;
  for (const [name, parameter] of Object.entries(action.bodyType === 'text' ? {} : action.body)) {
    if (parameter.spread) inner.open = true;
    else put(inner, wireSteps(parameter.as ?? name), sentOf(definition, action, name, parameter));
  }
  for (const [name, parameter] of Object.entries(action.headers)) {
    const [, ...steps] = (parameter.as ?? name).split('.');
    if (steps.length > 0) put(root, steps, sentOf(definition, action, name, parameter));
  }
  for (const name of action.graphql ? Object.keys(action.compose) : [])
    put(root, [name], { ...nothing(), open: true });
  putFixed(inner, action.fixed?.body ?? {});
  for (const name of [action.idempotencyParam, action.email?.as])
    if (name) put(root, wireSteps(name), { ...nothing(), always: true });
  putPaging(root, definition, action, 'body');
  return root;
}

function putPaging(root: Sent, definition: ConnectorFile, action: ActionDefinition, place: 'query' | 'body') {
  const paging = pagingOf(definition, action);
  if (!paging || paging.style === 'none' || paging.in !== place) return;
  if (paging.limitParam)
    put(root, wireSteps(paging.limitParam), { ...nothing(), always: true, max: paging.maxLimit });
}

export function pagingOf({ paging }: ConnectorFile, action: ActionDefinition) {
  return typeof action.paging === 'string' ? paging[action.paging] : action.paging;
}

function putFixed(root: Sent, fixed: Members): void {
  for (const [name, value] of Object.entries(fixed)) {
    const scalar = ['string', 'number', 'boolean'].includes(typeof value);
    const one = put(root, wireSteps(name), { ...nothing(), always: true, enum: scalar ? [value] : [] });
    if (isMembers(value)) putFixed(one, value);
  }
}

function put(root: Sent, steps: string[], value: Sent): Sent {
  let at = root;
  for (const [index, step] of steps.entries()) {
    const last = index === steps.length - 1;
    const next = at.of.get(step) ?? nothing();
    at.of.set(step, last ? united(next, value) : next);
    if (value.always) next.always = true;
    at = at.of.get(step) ?? next;
  }
  return at;
}

/** Merges a member that a parameter and `fixed` both give. */
function united(one: Sent, other: Sent): Sent {
  return {
    always: one.always || other.always,
    enum: [...one.enum, ...other.enum],
    max: other.max ?? one.max,
    open: one.open || other.open,
    of: new Map([...one.of, ...other.of]),
  };
}

/** Returns the steps of a wire name: `recurring[interval]` and `page.start` nest. Positions in lists are left out. */
function wireSteps(name: string): string[] {
  return name.split(/[.[\]]+/).filter((step) => step !== '' && !/^\d+$/.test(step));
}

/** Returns the steps of a query name, which may have dots. */
export function bracketSteps(name: string): string[] {
  return name.split(/[[\]]+/).filter((step) => step !== '' && !/^\d+$/.test(step));
}

function sentOf(
  definition: ConnectorFile,
  action: ActionDefinition,
  name: string,
  { required, ...schema }: Parameter,
): Sent {
  const inner = Array.isArray(required) ? { ...schema, required } : schema;
  const one = ofSchema(definition, inner, 4);
  one.always = required === true || requiredByRules(action).has(name) || schema['const'] !== undefined;
  return one;
}

/** Returns the names that some rule of the action requires. */
function requiredByRules({ rules }: ActionDefinition): Set<string> {
  const found = new Set<string>();
  const walk = (value: unknown): void => {
    if (Array.isArray(value)) for (const one of value) walk(one);
    else if (isMembers(value)) {
      for (const name of listOf(value['required'])) found.add(String(name));
      for (const names of Object.values(membersOf(value['dependentRequired'])))
        for (const name of listOf(names)) found.add(String(name));
      for (const one of Object.values(value)) walk(one);
    }
  };
  walk(rules);
  return found;
}

function ofSchema(definition: ConnectorFile, value: unknown, depth: number): Sent {
  const schema = ownSchema(definition, value);
  const one = nothing();
  one.enum = schema['const'] === undefined ? listOf(schema['enum']) : [schema['const']];
  if (typeof schema['maximum'] === 'number') one.max = schema['maximum'];
  const required = listOf(schema['required']);
  for (const [name, property] of Object.entries(membersOf(schema['properties']))) {
    if (depth === 0) continue;
    one.of.set(name, { ...ofSchema(definition, property, depth - 1), always: required.includes(name) });
  }
  const alternatives = [...listOf(schema['anyOf']), ...listOf(schema['oneOf'])];
  const parts = schema['items'] === undefined ? alternatives : [schema['items'], ...alternatives];
  for (const part of parts.map((each) => ofSchema(definition, each, depth))) {
    one.enum.push(...part.enum);
    for (const [name, member] of part.of) one.of.set(name, member);
  }
  one.open = one.of.size === 0;
  return one;
}

export function ownSchema({ schemas }: ConnectorFile, value: unknown): JsonSchema {
  const schema = membersOf(value);
  const name = typeof schema['$ref'] === 'string' ? schema['$ref'].replace('#/schemas/', '') : '';
  return membersOf(schemas[name] ?? schema);
}
