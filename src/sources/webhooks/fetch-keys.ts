import type { Base } from '../../base.ts';
import { answerText } from '../../lib/http/body-text.ts';
import { HOUR, MINUTE, SECOND } from '../../lib/clock.ts';
import { GatehouseError } from '../../lib/errors.ts';
import { publicKeysIn, type FetchKeys, type PublicKey } from './public-key.ts';

const CACHED_MS = HOUR;
/** Shortest time between two reads of an address, so that forged webhooks cause no flood of reads. */
const SHORTEST_MS = MINUTE;
const MAX_ADDRESSES = 200;
const MAX_BYTES = 256 * 1024;
const TIMEOUT_MS = 5 * SECOND;
/** Wait that an app is asked for while its keys cannot be read. */
const AGAIN_SECONDS = 60;

interface Read {
  /** Time of the read, epoch ms. */
  at: number;
  /** How long its result counts: shorter after a failure. */
  validMs: number;
  keys: Promise<readonly PublicKey[]>;
}

/** Creates the reader of the public keys of apps. Webhooks that arrive together share one read. */
export function createKeyReader({ outbound, clock }: Pick<Base, 'outbound' | 'clock'>): FetchKeys {
  const reads = new Map<string, Read>();
  return (url, again) => {
    const known = reads.get(url);
    const age = clock.now() - (known?.at ?? 0);
    // A negative age is of a clock that was put back.
    if (known && age >= 0 && age < (again ? SHORTEST_MS : known.validMs)) return known.keys;
    const read: Read = { at: clock.now(), validMs: CACHED_MS, keys: readKeys(outbound, url) };
    read.keys = read.keys.catch((error: unknown) => {
      read.validMs = SHORTEST_MS;
      // Keys that were read before still count while the address does not answer.
      if (known) return known.keys;
      throw error;
    });
    reads.delete(url);
    reads.set(url, read);
    for (const oldest of reads.keys()) {
      if (reads.size <= MAX_ADDRESSES) break;
      reads.delete(oldest);
    }
    return read.keys;
  };
}

/** @throws GatehouseError `unavailable` when the address answers no key, so that the app sends its webhook again. */
async function readKeys(outbound: Base['outbound'], url: string): Promise<readonly PublicKey[]> {
  const options = { method: 'GET', url, timeoutMs: TIMEOUT_MS, maxBytes: MAX_BYTES };
  const answer = await outbound.request(options).catch((error: unknown) => {
    throw keysMissing(error);
  });
  const keys = answer.status === 200 ? publicKeysIn(answerText(answer)) : [];
  if (keys.length === 0) throw keysMissing();
  return keys;
}

function keysMissing(cause?: unknown): GatehouseError {
  return new GatehouseError('unavailable', 'The keys of this app cannot be read now. Try again later.', {
    retryAfterSeconds: AGAIN_SECONDS,
    cause,
  });
}
