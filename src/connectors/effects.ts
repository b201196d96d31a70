import type { JsonObject } from '../lib/json.ts';
import { holds } from './conditions.ts';
import type { ActionDefinition } from './format/format.ts';

/** The effect of a call on an app's data. */
export type Effect = 'read' | 'write' | 'destructive';

const GRAVITY: readonly Effect[] = ['read', 'write', 'destructive'];

/** Returns the effect of a method, where a file names no other. */
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

export function mostSevereOf(effects: readonly Effect[]): Effect {
  return GRAVITY.findLast((effect) => effects.includes(effect)) ?? 'destructive';
}

/** Returns the effect of a call with this input: the most severe of those whose condition holds, else the usual one. */
export function effectOfCall(
  action: { effects: readonly Effect[]; definition: Pick<ActionDefinition, 'effectWhen'> },
  input: JsonObject,
): Effect {
  const [usual = 'destructive'] = action.effects;
  const fitting = action.definition.effectWhen.filter((condition) => holds(condition, input));
  return fitting.length === 0 ? usual : mostSevereOf(fitting.map(({ effect }) => effect));
}
