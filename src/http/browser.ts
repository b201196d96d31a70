import type { IncomingMessage } from 'node:http';
import type { Context } from '../context.ts';
import { newRandomToken } from '../crypto/tokens.ts';

/** Where TLS is, the prefix keeps other hosts of the domain from setting it (RFC 6265bis section 4.1.3). */
const SECURE_NAME = '__Host-gatehouse';
const PLAIN_NAME = 'gatehouse';
const VALUE = /^[0-9A-Za-z]{43}$/;

/** What makes this browser known to us: the value of our cookie, or undefined. */
export function browserOf(req: Pick<IncomingMessage, 'headers'>): string | undefined {
  for (const pair of (req.headers.cookie ?? '').split(';')) {
    const [name = '', value = ''] = pair.trim().split('=', 2);
    if ((name === SECURE_NAME || name === PLAIN_NAME) && VALUE.test(value)) return value;
  }
  return undefined;
}

/** A new identity for a browser that has none, with the header that gives it. It ends with the browser. */
export function newBrowser({ publicUrl }: Pick<Context, 'publicUrl'>): { browserId: string; cookie: string } {
  const browserId = newRandomToken();
  const secure = publicUrl.startsWith('https:');
  const name = secure ? SECURE_NAME : PLAIN_NAME;
  return {
    browserId,
    cookie: `${name}=${browserId}; Path=/; HttpOnly; SameSite=Lax${secure ? '; Secure' : ''}`,
  };
}
