import { GatehouseError } from '../lib/errors.ts';
import { parseJson, type Json } from '../lib/json.ts';
import { parseInSteps, TooManyValues, type Pause } from '../lib/json-steps.ts';

/** Smaller answers are parsed as they come: that takes a millisecond or two. */
const LARGE_BYTES = 64 * 1024;
/** 10 MiB of `{},` are 3.5 million values, which take 400 MB. Records of apps have 25 bytes a value. */
const MAX_VALUES = 500_000;

/** Returns the pause between two steps over large values: one step of all of them runs in a turn of the event loop. */
export function createPause(): Pause {
  let last = Promise.resolve();
  const yieldOnce = (): Promise<void> => new Promise((resolve) => void setImmediate(resolve));
  return () => {
    last = last.then(yieldOnce);
    return last;
  };
}

/**
 * Parses an answer, a large one in steps.
 * @throws GatehouseError `upstream_too_large` for too many values, SyntaxError, RangeError as parseJson()
 */
export async function parseAnswer(bytes: Buffer, pause: Pause): Promise<Json> {
  if (bytes.length < LARGE_BYTES) return parseJson(bytes.toString('utf8'));
  try {
    return await parseInSteps(bytes, MAX_VALUES, pause);
  } catch (error) {
    if (!(error instanceof TooManyValues)) throw error;
    throw new GatehouseError(
      'upstream_too_large',
      `The answer holds more than ${MAX_VALUES.toLocaleString('en')} values. Ask for less of it.`,
      { cause: error },
    );
  }
}
