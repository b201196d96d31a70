import { memoByObject } from '../lib/memo.ts';
import type { Connector } from './catalog.ts';
import type { ConnectorFile } from './format.ts';
import { fillTemplate } from './templates.ts';

/**
 * Places of addresses of pages for people, which receive no credential. Actions and fields may have the same names
 * elsewhere, and the addresses below them count.
 */
const PAGES = [/^website$/, /^sources$/, /^authentication\/\d+\/docsUrl$/];

/**
 * Returns the origins of all addresses that a connector may send a credential to, the base address first: `https://x`.
 * A name in an origin stands with its default, `https://{region=eu}.example.com`, because the default decides where a
 * call goes.
 */
export const originsOf = memoByObject((file: ConnectorFile): readonly string[] => {
  const templates = [file.baseUrl, ...addressesIn(file)];
  return [...new Set(templates.map((template) => originOf(file, template)))];
});

/**
 * Returns the text that binds a secret to the origins of a custom connector. It is empty for a shipped one, whose file
 * only a release changes.
 */
export function bindingOf({ custom, definition }: Pick<Connector, 'custom' | 'definition'>): string {
  return custom ? JSON.stringify(originsOf(definition)) : '';
}

/**
 * Returns whether a connector sends a secret only to the origins that it was bound to by bindingOf(). Another author
 * may have made the connector again under the same id.
 */
export function keepsOrigins(
  { custom, definition }: Pick<Connector, 'custom' | 'definition'>,
  binding: string,
): boolean {
  if (binding === '') return !custom;
  const bound: unknown = JSON.parse(binding);
  return Array.isArray(bound) && originsOf(definition).every((origin) => bound.includes(origin));
}

/**
 * Returns the values of all members whose name ends in `url`, and the addresses of the steps of a token exchange.
 * `within`: place of the value in the file. No name of the format holds a slash.
 */
function addressesIn(value: unknown, within = ''): string[] {
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([name, member]) => {
    const place = `${within}${name}`;
    if (PAGES.some((page) => page.test(place))) return [];
    if (name === 'request' && typeof member === 'string') return /^[A-Z]+ ([^/].*)$/.exec(member)?.[1] ?? [];
    if (typeof member === 'string') return /url$/i.test(name) ? [member] : [];
    return addressesIn(member, `${place}/`);
  });
}

function originOf(file: ConnectorFile, template: string): string {
  const [origin = template] = /^(https?:\/\/)?[^/?#]*/i.exec(template) ?? [];
  return fillTemplate(origin.toLowerCase() === origin ? origin : withLowerHost(origin), (name) => {
    const preset = defaultOf(file, name);
    return preset === undefined ? `{${name}}` : `{${name}=${preset}}`;
  });
}

/** Returns the origin with its literal parts in lower case, because hosts have no case. */
function withLowerHost(origin: string): string {
  return origin.replaceAll(/\{\w+\}|[^{]+/g, (part) => (part.startsWith('{') ? part : part.toLowerCase()));
}

function defaultOf(file: ConnectorFile, name: string): string | undefined {
  const fields = file.authentication.flatMap((scheme) => ('fields' in scheme ? [scheme.fields[name]] : []));
  return [file.variables[name], ...fields].find((field) => field?.default !== undefined)?.default;
}
