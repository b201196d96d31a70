import { isJsonObject, type Json, type JsonObject } from '../lib/json.ts';

/** Sets a member. A dotted name nests: `shipping.city` sets {"shipping": {"city": …}}. */
export function setMember(members: JsonObject, name: string, value: Json): void {
  const parts = name.split('.');
  const last = parts.pop() ?? name;
  let at = members;
  for (const part of parts) {
    const next = at[part];
    // The copy protects the caller's object, which may be the parent here.
    at = at[part] = isJsonObject(next) ? { ...next } : {};
  }
  at[last] = value;
}
