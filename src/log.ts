import { pino, type DestinationStream, type Logger } from 'pino';

export type { Logger };

/**
 * JSON lines, one fact each. Requests are logged by route template: a raw path may hold an access token.
 * `destination` defaults to standard output; stdio servers pass standard error.
 */
export function createLog(level: string, destination?: DestinationStream): Logger {
  const options = {
    level,
    base: null,
    timestamp: pino.stdTimeFunctions.isoTime,
    redact: { paths: ['authorization', '*.authorization', '*.accessToken', '*.secret'], censor: '[secret]' },
  };
  return destination ? pino(options, destination) : pino(options);
}

const FLUSH_BYTES = 4096;
const FLUSH_MS = 50;

/**
 * The log of a service on standard output. Its lines leave together, 50 ms after they were written at the latest, and
 * all of them when the process ends: a write for each would cost as much as a fifth of a small request.
 */
export function createServiceLog(level: string): Logger {
  const output = pino.destination({
    dest: process.stdout.fd,
    sync: true,
    minLength: FLUSH_BYTES,
    periodicFlush: FLUSH_MS,
  });
  process.once('exit', () => output.flushSync());
  return createLog(level, output);
}
