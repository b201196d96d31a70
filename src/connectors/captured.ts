import type { Authentication } from './format.ts';

/** A value that a grant or a token exchange adds to the entered fields. */
export interface Captured {
  format: 'text' | 'subdomain' | 'host' | 'origin';
  required: boolean;
  secret: boolean;
}

const NONE: Readonly<Record<string, Captured>> = {};
/** Cached, because each call needs them. */
const known = new WeakMap<Authentication, Readonly<Record<string, Captured>>>();

/** Returns the values that a scheme stores besides its fields and tokens, by name. */
export function capturedOf(scheme: Authentication): Readonly<Record<string, Captured>> {
  if (!('capture' in scheme) && scheme.type !== 'token_exchange') return NONE;
  let found = known.get(scheme);
  if (!found) known.set(scheme, (found = Object.fromEntries(captures(scheme))));
  return found;
}

function captures(scheme: Authentication): [string, Captured][] {
  if ('capture' in scheme)
    return Object.entries(scheme.capture).map(([name, { format, required }]) => [
      name,
      { format, required, secret: false },
    ]);
  if (scheme.type !== 'token_exchange') return [];
  return scheme.steps
    .flatMap(({ take }) => Object.entries(take))
    .filter(([name]) => name !== 'accessToken')
    .map(([name, taken]) => {
      const { format, secret } =
        typeof taken === 'string' ? { format: 'text' as const, secret: true } : taken;
      return [name, { format, required: true, secret }];
    });
}
