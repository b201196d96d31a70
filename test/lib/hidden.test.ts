import { describe, expect, test } from 'vitest';
import { hiddenIn, withoutHidden } from '../../src/lib/hidden-characters.ts';

describe('a text', () => {
  test.each([
    ['a zero-width space', 'pay\u200Bload', 'U+200B'],
    ['a zero-width joiner', 'a\u200Db', 'U+200D'],
    ['a right-to-left override', 'txt.\u202Eexe', 'U+202E'],
    ['an isolate', 'a\u2066b', 'U+2066'],
    ['a tag character', 'a\u{E0041}b', 'U+E0041'],
    ['a variation selector', 'a\u{E0100}b', 'U+E0100'],
    ['a soft hyphen', 'a\u00ADb', 'U+00AD'],
    ['a Hangul filler', 'a\u3164b', 'U+3164'],
    ['a byte order mark', '\uFEFFa', 'U+FEFF'],
    ['an interlinear annotation', 'a\uFFF9b', 'U+FFF9'],
    ['an escape', 'a\u001B[8mb', 'U+001B'],
    ['a line separator', 'a\u2028b', 'U+2028'],
    ['half a surrogate pair', 'a\uD83Db', 'U+D83D'],
  ])('a text with %s has a hidden character', (_, text, named) => {
    expect(hiddenIn(text)).toBe(named);
    expect(hiddenIn(withoutHidden(text))).toBeUndefined();
    expect(withoutHidden(text)).toContain(named.slice(2));
  });

  test.each(['Plain text.', 'Zwei\n\tZeilen – „so“ …', 'Ελληνικά, 日本語, العربية', 'an emoji 🙂'])(
    'a text such as %j has no hidden character',
    (text) => {
      expect(hiddenIn(text)).toBeUndefined();
      expect(withoutHidden(text)).toBe(text);
    },
  );
});
