import { brotliCompressSync, deflateRawSync, deflateSync, gzipSync } from 'node:zlib';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { answerText, decodedRequest, fileText, requestForm } from '../../src/lib/http/body-text.ts';
import { GatehouseError } from '../../src/lib/errors.ts';
import { exactJsonText } from '../../src/lib/exact-numbers.ts';
import { jsonFromBody } from '../../src/lib/http/http-body.ts';
import { parseJson } from '../../src/lib/json.ts';
import { parseInSteps } from '../../src/lib/json-steps.ts';
import { storableText } from '../../src/lib/storable-text.ts';

const PACKED = {
  gzip: gzipSync,
  deflate: deflateSync,
  'deflate without its header': deflateRawSync,
  br: brotliCompressSync,
  identity: (bytes: Buffer) => bytes,
};
/** Ways to write a text as bytes, by the announced charset. */
const WRITTEN: { [charset: string]: (text: string) => Buffer } = {
  'utf-8': (text) => Buffer.from(text),
  '"UTF-8"': (text) => Buffer.from(`\ufeff${text}`),
  'utf-16': (text) => Buffer.from(`\ufeff${text}`, 'utf16le'),
  'utf-16be': (text) => Buffer.from(text, 'utf16le').swap16(),
};

const digits = fc.bigInt({ min: -(10n ** 40n), max: 10n ** 40n });
const leaf = fc.oneof(fc.string({ unit: 'binary' }), fc.double(), fc.boolean(), fc.constant(null));
const { value } = fc.letrec((tie) => ({
  value: fc.oneof(
    { maxDepth: 3 },
    leaf,
    fc.array(tie('value'), { maxLength: 4 }),
    fc.dictionary(fc.string(), tie('value'), { maxKeys: 4 }),
  ),
}));

async function received(
  body: Buffer,
  {
    charset,
    encoding = 'identity',
    maxBytes = 100_000,
  }: { charset?: string; encoding?: string; maxBytes?: number },
): Promise<string> {
  const bytes = await decodedRequest(body, {
    contentType: charset === undefined ? 'application/json' : `application/json; charset=${charset}`,
    contentEncoding: encoding.split(' ')[0],
    maxBytes,
  });
  return bytes.toString('utf8');
}

const codeOf = async (work: () => unknown): Promise<string> => {
  try {
    await work();
    return 'taken';
  } catch (error) {
    return error instanceof GatehouseError ? error.code : String(error);
  }
};

describe('a request body', () => {
  test.each(Object.keys(PACKED))(
    'a request body in %s and any charset gives the text that was sent',
    async (encoding) => {
      const pack = Object.entries(PACKED).find(([name]) => name === encoding)?.[1];
      await fc.assert(
        fc.asyncProperty(
          fc.string({ unit: 'grapheme' }),
          fc.constantFrom(...Object.keys(WRITTEN)),
          async (text, charset) => {
            const body = pack?.(WRITTEN[charset]?.(text) ?? Buffer.alloc(0)) ?? Buffer.alloc(0);
            fc.pre(!text.startsWith('\ufeff') && body.length > 0);
            expect(await received(body, { charset, encoding })).toBe(text);
          },
        ),
        { numRuns: 40 },
      );
    },
  );

  test('a request body in an older charset gives the text that was sent', async () => {
    expect(await received(Buffer.from('"Größe"', 'latin1'), { charset: 'iso-8859-1' })).toBe('"Größe"');
    expect(await received(Buffer.from([0x22, 0x80, 0x22]), { charset: 'windows-1252' })).toBe('"€"');
    const japanese = Buffer.from([0x22, 0x93, 0xfa, 0x96, 0x7b, 0x22]);
    expect(await received(japanese, { charset: 'Shift_JIS' })).toBe('"日本"');
  });

  test('a request body with any bytes is taken unchanged or refused', async () => {
    const encoding = fc.constantFrom('identity', 'gzip', 'br', 'deflate', 'compress', 'gzip, gzip');
    const charset = fc.constantFrom('utf-8', 'utf-16', 'shift_jis', 'iso-8859-1', 'klingon');
    await fc.assert(
      fc.asyncProperty(
        fc.uint8Array({ maxLength: 60 }),
        encoding,
        charset,
        async (bytes, encoding, charset) => {
          const code = await codeOf(() => received(Buffer.from(bytes), { charset, encoding }));
          expect(['taken', 'invalid_request', 'unsupported_media_type']).toContain(code);
          expect(code === 'taken' && (charset === 'klingon' || encoding === 'compress')).toBe(false);
        },
      ),
      { numRuns: 200 },
    );
  });

  test('a request body in another charset without its name is refused', async () => {
    expect(await codeOf(() => received(Buffer.from('"Größe"', 'latin1'), {}))).toBe('invalid_request');
  });

  test('a request body that unpacks to more than the limit is refused', async () => {
    const bomb = gzipSync(Buffer.alloc(10_000_000, ' '));
    expect(await codeOf(() => received(bomb, { encoding: 'gzip' }))).toBe('payload_too_large');
    const twice = gzipSync(bomb);
    expect(await codeOf(() => received(twice, { encoding: 'gzip,gzip' }))).toBe('payload_too_large');
  });

  test('a request body with a form is read in the charset of the form', () => {
    const type = 'application/x-www-form-urlencoded';
    expect(requestForm(Buffer.from('a=Gr%F6%DFe+1&b'), `${type}; charset=iso-8859-1`)).toEqual([
      ['a', 'Größe 1'],
      ['b', ''],
    ]);
    expect(requestForm(Buffer.from('a=Gr%C3%B6%C3%9Fe'), type)).toEqual([['a', 'Größe']]);
    expect(() => requestForm(Buffer.from('a=Gr%F6'), type)).toThrow('is not text in utf-8');
  });
});

test('a file that Windows wrote is read as text', () => {
  expect(fileText(Buffer.from('\ufeff{"a":"ö"}', 'utf16le'))).toBe('{"a":"ö"}');
  expect(fileText(Buffer.from('\ufeff{"a":"ö"}'))).toBe('{"a":"ö"}');
  expect(() => fileText(Buffer.from('ö', 'latin1'))).toThrow('UTF-8');
});

test('an answer in an unknown charset is read as UTF-8', () => {
  expect(
    answerText({ headers: { 'content-type': 'text/plain; charset=x-none' }, body: Buffer.from('ö') }),
  ).toBe('ö');
});

describe('numbers beyond 2^53', () => {
  test('numbers beyond 2^53 keep their digits as text, and are written as they came', () => {
    fc.assert(
      fc.property(fc.array(digits, { maxLength: 5 }), (numbers) => {
        const text = `{"a":[${numbers.join(',')}]}`;
        const parsed = parseJson(text);
        const expected = numbers.map((one) =>
          Number.isSafeInteger(Number(one)) ? Number(one) : String(one),
        );
        expect(parsed).toEqual({ a: expected });
        expect(exactJsonText(parsed)).toBe(text);
        // Stored and read again, the value stays the same.
        expect(parseJson(JSON.stringify(parsed))).toEqual(parsed);
      }),
    );
  });

  test.each([
    ['9007199254740991', 9007199254740991],
    ['9007199254740992', '9007199254740992'],
    ['-9007199254740993', '-9007199254740993'],
    ['12345678901234567.89', '12345678901234567.89'],
    ['0.1234567890123456789', 0.12345678901234568],
    ['1e400', '1e400'],
    ['-1E400', '-1E400'],
    ['1e20', '100000000000000000000'],
    ['9.007199254740993e15', '9007199254740993'],
    ['1.5e300', 1.5e300],
    ['1e-400', 0],
  ])('the number %s is read as %j', (text, expected) => {
    expect(parseJson(text)).toBe(expected);
    expect(parseJson(` \ufeff${text}`.trimStart())).toBe(expected);
  });

  test('numbers beyond 2^53 are the same when a text is parsed in steps', async () => {
    const text = `[${Array.from({ length: 5000 }, (_, index) => `{"id":${9007199254740993n + BigInt(index)}}`).join(',')}]`;
    const parsed = await parseInSteps(Buffer.from(text), 100_000, async () => {});
    expect(parsed).toEqual(parseJson(text));
    expect(parsed).toMatchObject({ 4999: { id: '9007199254745992' } });
  });

  test('the exact parser changes nothing in a value without numbers beyond 2^53', () => {
    fc.assert(
      fc.property(value, (one) => {
        const text = JSON.stringify(one);
        fc.pre(!text.includes('__proto__') && !/\d{16}|e\+/.test(text));
        expect(parseJson(text)).toEqual(JSON.parse(text));
      }),
    );
  });

  test('numbers beyond 2^53 are rounded in documents with schemas', () => {
    expect(jsonFromBody('{"maximum":9223372036854775807}', { doubles: true })).toEqual({
      maximum: 2 ** 63,
    });
  });
});

test('a stored text has neither U+0000 nor half of a surrogate pair', () => {
  fc.assert(
    fc.property(
      fc.string({ unit: 'binary' }),
      fc.array(fc.constantFrom('\0', '\ud83d', '\ude00', '\\', 'u0000')),
      (text, parts) => {
        const plain = text + parts.join('');
        const clean = (one: string) => one.toWellFormed().replaceAll('\0', '\ufffd');
        fc.pre(!/^[[{"]/.test(plain));
        expect(storableText(plain)).toBe(clean(plain));
        // JSON has them as escapes, and a text that looks like an escape stays.
        expect(JSON.parse(storableText(JSON.stringify({ plain })))).toEqual({ plain: clean(plain) });
      },
    ),
  );
});
