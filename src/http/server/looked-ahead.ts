import type { IncomingMessage } from 'node:http';
import { headerText } from '../../lib/http/header-text.ts';

/** An answer without a handler. */
interface InertReply {
  status: number;
  body: string;
  headers: Record<string, string>;
}

/** Headers by which browsers and previews mark a request that no person has made yet. */
const MARKS = ['sec-purpose', 'purpose', 'x-purpose', 'x-moz'];

/**
 * Returns the answer to a request that may not have an effect: HEAD (RFC 9110 section 9.2.1), and a page that a browser
 * loads before the person wants it. Browsers discard an error of such a load, and load the page again when it is
 * wanted. Returns undefined for all other requests.
 */
export function answerWithoutEffect(request: IncomingMessage): InertReply | undefined {
  const headers = { 'Cache-Control': 'no-store', 'Content-Type': 'text/plain; charset=utf-8' };
  if (request.method === 'HEAD') return { status: 200, body: '', headers };
  const isAhead = MARKS.some((name) => /prefetch|prerender|preview/i.test(headerText(request, name) ?? ''));
  if (!isAhead) return undefined;
  return { status: 503, body: 'This address is not loaded ahead, because it works once.', headers };
}
