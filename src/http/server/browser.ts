import type { Context } from '../../context.ts';
import { newRandomToken } from '../../crypto/tokens.ts';

/** Where TLS is, the prefix keeps other hosts of the domain from setting it (RFC 6265bis section 4.1.3). */
const SECURE_NAME = '__Host-gatehouse';
const PLAIN_NAME = 'gatehouse';
const VALUE = /^[0-9A-Za-z]{43}$/;

/**
 * What makes this browser known to us: the value of our cookie, or undefined. Where TLS is, the plain name counts for
 * nothing: any host of the domain, and anybody on the way to one without TLS, could have set it.
 */
export function browserOf(
  { publicUrl }: Pick<Context, 'publicUrl'>,
  cookies: string | undefined,
): string | undefined {
  const ours = nameAt(publicUrl);
  for (const pair of (cookies ?? '').split(';')) {
    const [name = '', value = ''] = pair.trim().split('=', 2);
    if (name === ours && VALUE.test(value)) return value;
  }
  return undefined;
}

/** A new identity for a browser that has none, with the header that gives it. It ends with the browser. */
export function newBrowser({ publicUrl }: Pick<Context, 'publicUrl'>): { browserId: string; cookie: string } {
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

function isSecure(publicUrl: string): boolean {
  return publicUrl.startsWith('https:');
}
