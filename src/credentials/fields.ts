import { capturedOf } from '../connectors/captured.ts';
import type { Connector } from '../connectors/catalog.ts';
import type { Authentication, CredentialField } from '../connectors/format/format.ts';
import type { Fault } from '../lib/errors.ts';
import { isJsonObject, type Json } from '../lib/json.ts';
import { compilePattern } from '../lib/linear-pattern.ts';

/** No app has longer keys; a PEM private key has about 3,300 characters. */
export const MAX_VALUE_CHARS = 10_000;

const LABEL = '[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?';
/** The pattern of each format for JSON Schema, and the rule for a person. */
export const FORMATS = {
  text: undefined,
  multiline: undefined,
  subdomain: { pattern: `^${LABEL}$`, rule: 'must be the first part of a host name, without dots: my-shop' },
  host: {
    pattern: `^${LABEL}(?:\\.${LABEL})*$`,
    rule: 'must be a host name without scheme, port or path: shop.example.com',
  },
  origin: {
    pattern: '^https?://[^\\s?#@]+$',
    rule: 'must be an address of scheme and host, perhaps with port and path: https://shop.example.com',
  },
  email: { pattern: '^[^\\s@]+@[^\\s@]+$', rule: 'must be an e-mail address' },
} satisfies Record<CredentialField['format'], { pattern: string; rule: string } | undefined>;

/** Matches the variable that ends the host of an address template: `{siteUrl}/oauth`, `https://{host}:8443/oauth`. */
const HOST_END = /^(?:https?:\/\/)?[^/?#]*\{(\w+)\}(?::\d+)?(?=[/?#]|$)/;

// eslint-disable-next-line no-control-regex -- what it finds is the point
const CONTROL = /[\u0000-\u001f\u007f]/;
// eslint-disable-next-line no-control-regex -- what it finds is the point
const CONTROL_BUT_LINES = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f]/;

const field = (title: string, secret: boolean): CredentialField => ({
  title,
  secret,
  required: true,
  format: 'text',
});

/** Returns the fields that a person enters: the scheme's first, as its file describes them, then the variables. */
export function credentialFields(connector: Connector, scheme: Authentication): Map<string, CredentialField> {
  const own = scheme.type === 'none' ? {} : scheme.fields;
  return new Map(Object.entries({ ...broughtBy(scheme), ...own, ...connector.definition.variables }));
}

/**
 * Returns every field that a credential of this scheme stores.
 * Credentials with tokens store these and captured values in addition to the entered fields. An imported account
 * brings them along.
 */
export function storedFields(connector: Connector, scheme: Authentication): Map<string, CredentialField> {
  const asked = credentialFields(connector, scheme);
  const captured = Object.entries(capturedOf(scheme)).map(
    ([name, { format, required, secret }]): [string, CredentialField] => [
      name,
      { ...field(name, secret), format, required },
    ],
  );
  if (!('capture' in scheme) && scheme.type !== 'token_exchange') return new Map([...captured, ...asked]);
  const refreshToken: CredentialField = { ...field('Refresh token', true), required: false };
  return new Map([
    ['accessToken', field('Access token', true)],
    ...('capture' in scheme ? [['refreshToken', refreshToken] satisfies [string, CredentialField]] : []),
    ...captured,
    ...asked,
  ]);
}

/**
 * Returns the fields with which a caller could choose the host that receives the OAuth app's secret.
 * They end the host of an address that receives the secret, and neither enum nor pattern limits them.
 * The operator who registers the app sets their values.
 */
export function appFields(connector: Connector, scheme: Authentication): Map<string, CredentialField> {
  if (scheme.type !== 'oauth2') return new Map();
  const { authorizeUrl, tokenUrl, refreshUrl, revocation } = scheme;
  const addresses = [authorizeUrl, tokenUrl, refreshUrl, revocation?.url];
  const named = new Set(addresses.map((address) => HOST_END.exec(address ?? '')?.[1]));
  const asked = [...credentialFields(connector, scheme)];
  return new Map(
    asked.filter(([name, field]) => named.has(name) && !field.enum && field.pattern === undefined),
  );
}

/** Returns the fields that a scheme has although its file does not name them. */
function broughtBy(scheme: Authentication): Record<string, CredentialField> {
  switch (scheme.type) {
    case 'bearer':
      return { token: field('Token', true) };
    case 'api_key':
      return { apiKey: field('API key', true) };
    case 'basic':
      return scheme.basic ? {} : { username: field('User name', false), password: field('Password', true) };
    case 'oauth2_client_credentials':
      return { clientId: field('Client id', false), clientSecret: field('Client secret', true) };
    default:
      return {};
  }
}

/**
 * Returns the values to store and every fault by field (`data.<field>`).
 * Hosts are in lower case, addresses without trailing slash.
 * Defaults of absent fields are not stored: see sealed-values.ts.
 */
export function checkFields(
  fields: ReadonlyMap<string, CredentialField>,
  data: { [name: string]: Json },
): { values: Record<string, string>; faults: Fault[] } {
  const faults: Fault[] = [];
  const values: Record<string, string> = {};
  for (const name of Object.keys(data)) {
    if (!fields.has(name)) {
      const known = [...fields.keys()].join(', ') || 'none';
      faults.push({ field: `data.${name.slice(0, 64)}`, rule: `is not a known member; known: ${known}` });
    }
  }
  for (const [name, definition] of fields) {
    const value = Object.hasOwn(data, name) ? data[name] : undefined;
    if (value === undefined || value === '') {
      if (isRequired(definition))
        faults.push({ field: `data.${name}`, rule: `is required (${definition.title})` });
      continue;
    }
    const rule = brokenRule(definition, value);
    if (rule !== undefined) faults.push({ field: `data.${name}`, rule });
    else values[name] = normal(definition, String(value));
  }
  return { values, faults };
}

/** Returns the default values of fields that have one. */
export function defaultsOf(fields: ReadonlyMap<string, CredentialField>): Record<string, string> {
  return Object.fromEntries(
    [...fields].flatMap(([name, field]) => (field.default === undefined ? [] : [[name, field.default]])),
  );
}

export function isRequired(definition: CredentialField): boolean {
  return definition.required && definition.default === undefined;
}

/** Returns the rule that `value` breaks. The rule never contains the value. */
function brokenRule(definition: CredentialField, value: Json | undefined): string | undefined {
  if (typeof value !== 'string')
    return `must be a string, got ${isJsonObject(value) ? 'an object' : describe(value)}`;
  if (value.length > MAX_VALUE_CHARS)
    return `must have at most ${MAX_VALUE_CHARS} characters, has ${value.length}`;
  if ((definition.format === 'multiline' ? CONTROL_BUT_LINES : CONTROL).test(value)) {
    return 'must not hold line breaks or control characters; was it copied with the end of its line?';
  }
  if (value.trim() === '') return 'must not be blank';
  const format = FORMATS[definition.format];
  if (format && !new RegExp(format.pattern, 'u').test(value)) return format.rule;
  if (definition.format === 'origin' && !URL.canParse(value)) return FORMATS.origin.rule;
  if (definition.enum && !definition.enum.includes(value))
    return `must be one of: ${definition.enum.join(', ')}`;
  if (definition.pattern !== undefined && !compilePattern(definition.pattern).test(value)) {
    const example = definition.example === undefined ? '' : `, such as ${definition.example}`;
    return `must match ${definition.pattern}${example}`;
  }
  return undefined;
}

function normal(definition: CredentialField, value: string): string {
  if (definition.format === 'subdomain' || definition.format === 'host') return value.toLowerCase();
  if (definition.format === 'origin') return value.replace(/\/+$/, '');
  return value;
}

function describe(value: Json | undefined): string {
  if (value === null) return 'null';
  return Array.isArray(value) ? 'an array' : `a ${typeof value}`;
}
