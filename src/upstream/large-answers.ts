import { GatehouseError } from '../lib/errors.ts';
import type { Json } from '../lib/json.ts';
import { MAX_VALUES, parseBytes, TooManyValues, type Pause } from '../lib/json-steps.ts';

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
  try {
    return await parseBytes(bytes, pause);
  } catch (error) {
    if (!(error instanceof TooManyValues)) throw error;
    throw new GatehouseError(
      'upstream_too_large',
      `The answer holds more than ${MAX_VALUES.toLocaleString('en')} values. Ask for less of it.`,
      { cause: error },
    );
  }
}
