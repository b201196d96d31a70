import type { Credential } from '../credentials/credential.ts';
import { holdsTokens } from '../credentials/refresh.ts';

/**
 * Returns the key of a list's stored positions. They hold for one account: the key changes with the account, not with
 * its tokens.
 */
export function accountKey(credential: Credential | undefined): string {
  if (!credential) return '';
  return holdsTokens(credential)
    ? `${credential.credentialId} ${credential.account?.id ?? ''}`
    : credential.sealed;
}
