import type { Base } from '../../base.ts';
import { newRandomToken } from '../../crypto/tokens.ts';

/** With TLS, the prefix keeps other hosts of the domain from setting the cookie (RFC 6265bis section 4.1.3). */
const SECURE_NAME = '__Host-gatehouse';
const PLAIN_NAME = 'gatehouse';
const VALUE = /^[0-9A-Za-z]{43}$/;

/**
 * Returns the value of our cookie, which identifies a browser, or undefined. With TLS, the name without a prefix is
 * ignored: another host of the domain or an attacker on a plain HTTP connection could have set it.
 */
export function browserOf(
  { publicUrl }: Pick<Base, 'publicUrl'>,
  cookies: string | undefined,
): string | undefined {
  return tokenOf(cookies, nameAt(publicUrl));
}

/** Returns the token in the cookie of this name; undefined without one. */
export function tokenOf(cookies: string | undefined, wanted: string): string | undefined {
  for (const pair of (cookies ?? '').split(';')) {
    const [name = '', value = ''] = pair.trim().split('=', 2);
    if (name === wanted && VALUE.test(value)) return value;
  }
  return undefined;
}

/**
 * Creates an identity for a browser, with the header that sets its cookie. The cookie is deleted when the browser
 * closes.
 */
export function newBrowser({ publicUrl }: Pick<Base, 'publicUrl'>): { browserId: string; cookie: string } {
  const browserId = newRandomToken();
  const secure = isSecure(publicUrl) ? '; Secure' : '';
  return {
    browserId,
    cookie: `${nameAt(publicUrl)}=${browserId}; Path=/; HttpOnly; SameSite=Lax${secure}`,
  };
}

function nameAt(publicUrl: string): string {
  return isSecure(publicUrl) ? SECURE_NAME : PLAIN_NAME;
}

export function isSecure(publicUrl: string): boolean {
  return publicUrl.startsWith('https:');
}
