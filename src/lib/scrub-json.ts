import { isJsonObject, type Json } from './json.ts';
import { scrub } from './scrub.ts';

/** A JSON value of the same shape without any of the secrets, wherever they stand: in texts, numbers and names. */
export function scrubJson(value: Json, secrets: readonly string[]): Json {
  if (secrets.length === 0) return value;
  if (typeof value === 'string') return scrub(value, secrets);
  if (typeof value === 'number') return secrets.includes(String(value)) ? '[secret]' : value;
  if (Array.isArray(value)) return value.map((one) => scrubJson(one, secrets));
  if (!isJsonObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => [scrub(name, secrets), scrubJson(member, secrets)]),
  );
}
