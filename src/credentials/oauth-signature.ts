import { createHmac } from 'node:crypto';
import { sameText } from '../lib/same-text.ts';
import type { OAuth2, OAuthClient } from './oauth-client.ts';

/**
 * Returns whether a redirect carries the HMAC that its scheme requires (`callbackSignature`); true if it requires
 * none. A repeated parameter is part of the signed text. A repeated signature is rejected. Without a secret every signature is
 * rejected, because an attacker can sign with an empty key.
 */
export function isSigned(
  { callbackSignature }: Pick<OAuth2, 'callbackSignature'>,
  { clientSecret }: Pick<OAuthClient, 'clientSecret'>,
  callback: URLSearchParams,
): boolean {
  if (!callbackSignature) return true;
  const secret = clientSecret?.open() ?? '';
  if (secret === '') return false;
  const { param, algorithm, encoding } = callbackSignature;
  const [given = '', ...others] = callback.getAll(param);
  const signed = new URLSearchParams(callback);
  signed.delete(param);
  signed.sort();
  const hmac = createHmac(algorithm, secret);
  const expected = hmac.update(signed.toString().replaceAll('+', '%20')).digest(encoding);
  return others.length === 0 && sameText(given, expected);
}
