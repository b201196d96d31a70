import type { IncomingMessage } from 'node:http';

/** Returns a header of a request, trimmed; undefined when it is missing or empty. */
export function headerText(req: IncomingMessage, name: string): string | undefined {
  const value = req.headers[name];
  const text = Array.isArray(value) ? value[0] : value;
  return text === undefined || text.trim() === '' ? undefined : text.trim();
}
