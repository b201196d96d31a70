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
