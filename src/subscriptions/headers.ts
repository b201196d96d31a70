import { z } from 'zod';
import { FRAMING_HEADERS } from '../lib/http/framing-headers.ts';

const MAX_HEADERS = 20;
const MAX_CHARS = 1000;

/** Headers that a subscriber cannot set, because they frame or describe the message. */
const REFUSED = new Set([...FRAMING_HEADERS, 'content-type', 'content-encoding', 'date', 'user-agent']);

/**
 * Headers that a subscriber sets on each delivery. `authorization` is allowed, because many receivers require it and
 * Gatehouse does not use it. Values are sealed and never shown again.
 */
export const subscriberHeaders = z
  .record(z.string(), z.string())
  .transform((headers) =>
    Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value.trim()])),
  )
  .superRefine((headers, issues) => {
    const names = Object.keys(headers);
    const refuse = (path: string[], message: string) => issues.addIssue({ code: 'custom', path, message });
    if (names.length > MAX_HEADERS) refuse([], `must be at most ${MAX_HEADERS} headers`);
    for (const [name, value] of Object.entries(headers)) {
      if (!/^[a-z0-9!#$%&'*+.^_`|~-]{1,100}$/.test(name)) refuse([name], 'is not a valid header name');
      else if (REFUSED.has(name) || /^(webhook-|x-svc-|proxy-)/.test(name))
        refuse([name], 'cannot be set by a subscriber');
      if (!/^[\x20-\x7e]*$/.test(value) || value.length > MAX_CHARS) {
        refuse([name], `must be at most ${MAX_CHARS} visible ASCII characters`);
      }
    }
  });
