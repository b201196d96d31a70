import { isJsonObject, type Json, type JsonObject } from '../lib/json.ts';
import type { ActionDefinition, EffectCondition } from './format.ts';

/** The effect of a call on an app's data. */
export type Effect = 'read' | 'write' | 'destructive';

const GRAVITY: readonly Effect[] = ['read', 'write', 'destructive'];

/** Returns what a method does, where a file says nothing else. */
export function effectOf(method: string): Effect {
  if (method === 'GET' || method === 'HEAD') return 'read';
  return method === 'DELETE' ? 'destructive' : 'write';
}

/** Returns the effects that calls of an action may have, the usual one first. */
export function effectsIn(
  { effect, effectWhen }: Pick<ActionDefinition, 'effect' | 'effectWhen'>,
  method: string,
): Effect[] {
  return [...new Set([effect ?? effectOf(method), ...effectWhen.map((condition) => condition.effect)])];
}

export function gravestOf(effects: readonly Effect[]): Effect {
  return GRAVITY.findLast((effect) => effects.includes(effect)) ?? 'destructive';
}

/** Returns the effect of a call with this input: the gravest of those whose condition holds, else the usual one. */
export function effectOfCall(
  action: { effects: readonly Effect[]; definition: Pick<ActionDefinition, 'effectWhen'> },
  input: JsonObject,
): Effect {
  const [usual = 'destructive'] = action.effects;
  const fitting = action.definition.effectWhen.filter((condition) => holds(condition, input));
  return fitting.length === 0 ? usual : gravestOf(fitting.map(({ effect }) => effect));
}

function holds({ parameter, in: values }: EffectCondition, input: JsonObject): boolean {
  const found = valuesAt(input, parameter.split('.'));
  if (values === undefined) return found.some((value) => value !== null && value !== false && value !== '');
  const wanted = new Set(values.map(comparable));
  return found.some((value) => wanted.has(comparable(value)));
}

/** The values at a path, those in lists one by one. */
function valuesAt(value: Json | undefined, path: readonly string[]): Json[] {
  if (Array.isArray(value)) return value.flatMap((entry) => valuesAt(entry, path));
  const [name, ...rest] = path;
  if (name === undefined) return value === undefined ? [] : [value];
  return isJsonObject(value) && Object.hasOwn(value, name) ? valuesAt(value[name], rest) : [];
}

/** Apps take `voided` for VOIDED, and 'true' for true. */
function comparable(value: Json): string {
  return typeof value === 'string' ? value.trim().toLowerCase() : JSON.stringify(value);
}
