import { currencyParameter } from '../connectors/format/encode-format.ts';
import type { Encode } from '../connectors/format/format.ts';
import { filledInput } from '../connectors/templates.ts';
import { SECOND } from '../lib/clock.ts';
import { toMinorUnits } from '../lib/currency.ts';
import type { Json, JsonObject } from '../lib/json.ts';
import { inputFault } from './request-draft.ts';

/** A parameter's value on its way to the app, with the whole input of the call. */
interface Given {
  name: string;
  value: Json;
  input: JsonObject;
}

/**
 * Returns a value in the form that the app expects; see encode-format.ts.
 * @throws GatehouseError `invalid_request` naming the parameter and the rule that it breaks.
 */
export function encodedValue(encode: Encode, { name, value, input }: Given): Json {
  if (value === null) return null;
  if (typeof encode === 'object' && 'within' in encode)
    return (
      filledInput({ within: encode.within }, (one) => (one === 'value' ? value : undefined))['within'] ?? null
    );
  if (Array.isArray(value)) return value.map((entry) => encodedValue(encode, { name, value: entry, input }));
  if (encode === 'base64')
    return typeof value === 'string' ? Buffer.from(value, 'utf8').toString('base64') : value;
  if (encode === 'epochSeconds') return Math.floor(epochOf(name, value) / SECOND);
  if (encode === 'epochMilliseconds') return epochOf(name, value);
  if ('values' in encode) {
    const key = String(value);
    return Object.hasOwn(encode.values, key) ? (encode.values[key] ?? null) : value;
  }
  return amountOf(encode, { name, value, input });
}

function epochOf(name: string, value: Json): number {
  // A time without a zone would be read in the zone of this machine.
  const zoned = typeof value === 'string' && /T[\d:.]+$/i.test(value.trim()) ? `${value.trim()}Z` : value;
  const moment = typeof zoned === 'string' ? Date.parse(zoned) : Number.NaN;
  if (Number.isNaN(moment)) throw inputFault(name, 'must be a time such as 2026-03-01T12:00:00Z');
  return moment;
}

function amountOf(encode: Extract<Encode, { minorUnits: string }>, { name, value, input }: Given): number {
  const parameter = currencyParameter(encode);
  const currency = parameter === undefined ? encode.minorUnits : input[parameter];
  if (typeof currency !== 'string') throw inputFault(name, `needs a currency in ${parameter}`);
  const units = toMinorUnits(value, currency, encode.decimals);
  if (units !== undefined) return units;
  throw inputFault(name, `must be an amount such as 12.50, with no more decimals than ${currency} has`);
}
