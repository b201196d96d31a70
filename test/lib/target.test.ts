import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { isPlainPath, readTarget } from '../../src/lib/target.ts';

/** Returns the parts of an address by the URL parser; `refused` for an address that may not be called. */
function byUrl(text: string) {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (!url || !/^https?:$/.test(url.protocol) || url.username || url.password) return 'refused';
  return {
    origin: url.origin,
    protocol: url.protocol,
    hostname: url.hostname,
    host: url.host,
    port: Number(url.port) || (url.protocol === 'https:' ? 443 : 80),
    path: url.pathname + url.search,
  };
}

function byTarget(text: string) {
  try {
    return readTarget(text);
  } catch {
    return 'refused';
  }
}

const host = fc.oneof(
  fc.constantFrom(
    'example.com',
    'EXAMPLE.com',
    '127.1',
    '0x7f.1',
    '2130706433',
    '[::1]',
    'a_b.example',
    'a..b',
    '-',
    '.',
  ),
  fc.stringMatching(/^[a-z0-9.:@-]{1,12}$/),
);
const port = fc.constantFrom('', ':80', ':443', ':8080', ':08080', ':99999', ':');
const tail = fc.oneof(
  fc.string({ unit: 'binary-ascii' }),
  fc
    .array(
      fc.constantFrom(
        '/',
        '.',
        '..',
        '%2e',
        '%2E',
        '%',
        '?',
        '#',
        "'",
        '"',
        '\\',
        'a',
        '[',
        '{',
        '|',
        '^',
        ' ',
        'é',
      ),
    )
    .map((parts) => parts.join('')),
);

describe('an address to call', () => {
  test('is split exactly as the URL parser splits it', () => {
    fc.assert(
      fc.property(
        fc.constantFrom('http', 'https', 'HTTP', 'ftp'),
        host,
        port,
        tail,
        (scheme, name, at, rest) => {
          for (const text of [`${scheme}://${name}${at}/${rest}`, `${scheme}://${name}${at}${rest}`])
            expect(byTarget(text)).toEqual(byUrl(text));
        },
      ),
      { numRuns: 3000 },
    );
  });

  test.each([
    'https://example.com/a/b?c=d&e=%20',
    'https://example.com/a/../b',
    'https://example.com/a/%2E%2e',
    'https://example.com:443/a',
    'http://0x7f.1/',
    "https://example.com/it's?it's",
    'https://example.com/a?b=../c',
    'https://example.com/a#b',
    'https://user@example.com/',
    'file:///etc/passwd',
    'example.com',
    '',
  ])('%s', (text) => {
    expect(byTarget(text)).toEqual(byUrl(text));
  });

  test('a path is plain only if the URL parser leaves it unchanged', () => {
    fc.assert(
      fc.property(tail, (text) => {
        const address = `https://example.com/${text}`;
        expect(isPlainPath(`/${text}`) ? new URL(address).href : address).toBe(address);
      }),
      { numRuns: 3000 },
    );
  });
});
