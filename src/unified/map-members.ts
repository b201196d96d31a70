import jsonata from 'jsonata';
import { z } from 'zod';
import type { ConnectorFile } from '../connectors/format/format.ts';
import type { SemanticFault } from '../connectors/semantics/semantic-fault.ts';
import { asObject, type Json } from '../lib/json.ts';
import { didYouMean } from '../lib/words.ts';
import { UNIFIED_MODELS } from './models.ts';

/**
 * Returns the members that the maps of a connector file write and that their unified models do not have. It reads the
 * literal names of the objects that an expression may return, and of the objects in their members; names that an
 * expression computes are found by examples.
 */
export function mapMemberFaults({ unified }: Pick<ConnectorFile, 'unified'>): SemanticFault[] {
  return Object.entries(UNIFIED_MODELS).flatMap(([scope, model]) => {
    const map = Object.entries(unified).find(([name]) => name === scope)?.[1]?.map;
    if (map === undefined) return [];
    const result: unknown = jsonata(map).ast();
    return unknownMembers(result, { model, at: '' }).map(({ name, known }) => ({
      path: `unified.${scope}.map`,
      rule: `writes "${name}", which the model does not have.${didYouMean(name.split('.').at(-1) ?? '', known)}`,
    }));
  });
}

interface Unknown {
  /** Path of the member: `lineItems.titel`. */
  name: string;
  /** Names that the model has there. */
  known: string[];
}

function unknownMembers(node: unknown, { model, at }: { model: z.core.$ZodType; at: string }): Unknown[] {
  const object = objectIn(model);
  if (!object) return [];
  const { shape } = object;
  return objectsIn(node).flatMap((pairs) =>
    pairs.flatMap((pair) => {
      const [key, value] = listOf(pair);
      const { type, value: name } = asObject(key);
      if (type !== 'string' || typeof name !== 'string') return [];
      const member = Object.hasOwn(shape, name) ? shape[name] : undefined;
      if (!member) return [{ name: at + name, known: Object.keys(shape) }];
      return unknownMembers(value, { model: member, at: `${at}${name}.` });
    }),
  );
}

/** Returns the object of a model: itself, that of a member that may be null, or that of the items of a list. */
function objectIn(model: z.core.$ZodType | undefined): z.ZodObject | undefined {
  if (model instanceof z.ZodObject) return model;
  if (model instanceof z.ZodArray) return objectIn(model.element);
  if (model instanceof z.ZodDefault || model instanceof z.ZodNullable || model instanceof z.ZodOptional)
    return objectIn(model.unwrap());
  return undefined;
}

/** Returns the objects that a node of an expression may return, each as its pairs of name and value. */
function objectsIn(node: unknown): Json[][] {
  const {
    type,
    value,
    lhs,
    expressions,
    steps,
    group,
    then,
    else: otherwise,
    arguments: given,
    procedure,
  } = asObject(node);
  switch (type) {
    case 'unary':
      if (value === '{') return [listOf(lhs)];
      return value === '[' ? listOf(expressions).flatMap(objectsIn) : [];
    case 'block':
      return objectsIn(listOf(expressions).at(-1));
    case 'condition':
      return [...objectsIn(then), ...objectsIn(otherwise)];
    case 'path':
      return group === undefined ? objectsIn(listOf(steps).at(-1)) : [listOf(asObject(group)['lhs'])];
    case 'function':
      return asObject(procedure)['value'] === 'merge' ? listOf(given).flatMap(objectsIn) : [];
    default:
      return [];
  }
}

function listOf(value: Json | undefined): Json[] {
  return Array.isArray(value) ? value : [];
}
