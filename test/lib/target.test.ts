import { describe, expect, test } from 'vitest';
import { readTarget } from '../../src/outbound/target.ts';

describe('an address to call', () => {
  test.each([
    ['https://example.com/a/b?c=d&e=%20', 'https://example.com', '/a/b?c=d&e=%20', 443],
    ['https://EXAMPLE.com:443/a/../b#c', 'https://example.com', '/b', 443],
    ['http://0x7f.1:8080', 'http://127.0.0.1:8080', '/', 8080],
  ])('the address %s is split', (text, origin, path, port) => {
    expect(readTarget(text)).toMatchObject({ origin, path, port });
  });

  test.each(['https://user@example.com/', 'file:///etc/passwd', 'example.com', ''])(
    'the address %s is refused',
    (text) => {
      expect(() => readTarget(text)).toThrow('not an http(s) address without user name');
    },
  );
});
