import type {
  ActionDefinition,
  ConnectorFile,
  JsonSchema,
  Parameter,
} from '../../connectors/format/format.ts';
import { isRecord } from '../node.ts';
import { listOf, type Members, membersOf } from './document-members.ts';

/** A parameter or member that an action sends. */
export interface Sent {
  /** Whether every call has it. */
  always: boolean;
  enum: unknown[];
  max?: number | undefined;
  /** Whether callers choose its members. */
  open: boolean;
  of: Map<string, Sent>;
  /** Dotted path of the member of the connector file that sends it. */
  from: string;
}

/** An action with its id and its file. */
export interface OwnAction {
  definition: ConnectorFile;
  id: string;
  action: ActionDefinition;
}

const nothing = (from: string): Sent => ({ always: false, enum: [], open: false, of: new Map(), from });

/** Returns the query parameters that an action sends, by their names on the wire. */
export function sentQuery(own: OwnAction): Sent {
  const { definition, id, action } = own;
  const at = `actions.${id}`;
  const root = nothing(at);
  for (const [name, parameter] of Object.entries(action.query))
    put(
      root,
      bracketSteps(parameter.as ?? name),
      sentOf(own, { name, parameter, from: `${at}.query.${name}` }),
    );
  const constant = (name: string, from: string) =>
    put(root, bracketSteps(name), { ...nothing(from), always: true, open: true });
  for (const name of Object.keys(action.fixed?.query ?? {})) constant(name, `${at}.fixed.query.${name}`);
  for (const name of action.graphql ? [] : Object.keys(action.compose))
    constant(name, `${at}.compose.${name}`);
  putPaging(root, { definition, id, action }, 'query');
  return root;
}

/** Returns the body that an action sends. Dotted headers are included, because they are members of a JSON header. */
export function sentBody(own: OwnAction): Sent {
  const { id, action } = own;
  const at = `actions.${id}`;
  const whole = Object.entries(action.body).find(([, parameter]) => parameter.whole);
  if (whole) {
    const [name, parameter] = whole;
    return { ...sentOf(own, { name, parameter, from: `${at}.body.${name}` }), always: true };
  }
  const root = nothing(at);
  const wrap = (action.wrap ?? '').replaceAll('[]', '').split('.').filter(Boolean);
  const inner = wrap.length > 0 ? put(root, wrap, { ...nothing(`${at}.wrap`), always: true }) : root;
  if (['text', 'related'].includes(action.bodyType ?? '')) root.open = true;
  for (const [name, parameter] of Object.entries(action.bodyType === 'text' ? {} : action.body)) {
    const sent = { name, parameter, from: `${at}.body.${name}` };
    if (parameter.spread) inner.open = true;
    else put(inner, wireSteps(parameter.as ?? name), sentOf(own, sent));
  }
  for (const [name, parameter] of Object.entries(action.headers)) {
    const [, ...steps] = (parameter.as ?? name).split('.');
    if (steps.length > 0) put(root, steps, sentOf(own, { name, parameter, from: `${at}.headers.${name}` }));
  }
  for (const name of action.graphql ? Object.keys(action.compose) : [])
    put(root, [name], { ...nothing(`${at}.compose.${name}`), open: true });
  putFixed(inner, action.fixed?.body ?? {}, `${at}.fixed.body`);
  const marks = { idempotencyParam: action.idempotencyParam, 'email.as': action.email?.as };
  for (const [member, name] of Object.entries(marks))
    if (name) put(root, wireSteps(name), { ...nothing(`${at}.${member}`), always: true });
  putPaging(root, own, 'body');
  return root;
}

/** Returns what an action sends for a parameter. */
export function sentOf(
  { definition, action }: OwnAction,
  { name, parameter, from }: { name: string; parameter: Parameter; from: string },
): Sent {
  const { required, ...schema } = parameter;
  const inner = Array.isArray(required) ? { ...schema, required } : schema;
  const one = ofSchema(definition, { value: inner, from }, 4);
  one.always = required === true || requiredByRules(action).has(name) || schema['const'] !== undefined;
  return one;
}

function putPaging(root: Sent, { definition, id, action }: OwnAction, place: 'query' | 'body') {
  const paging = pagingOf(definition, action);
  if (!paging || paging.style === 'none' || paging.in !== place) return;
  const at = pagingPath(id, action);
  for (const [member, name] of Object.entries(paging)) {
    const isLimit = member === 'limitParam';
    // Later pages at a path of their own are not requests of this operation.
    const isOfPage = member.endsWith('Param') && (isLimit || !('nextPath' in paging && paging.nextPath));
    if (!isOfPage || typeof name !== 'string') continue;
    const from = isLimit ? `${at}.maxLimit` : `${at}.${member}`;
    const one = { ...nothing(from), always: true, open: true };
    put(root, wireSteps(name), isLimit ? { ...one, max: paging.maxLimit } : one);
  }
}

export function pagingOf({ paging }: ConnectorFile, action: ActionDefinition) {
  return typeof action.paging === 'string' ? paging[action.paging] : action.paging;
}

/** Returns the dotted path of an action's paging. */
export function pagingPath(id: string, { paging }: ActionDefinition): string {
  return typeof paging === 'string' ? `paging.${paging}` : `actions.${id}.paging`;
}

function putFixed(root: Sent, fixed: Members, from: string): void {
  for (const [name, value] of Object.entries(fixed)) {
    const scalar = ['string', 'number', 'boolean'].includes(typeof value);
    const own = `${from}.${name}`;
    const one = put(root, wireSteps(name), { ...nothing(own), always: true, enum: scalar ? [value] : [] });
    if (isRecord(value)) putFixed(one, value, own);
  }
}

function put(root: Sent, steps: string[], value: Sent): Sent {
  let at = root;
  for (const [index, step] of steps.entries()) {
    const last = index === steps.length - 1;
    const next = at.of.get(step) ?? nothing(value.from);
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
    from: other.from,
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

/** Returns the names that some rule of the action requires. */
function requiredByRules({ rules }: ActionDefinition): Set<string> {
  const found = new Set<string>();
  const walk = (value: unknown): void => {
    if (Array.isArray(value)) for (const one of value) walk(one);
    else if (isRecord(value)) {
      for (const name of listOf(value['required'])) found.add(String(name));
      for (const names of Object.values(membersOf(value['dependentRequired'])))
        for (const name of listOf(names)) found.add(String(name));
      for (const one of Object.values(value)) walk(one);
    }
  };
  walk(rules);
  return found;
}

/** A schema of the file with its dotted path. */
export interface OwnSchema {
  value: unknown;
  from: string;
  /** Paths of the schemas that enclose this one without a member between. A schema that is inside of itself is skipped. */
  around?: readonly string[];
}

function ofSchema(definition: ConnectorFile, given: OwnSchema, depth: number): Sent {
  const { schema, from, around } = ownSchema(definition, given);
  const one = nothing(given.from);
  one.open = true;
  if (!schema) return one;
  one.enum = schema['const'] === undefined ? listOf(schema['enum']) : [schema['const']];
  if (typeof schema['maximum'] === 'number') one.max = schema['maximum'];
  const required = listOf(schema['required']);
  for (const [name, value] of Object.entries(membersOf(schema['properties']))) {
    if (depth === 0) continue;
    const inner = ofSchema(definition, { value, from: `${from}.properties.${name}` }, depth - 1);
    one.of.set(name, { ...inner, always: required.includes(name) });
  }
  const items = schema['items'] === undefined ? [] : [{ value: schema['items'], from: `${from}.items` }];
  const alternatives = ['anyOf', 'oneOf'].flatMap((keyword) =>
    listOf(schema[keyword]).map((value, index) => ({ value, from: `${from}.${keyword}.${index}` })),
  );
  for (const each of [...items, ...alternatives]) {
    const part = ofSchema(definition, { ...each, around }, depth);
    one.enum.push(...part.enum);
    for (const [name, member] of part.of) one.of.set(name, member);
  }
  one.open = one.of.size === 0;
  return one;
}

/**
 * Returns a schema of the file, or the named one that it refers to, with its dotted path; no schema where it is inside
 * of itself.
 */
export function ownSchema(
  { schemas }: ConnectorFile,
  { value, from, around = [] }: OwnSchema,
): { schema: JsonSchema | undefined; from: string; around: readonly string[] } {
  const schema = membersOf(value);
  const name = typeof schema['$ref'] === 'string' ? schema['$ref'].replace('#/schemas/', '') : '';
  const named = Object.hasOwn(schemas, name) ? schemas[name] : undefined;
  const place = named ? `schemas.${name}` : from;
  const isInside = around.includes(place);
  return { schema: isInside ? undefined : (named ?? schema), from: place, around: [...around, place] };
}
