import { hiddenIn } from '../lib/hidden-characters.ts';
import type { Import } from './context.ts';
import { entriesOf, isRecord, itemsOf, memberOf, type Node } from './node.ts';
import { isReadOnly } from './compact-schemas.ts';
import { propertiesNode } from './types.ts';

/** A member of a body; several nodes where `allOf` describes it more than once. */
export interface BodyMember {
  name: string;
  nodes: Node[];
  required: boolean;
}

const MAX_PARTS = 64;
/** More members are one parameter together. */
const MAX_MEMBERS = 500;
/** Keywords that rule several members at once, which parameters of their own cannot. */
const RULES = ['oneOf', 'anyOf', 'not', 'if', 'patternProperties', 'dependentRequired', 'dependentSchemas'];

/**
 * Returns the members of an object, with those of its `allOf`; undefined where the body must be one parameter: no
 * object, no fixed members, or names that the format would nest.
 */
export function objectMembers(context: Import, schema: Node, type: string): BodyMember[] | undefined {
  const found = new Map<string, BodyMember>();
  const required = new Set<unknown>();
  const dropped = new Set<unknown>();
  if (!collect(context, schema, { found, required, dropped, parts: { left: MAX_PARTS } })) return undefined;
  // A required member without a schema may be any value.
  for (const name of required)
    if (typeof name === 'string' && !found.has(name) && !dropped.has(name))
      found.set(name, { name, nodes: [{ ...schema, value: true }], required: true });
  if (found.size === 0 || found.size > MAX_MEMBERS) return undefined;
  const members = [...found.values()].map((one) => ({ ...one, required: required.has(one.name) }));
  const nests = ({ name }: BodyMember) => name.includes('.') || (type === 'json' && /^\d+$|[[\]]/.test(name));
  return members.some((one) => nests(one) || one.name === '__proto__') ? undefined : members;
}

interface Collected {
  found: Map<string, BodyMember>;
  required: Set<unknown>;
  /** Names that only the app sets. */
  dropped: Set<unknown>;
  parts: { left: number };
}

function collect(context: Import, node: Node, into: Collected): boolean {
  if (into.parts.left-- <= 0) return false;
  const schema = context.documents.follow(node);
  const { value } = schema;
  if (!isRecord(value)) return false;
  const types = [value['type']].flat().filter((one) => one !== 'null' && one !== undefined);
  if (types.some((one) => one !== 'object')) return false;
  if (RULES.some((keyword) => value[keyword] !== undefined)) return false;
  const { additionalProperties: more, minProperties: least } = value;
  if (isRecord(more) && Object.keys(more).length > 0) return false;
  if (typeof least === 'number' && least > 0) return false;
  for (const part of itemsOf(memberOf(schema, 'allOf'))) if (!collect(context, part, into)) return false;
  for (const { value: name } of itemsOf(memberOf(schema, 'required'))) into.required.add(name);
  for (const [name, member] of entriesOf(propertiesNode(context.documents, schema))) {
    if (name.includes('<!--') || hiddenIn(name) !== undefined) return false;
    if (isReadOnly(context.documents, member)) {
      into.dropped.add(name);
      continue;
    }
    const known = into.found.get(name);
    if (known) known.nodes.push(member);
    else into.found.set(name, { name, nodes: [member], required: false });
  }
  return true;
}
