import type { Written } from './context.ts';
import type { Scheme } from './security-scheme.ts';

/**
 * Returns one scheme of the format for schemes that are needed together, of a type that the file does not have yet;
 * undefined where there is none.
 */
export function combinedScheme(
  parts: readonly Scheme[],
  used: ReadonlySet<string>,
): { type: string; written: Written } | undefined {
  const [only, ...others] = parts;
  if (only && others.length === 0 && only.type !== undefined && !used.has(only.type))
    return { type: only.type, written: only.written };
  const oauth = parts.find(({ type }) => type?.startsWith('oauth2'));
  const keys = parts.filter((part) => part !== oauth);
  const fields = fieldsOf(keys);
  if (!fields) return undefined;
  const apply = applyOf(parts);
  if (oauth?.type !== undefined)
    return used.has(oauth.type)
      ? undefined
      : { type: oauth.type, written: { ...oauth.written, fields, apply } };
  if (used.has('custom') || keys.length === 0) return undefined;
  const title = keys
    .map((part) => part.title)
    .join(' and ')
    .slice(0, 80);
  return { type: 'custom', written: { type: 'custom', title, fields, apply } };
}

/** Returns the fields of keys; undefined where one of them has no field of its own, such as Basic. */
function fieldsOf(keys: readonly Scheme[]): Record<string, Written> | undefined {
  const fields: Record<string, Written> = {};
  for (const { field, title } of keys) {
    if (field === undefined || fields[field]) return undefined;
    fields[field] = { title, secret: true };
  }
  return fields;
}

/** Cookies share one header; other places hold one value each. */
function applyOf(parts: readonly Scheme[]): Written {
  const headers: Record<string, string> = {};
  const query: Record<string, string> = {};
  for (const { apply } of parts) {
    for (const [name, template] of Object.entries(apply.headers ?? {}))
      headers[name] = headers[name] === undefined ? template : `${headers[name]}; ${template}`;
    Object.assign(query, apply.query);
  }
  return {
    ...(Object.keys(headers).length > 0 ? { headers } : {}),
    ...(Object.keys(query).length > 0 ? { query } : {}),
  };
}
