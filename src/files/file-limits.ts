import { DAY, HOUR } from '../lib/clock.ts';
import { MIB } from '../lib/http/http-body.ts';

/** The largest file. */
export const MAX_FILE_BYTES = 100 * MIB;
/** Bytes of a chunk. Storing one takes about a millisecond, which other statements wait. */
export const CHUNK_BYTES = 256 * 1024;
/** Lifetime of a file. */
export const KEPT_MS = DAY;
/** Time after which a file that still arrives is deleted; its process has ended. */
export const ARRIVAL_MS = HOUR;
