import { z } from 'zod';
import { memoByObject } from '../lib/memo.ts';
import type { Connector } from './catalog.ts';
import type { ConnectorFile } from './format/format.ts';
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
 * Returns the places that a secret is bound to: the origins, and the token endpoint of a remote MCP server. One origin may
 * hold several OAuth servers, and tokens and clients of one never go to another (MCP, Authorization Server Binding).
 */
const placesOf = memoByObject((file: ConnectorFile): readonly string[] => {
  const endpoints = file.authentication.flatMap((scheme) =>
    scheme.type === 'oauth2' ? [scheme.tokenUrl] : [],
  );
  return file.protocol === 'mcp' ? [...originsOf(file), ...endpoints] : originsOf(file);
});

/**
 * Returns the text that binds a secret to the origins of a custom connector. It is empty for a shipped one, whose file
 * only a release changes.
 */
export function bindingOf({ custom, definition }: Pick<Connector, 'custom' | 'definition'>): string {
  return custom ? JSON.stringify(placesOf(definition)) : '';
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
  const bound = boundPlaces(binding);
  return bound.length > 0 && placesOf(definition).every((place) => bound.includes(place));
}

/** Returns whether only the sign-in of a connector is at another address than the one that a secret was bound to. */
export function movedSignIn({ definition }: Pick<Connector, 'definition'>, binding: string): boolean {
  const [origin = ''] = originsOf(definition);
  return definition.protocol === 'mcp' && boundPlaces(binding).includes(origin);
}

/** Returns the places of a binding; none for an empty one. */
function boundPlaces(binding: string): string[] {
  return binding === '' ? [] : z.array(z.string()).parse(JSON.parse(binding));
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
