import { styleText } from 'node:util';
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
 * The log of a service on standard output: `pretty` lines for people on a terminal, else JSON. JSON lines leave together,
 * 50 ms after they were written at the latest, and all of them when the process ends: a write for each would cost as
 * much as a fifth of a small request.
 */
export function createServiceLog(level: string, format: 'json' | 'pretty' | undefined): Logger {
  if ((format ?? (process.stdout.isTTY ? 'pretty' : 'json')) === 'pretty')
    return createLog(level, { write: (line) => void process.stdout.write(prettyLine(line)) });
  const output = pino.destination({
    dest: process.stdout.fd,
    sync: true,
    minLength: FLUSH_BYTES,
    periodicFlush: FLUSH_MS,
  });
  process.once('exit', () => output.flushSync());
  return createLog(level, output);
}

/** Ids that no one reads on a terminal; JSON lines have them. */
const NOT_SHOWN = new Set(['level', 'time', 'msg', 'err', 'requestId']);

/** Returns a JSON line of the log as a line for people: `19:02:11 INFO action action=sandbox.list_orders outcome=…`. */
function prettyLine(line: string): string {
  const entry: Record<string, unknown> = JSON.parse(line);
  const { level, time, msg, err } = entry;
  const label = (pino.levels.labels[Number(level)] ?? '').toUpperCase();
  const facts = Object.entries(entry).flatMap(([name, value]) =>
    NOT_SHOWN.has(name) || value === undefined ? [] : [`${name}=${factText(value)}`],
  );
  const stack = typeof err === 'object' && err !== null && 'stack' in err ? `\n${String(err.stack)}` : '';
  const text = [String(time).slice(11, 19), styled(label), String(msg ?? ''), ...facts].join(' ');
  return `${text}${stack}\n`;
}

function styled(label: string): string {
  const color = label === 'INFO' ? 'green' : label === 'WARN' ? 'yellow' : label === 'DEBUG' ? 'blue' : 'red';
  return styleText(color, label, { stream: process.stdout });
}

/** Returns a value as one word, or as JSON where it holds blanks or characters that a terminal would obey. */
function factText(value: unknown): string {
  return typeof value === 'string' && /^[\x21-\x7e]+$/.test(value) ? value : JSON.stringify(value);
}
