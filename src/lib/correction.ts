import type { Json } from './json.ts';

/** A correction of an input: a value, or the name of a member. */
export interface Correction {
  /** Dotted, as in the input that came. */
  path: string;
  from: Json;
  to: Json;
}

/** Shown in place of a value, for a member that was ignored. */
export const LEFT_OUT = '(left out)';
const MAX_SHOWN = 100;

/** Returns a value without its end if it is long, because it may be a secret. */
export function shortened(value: Json): Json {
  if (typeof value === 'string') return value.length > MAX_SHOWN ? `${value.slice(0, MAX_SHOWN)}…` : value;
  const text = JSON.stringify(value);
  return text.length > MAX_SHOWN ? (Array.isArray(value) ? '(list)' : '(object)') : value;
}
