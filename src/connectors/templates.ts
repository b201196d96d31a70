import type { Json, JsonObject } from '../lib/json.ts';

const NAME = /\{([a-zA-Z_][a-zA-Z0-9_]*)\}/g;

/** Returns the names in a template, each once. */
export function templateNames(template: string): string[] {
  return [...new Set([...template.matchAll(NAME)].map((match) => match[1] ?? ''))];
}

/** Returns the template with every `{name}` replaced by its value; `value` decides about unknown names. */
export function fillTemplate(template: string, value: (name: string) => string): string {
  if (!template.includes('{')) return template;
  return template.replaceAll(NAME, (_, name: string) => value(name));
}

/**
 * Returns the input of a connector file with its `{name}`s filled by `value`; an unknown name stays. A member that is
 * only one name becomes the value itself, and its name may be a dotted path.
 */
export function filledInput(
  input: { readonly [name: string]: Json },
  value: (name: string) => Json | undefined,
): JsonObject {
  const fill = (member: Json): Json => {
    if (typeof member === 'string') {
      const whole = /^\{([\w.]+)\}$/.exec(member);
      const found = whole?.[1] === undefined ? undefined : value(whole[1]);
      if (found !== undefined) return found;
      return fillTemplate(member, (name) => String(value(name) ?? `{${name}}`));
    }
    if (Array.isArray(member)) return member.map(fill);
    if (member === null || typeof member !== 'object') return member;
    return Object.fromEntries(Object.entries(member).map(([name, one]) => [name, fill(one)]));
  };
  return Object.fromEntries(Object.entries(input).map(([name, member]) => [name, fill(member)]));
}
