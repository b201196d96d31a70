import { isJsonObject, type Json } from './json.ts';
import { createScrubber } from './scrub.ts';

/** Returns a JSON value of the same shape without any of the secrets in its texts, numbers and names. */
export function scrubJson(value: Json, secrets: readonly string[]): Json {
  if (secrets.length === 0) return value;
  const scrubbed = createScrubber(secrets);
  const clean = (one: Json): Json => {
    if (typeof one === 'string') return scrubbed(one);
    if (typeof one === 'number') return scrubbed(String(one)) === String(one) ? one : '[secret]';
    if (Array.isArray(one)) return one.map(clean);
    if (!isJsonObject(one)) return one;
    return Object.fromEntries(Object.entries(one).map(([name, member]) => [scrubbed(name), clean(member)]));
  };
  return clean(value);
}
