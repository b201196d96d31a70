import type { UploadStep } from '../connectors/format/steps-format.ts';
import { fillTemplate } from '../connectors/templates.ts';
import { answerText } from '../lib/http/body-text.ts';
import { GatehouseError } from '../lib/errors.ts';
import type { Json } from '../lib/json.ts';
import type { BodyPlace } from '../outbound/large-bodies.ts';
import type { OutboundAnswer } from '../outbound/outbound.ts';
import { backoff, fullJitter } from '../runtime/backoff.ts';
import type { UpstreamContext } from './call.ts';
import type { SentFile } from './file-store.ts';
import { parseAnswer } from './large-answers.ts';
import { pause } from './pause.ts';
import { valuesOf } from './request.ts';
import type { UpstreamCall } from './upstream-call.ts';

const MAX_TRIES = 3;
const RETRIES = { firstMs: 200, factor: 4 };
/** Status 308 as "Resume Incomplete": the app has received a part, and waits for the next. */
const INCOMPLETE = 308;

/** The content that an upload sends. */
interface Content {
  step: UploadStep;
  file: SentFile;
  /** Bytes of a part; undefined where the whole file is one. */
  partBytes: number | undefined;
  /** End of the action's time, epoch ms. */
  deadline: number;
}

/** A part of a file; `to` is its end, which it does not include. */
interface Part {
  from: number;
  to: number;
}

/**
 * Uploads a file to the address in an answer of the app, or each part to one of several addresses. The credential is not
 * sent. Returns {status, body, parts: [{number, size, etag}]} of the last answer.
 * @throws GatehouseError `upstream_failed` for an address outside of the file's origins, and a refused part; upstream_*
 */
export async function upload(
  context: UpstreamContext,
  call: UpstreamCall,
  { address, ...content }: Content & { address: Json | undefined },
): Promise<Json> {
  const addresses = [address].flat();
  const { size } = content.file;
  const bytes = content.partBytes ?? Math.max(1, size);
  const count = Math.max(1, Math.ceil(size / bytes));
  if (Array.isArray(address) && addresses.length !== count) {
    throw refused(call, `named ${addresses.length} addresses for ${count} parts`);
  }
  const parts: Json[] = [];
  using place = context.throttle.place(call);
  let last: OutboundAnswer | undefined;
  for (let from = 0; last === undefined || from < size;) {
    const url = addresses[Array.isArray(address) ? parts.length : 0];
    assertOrigin(call, content.step.origins, url);
    const part = { from, to: Math.min(size, from + bytes) };
    last = await sendPart(context, call, { ...content, place, url, part, isRange: !Array.isArray(address) });
    const next = endOf(last, part);
    if (next <= from && size > 0) throw refused(call, 'took no part of the file');
    const { etag } = last.headers;
    parts.push({ number: parts.length + 1, size: next - from, ...(etag === undefined ? {} : { etag }) });
    from = next;
  }
  return { status: last.status, body: await bodyOf(context, last), parts };
}

/**
 * Checks that an address of an answer is at an origin of the connector file.
 * @throws GatehouseError `upstream_failed`
 */
export function assertOrigin(
  call: UpstreamCall,
  origins: readonly string[],
  address: Json | undefined,
): asserts address is string {
  const url = typeof address === 'string' && URL.canParse(address) ? new URL(address) : undefined;
  const isPlain = url !== undefined && /^https?:$/.test(url.protocol) && !url.username && !url.password;
  if (isPlain && origins.some((origin) => matches(url, fillTemplate(origin, valuesOf(call))))) return;
  const { host = 'none' } = url ?? {};
  throw refused(call, `answered with an address that its connector does not allow (${host.slice(0, 200)})`);
}

/** Returns whether an address is at an origin. `https://*.example.com` is any host below the domain. */
function matches(url: URL, origin: string): boolean {
  const [, scheme, domain] = /^(https?:\/\/)\*(\..+)$/.exec(origin) ?? [];
  if (domain === undefined) return URL.canParse(origin) && url.origin === new URL(origin).origin;
  return `${url.protocol}//` === scheme && url.host.endsWith(domain);
}

async function sendPart(
  context: UpstreamContext,
  call: UpstreamCall,
  {
    step,
    file,
    partBytes,
    deadline,
    url,
    part,
    place,
    isRange,
  }: Content & { url: string; part: Part; place: BodyPlace; isRange: boolean },
): Promise<OutboundAnswer> {
  const { from, to } = part;
  const headers: Record<string, string> = { 'user-agent': 'Gatehouse/0.1', 'content-type': file.mediaType };
  for (const [name, text] of Object.entries(step.headers)) headers[name.toLowerCase()] = text;
  if (partBytes !== undefined && isRange && file.size > 0)
    headers['content-range'] = `bytes ${from}-${to - 1}/${file.size}`;
  for (let tries = 1; ; tries++) {
    const answer = await context.outbound.request({
      place,
      method: step.method,
      url,
      headers,
      body: { size: to - from, content: () => file.content(part) },
      timeoutMs: Math.max(1, deadline - context.clock.now()),
      ...(call.signal ? { signal: call.signal } : {}),
    });
    const { status } = answer;
    if (status < 300 || (status === INCOMPLETE && headers['content-range'] !== undefined)) return answer;
    const isTemporary = status === 429 || status >= 500;
    const waitMs = fullJitter(backoff(tries, RETRIES));
    // A repeated POST could store the content twice.
    const again = isTemporary && step.method === 'PUT' && tries < MAX_TRIES;
    if (!again || context.clock.now() + waitMs >= deadline)
      throw refused(call, `refused the content (HTTP ${status})`, { status });
    await pause(call, waitMs);
  }
}

/** Returns the end of the bytes that the app has received. An incomplete upload says it in Range, and may have fewer. */
function endOf({ status, headers }: OutboundAnswer, { to }: Part): number {
  if (status !== INCOMPLETE) return to;
  const last = /^bytes=0-(\d{1,12})$/.exec(headers['range'] ?? '')?.[1];
  return last === undefined ? 0 : Math.min(to, Number(last) + 1);
}

async function bodyOf({ throttle }: UpstreamContext, answer: OutboundAnswer): Promise<Json> {
  const text = answerText(answer);
  if (text.trim() === '') return null;
  try {
    return await parseAnswer(Buffer.from(text), throttle.pause);
  } catch {
    return text;
  }
}

function refused({ connector }: UpstreamCall, what: string, details: object = {}): GatehouseError {
  return new GatehouseError('upstream_failed', `${connector.name} ${what}.`, {
    details: { connectorId: connector.connectorId, ...details },
  });
}
