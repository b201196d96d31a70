/** Currencies whose smallest unit is not a hundredth, by the number of decimals (ISO 4217, list one). */
const DECIMALS: { readonly [currency: string]: number } = Object.fromEntries([
  ...of(0, 'BIF CLP DJF GNF ISK JPY KMF KRW PYG RWF UGX UYI VND VUV XAF XOF XPF'),
  ...of(3, 'BHD IQD JOD KWD LYD OMR TND'),
  ...of(4, 'CLF UYW'),
]);

/**
 * Returns an amount in smallest units as a decimal text: 1250 EUR is "12.50", 1250 JPY "1250". `exceptions` are
 * currencies that an app counts in another way than ISO 4217, with their decimals. Returns undefined for an amount
 * that is not a whole number.
 */
export function fromMinorUnits(
  amount: unknown,
  currency: unknown,
  exceptions: unknown = {},
): string | undefined {
  if (typeof amount !== 'number' || !Number.isSafeInteger(amount) || typeof currency !== 'string')
    return undefined;
  const decimals = decimalsOf(currency, exceptions);
  const sign = amount < 0 ? '-' : '';
  const digits = String(Math.abs(amount)).padStart(decimals + 1, '0');
  if (decimals === 0) return `${sign}${digits}`;
  return `${sign}${digits.slice(0, -decimals)}.${digits.slice(-decimals)}`;
}

/**
 * Returns a decimal amount in smallest units: "12.50" EUR is 1250, "1250" JPY is 1250. Returns undefined for a value
 * that is no amount, has more decimals than the currency, or exceeds the safe integers.
 */
export function toMinorUnits(
  amount: unknown,
  currency: unknown,
  exceptions: unknown = {},
): number | undefined {
  if ((typeof amount !== 'string' && typeof amount !== 'number') || typeof currency !== 'string')
    return undefined;
  const [, sign, whole = '', fraction = ''] = /^([+-]?)(\d+)(?:\.(\d+))?$/.exec(String(amount).trim()) ?? [];
  const decimals = decimalsOf(currency, exceptions);
  const kept = fraction.replace(/0+$/, '');
  if (whole === '' || kept.length > decimals) return undefined;
  const units = Number(whole + kept.padEnd(decimals, '0'));
  if (!Number.isSafeInteger(units)) return undefined;
  return sign === '-' && units !== 0 ? -units : units;
}

function decimalsOf(currency: string, exceptions: unknown): number {
  const code = currency.toUpperCase();
  const exception: unknown =
    typeof exceptions === 'object' && exceptions !== null ? Reflect.get(exceptions, code) : undefined;
  return typeof exception === 'number' ? exception : (DECIMALS[code] ?? 2);
}

function of(decimals: number, currencies: string): [string, number][] {
  return currencies.split(' ').map((currency) => [currency, decimals]);
}
