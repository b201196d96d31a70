import type { Authentication } from './format/format.ts';

/** A value that a grant, a token exchange or `derived` adds to the entered fields. */
export interface Captured {
  format: 'text' | 'multiline' | 'subdomain' | 'host' | 'origin';
  required: boolean;
  secret: boolean;
}

/**
 * Returns the places of the account in a grant: those of the file, else those of the account that the person chose;
 * undefined when only the probe knows the account.
 */
export function accountPlaces(scheme: Authentication): { id: string; name?: string | undefined } | undefined {
  if (scheme.type !== 'oauth2' && scheme.type !== 'oauth2_client_credentials') return undefined;
  const { account, lookup } = scheme;
  if (account || !lookup?.choose) return account;
  return { id: `lookup:${lookup.choose.id}`, name: `lookup:${lookup.choose.label}` };
}

const NONE: Readonly<Record<string, Captured>> = {};
/** Cached, because each call needs them. */
const known = new WeakMap<Authentication, Readonly<Record<string, Captured>>>();

/** Returns the values that a scheme stores besides its fields and tokens, by name. */
export function capturedOf(scheme: Authentication): Readonly<Record<string, Captured>> {
  if (scheme.type === 'none') return NONE;
  let found = known.get(scheme);
  if (!found) known.set(scheme, (found = Object.fromEntries(captures(scheme))));
  return found;
}

function captures(scheme: Exclude<Authentication, { type: 'none' }>): [string, Captured][] {
  const captured = 'capture' in scheme ? Object.entries(scheme.capture) : [];
  const taken =
    scheme.type === 'token_exchange' ? scheme.steps.flatMap(({ take }) => Object.entries(take)) : [];
  return [
    ...Object.entries(scheme.derived).map(([name, { format, secret }]): [string, Captured] => [
      name,
      { format, secret, required: false },
    ]),
    ...captured.map(([name, { format, required }]): [string, Captured] => [
      name,
      { format, required, secret: false },
    ]),
    ...taken
      .filter(([name]) => name !== 'accessToken')
      .map(([name, from]): [string, Captured] => {
        const { format, secret } =
          typeof from === 'string' ? { format: 'text' as const, secret: true } : from;
        return [name, { format, secret, required: true }];
      }),
  ];
}
