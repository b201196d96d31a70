import { fillTemplate } from '../../connectors/templates.ts';
import type { SignedScheme } from '../../connectors/format/verify-format.ts';
import { SECOND } from '../../lib/clock.ts';
import { sameText } from '../../lib/same-text.ts';
import { textAt, type HookRequest } from './hook-request.ts';

/* The signed part of a webhook, and its signatures. */

/** Returns the value of a credential field, of `secret` or of `clientSecret`; undefined when it has none. */
export type ValueOf = (name: string) => string | undefined;

/** The parts of the signed content, in order, and the signatures without their prefix. */
export interface Signed {
  parts: (string | Buffer)[];
  signatures: string[];
}

/**
 * Prepares the reading of the signed content. The returned function returns undefined for a webhook whose time is not
 * recent, or whose content lacks a value.
 */
export function signedReader(
  verify: SignedScheme,
  value: ValueOf,
): (request: HookRequest, now: number) => Signed | undefined {
  const headerName = verify.header.toLowerCase();
  // The raw bytes are signed as they came. The rest of the content is text around them.
  const [before = '', ...after] = verify.content.split('{body}');
  return (request, now) => {
    const { signatures, timestamp } = signaturesIn(verify, request, request.header(headerName) ?? '');
    const timed = verify.list?.timestamp !== undefined || verify.timestamp !== undefined;
    if (timed && !isRecent(timestamp ?? '', now, verify.toleranceSeconds)) return undefined;
    const ofRequest: Record<string, string> = {
      timestamp: timestamp ?? '',
      url: request.url,
      method: request.method,
      id: request.header('webhook-id') ?? '',
      sortedForm: verify.content.includes('{sortedForm}') ? sortedForm(request.raw) : '',
    };
    const text = (template: string) => filled(template, (name) => ofRequest[name] ?? value(name), ofRequest);
    const first = text(before);
    if (first === undefined) return undefined;
    const parts: Signed['parts'] = first === '' ? [] : [first];
    for (const template of after) {
      const next = text(template);
      if (next === undefined) return undefined;
      parts.push(request.raw);
      if (next !== '') parts.push(next);
    }
    const { prefix } = verify;
    const given = signatures.flatMap((one) => (one.startsWith(prefix) ? [one.slice(prefix.length)] : []));
    return { parts, signatures: given };
  };
}

/** Returns names and values of a form one after the other, sorted by name as bytes. */
function sortedForm(raw: Buffer): string {
  const fields = [...new URLSearchParams(raw.toString('utf8'))];
  return fields
    .toSorted(([one], [other]) => Buffer.compare(Buffer.from(one), Buffer.from(other)))
    .flat()
    .join('');
}

/** Returns the signatures that a webhook carries, and the time of sending where the scheme has one. */
function signaturesIn(
  { list, timestamp }: SignedScheme,
  request: HookRequest,
  header: string,
): { signatures: string[]; timestamp: string | undefined } {
  const parts = list ? listed(header, list.separator) : undefined;
  const inList = list?.timestamp === undefined ? undefined : parts?.get(list.timestamp)?.[0];
  return {
    signatures: parts && list ? (parts.get(list.signature) ?? []) : [header],
    timestamp: inList ?? (timestamp === undefined ? undefined : textAt(request, timestamp)),
  };
}

/** Returns whether a value proves nothing: it is absent, empty or white space. */
export function isBlank(value: string | undefined): boolean {
  return value === undefined || value.trim() === '';
}

/** Fills a template; undefined when a name has no value. Only the values of the request, `mayBeEmpty`, may be blank. */
export function filled(
  template: string,
  value: ValueOf,
  mayBeEmpty: Readonly<Record<string, string>> = {},
): string | undefined {
  let isMissing = false;
  const text = fillTemplate(template, (name) => {
    const found = value(name) ?? '';
    if (isBlank(found) && !(name in mayBeEmpty)) isMissing = true;
    return found;
  });
  return isMissing ? undefined : text;
}

/** Parses a list such as `t=1,v1=a,v1=b` into t: [1], v1: [a, b]. */
function listed(header: string, separator: string): Map<string, string[]> {
  const parts = new Map<string, string[]>();
  for (const part of header.split(separator)) {
    const at = part.indexOf('=');
    if (at === -1) continue;
    const name = part.slice(0, at).trim();
    parts.set(name, [...(parts.get(name) ?? []), part.slice(at + 1).trim()]);
  }
  return parts;
}

/** Returns whether a time is within the tolerance of `now`. */
export function isRecent(timestamp: string, now: number, toleranceSeconds: number): boolean {
  const at = timeOf(timestamp);
  return at !== undefined && Math.abs(now - at) <= toleranceSeconds * SECOND;
}

function timeOf(timestamp: string): number | undefined {
  // Some apps count milliseconds.
  if (/^\d{1,13}$/.test(timestamp))
    return timestamp.length > 11 ? Number(timestamp) : Number(timestamp) * SECOND;
  if (!/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,9})?(Z|[+-]\d\d:\d\d)$/.test(timestamp)) return undefined;
  const at = Date.parse(timestamp);
  return Number.isNaN(at) ? undefined : at;
}

/** Compares in constant time. Nothing equals an empty text, because an absent signature is never right. */
export function same(given: string, expected: string | undefined): boolean {
  return expected !== undefined && given !== '' && sameText(given, expected);
}
