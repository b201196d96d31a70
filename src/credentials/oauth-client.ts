import type { OAuth } from '../connectors/format/format.ts';
import type { Secret } from '../lib/secret.ts';

/** An OAuth app that the operator registered at the third party. */
export interface OAuthClient {
  clientId: string;
  /** Absent for public clients, which authenticate by PKCE alone. */
  clientSecret: Secret | undefined;
  /** The scopes of the OAuth app; undefined means the scheme's. */
  scopes: string[] | undefined;
  /** Values of the host fields, for connectors with several hosts: see `appFields`. */
  fields: Record<string, string>;
}

/** Authorization code (RFC 6749 section 4.1). */
export type OAuth2 = Extract<OAuth, { type: 'oauth2' }>;

/** Returns the scopes that a consent page lists: those of the OAuth app, else of the scheme, and further ones. */
export function requestedScopes(
  scheme: { scopes?: readonly string[] },
  ofApp: readonly string[] | null | undefined,
  more: readonly string[] = [],
): string[] {
  return [...new Set([...(ofApp ?? scheme.scopes ?? []), ...more])];
}
