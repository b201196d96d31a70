import fc from 'fast-check';
import { expect, test } from 'vitest';
import { fromMinorUnits, toMinorUnits } from '../../src/lib/currency.ts';
import { mapValue } from '../../src/upstream/expression.ts';

test.each([
  [1250, 'EUR', '12.50'],
  [1250, 'eur', '12.50'],
  [1250, 'JPY', '1250'],
  [1250, 'KWD', '1.250'],
  [1250, 'CLF', '0.1250'],
  [5, 'USD', '0.05'],
  [0, 'USD', '0.00'],
  [-5, 'USD', '-0.05'],
  [-1250, 'JPY', '-1250'],
  [9007199254740991, 'USD', '90071992547409.91'],
])('an amount of %d minor units of %s is %s', (amount, currency, text) => {
  expect(fromMinorUnits(amount, currency)).toBe(text);
});

test('a value that is no whole amount of a currency gives nothing', () => {
  for (const amount of [undefined, null, '12', 1.5, Number.NaN, Infinity, 2 ** 53, {}])
    expect(fromMinorUnits(amount, 'EUR')).toBeUndefined();
  for (const currency of [undefined, null, 978, {}]) expect(fromMinorUnits(1250, currency)).toBeUndefined();
});

test('an app may count a currency differently from ISO 4217', async () => {
  const expression = '$fromMinorUnits(amount, currency, {"ISK": 2, "MGA": 0})';
  expect(await mapValue(expression, { amount: 50000, currency: 'isk' })).toBe('500.00');
  expect(await mapValue(expression, { amount: 500, currency: 'MGA' })).toBe('500');
  expect(await mapValue(expression, { amount: 500, currency: 'JPY' })).toBe('500');
  expect(await mapValue(expression, { currency: 'JPY' })).toBe(null);
});

test('amounts keep every digit, because digits are moved and not divided', () => {
  fc.assert(
    fc.property(fc.maxSafeInteger(), fc.constantFrom('EUR', 'JPY', 'TND', 'UYW'), (amount, currency) => {
      const text = fromMinorUnits(amount, currency) ?? '';
      expect(text).toMatch(/^-?\d+(\.\d+)?$/);
      expect(BigInt(text.replace('.', ''))).toBe(BigInt(amount));
    }),
  );
});

test('smallest units of a decimal amount are the amount again', () => {
  fc.assert(
    fc.property(fc.maxSafeInteger(), fc.constantFrom('EUR', 'JPY', 'TND', 'UYW'), (amount, currency) => {
      expect(toMinorUnits(fromMinorUnits(amount, currency), currency)).toBe(amount === 0 ? 0 : amount);
    }),
  );
});

test('decimals agree with the currencies that this Node.js knows', () => {
  const known = new Set(Intl.supportedValuesOf('currency'));
  // Unlike ISO 4217, CLDR counts some currencies without coins that are out of use.
  const iso =
    'BIF CLP DJF GNF JPY KMF KRW PYG RWF UGX VND VUV XAF XOF XPF BHD KWD OMR TND JOD LYD EUR USD GBP CHF';
  for (const currency of iso.split(' ').filter((one) => known.has(one))) {
    const digits = new Intl.NumberFormat('en', { style: 'currency', currency }).resolvedOptions();
    const decimals = (fromMinorUnits(1, currency) ?? '').split('.')[1]?.length ?? 0;
    expect([currency, decimals]).toEqual([currency, digits.maximumFractionDigits]);
  }
});
