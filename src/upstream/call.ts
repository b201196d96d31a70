import type { Context } from './context.ts';
import { inUtf8, UnknownCharset } from '../lib/http/body-text.ts';
import { SECOND } from '../lib/clock.ts';
import { GatehouseError, publicError } from '../lib/errors.ts';
import { MAX_JSON_DEPTH } from '../lib/json.ts';
import type { Pause } from '../lib/json-steps.ts';
import { LARGE_BODY_BYTES } from '../outbound/large-bodies.ts';
import type { OutboundAnswer } from '../outbound/outbound.ts';
import { secretsIn } from '../lib/scrub.ts';
import { XmlError } from '../lib/xml.ts';
import { backoff, fullJitter } from '../runtime/backoff.ts';
import type { Metrics } from '../telemetry/metrics.ts';
import type { Span } from '../telemetry/tracing.ts';
import { readEvents } from './event-stream.ts';
import { answersFile, collected, fileOf, mayAnswerFile, storedFile } from './file-answer.ts';
import { parseAnswer } from './large-answers.ts';
import { pause } from './pause.ts';
import { isRepeatable } from './outcome.ts';
import { buildRequest, originOf, type BuiltRequest } from './request.ts';
import { failureOf } from './failure.ts';
import { retryAfterMs } from './response.ts';
import type { UpstreamCall, UpstreamAnswer } from './upstream-call.ts';
import { parseXmlAnswer, readsXml } from './xml-answer.ts';

export type UpstreamContext = Pick<
  Context,
  'outbound' | 'throttle' | 'clock' | 'log' | 'telemetry' | 'remoteSessions'
>;

const MAX_TRIES = 3;
const RETRIES = { firstMs: 200, factor: 4 };
const RETRIED_STATUSES = new Set([429, 502, 503, 504]);

/**
 * Sends a call within the limits of the credential and the deadline of the action. It repeats the call after a temporary
 * failure if a repetition does no harm. Returns the last answer, with any status; see interpretAnswer().
 * @throws GatehouseError upstream_timeout, upstream_failed, upstream_too_large, upstream_rate_limited, invalid_request
 */
export async function callUpstream(context: UpstreamContext, call: UpstreamCall): Promise<UpstreamAnswer> {
  const seconds = call.action.definition.timeoutSeconds ?? call.connector.definition.timeoutSeconds;
  const deadline = context.clock.now() + seconds * SECOND;
  let waitingSince = performance.now();
  for (let tries = 1; ; tries++) {
    const release = await context.throttle.enter(call, deadline);
    let answer: UpstreamAnswer | undefined;
    let failure: unknown;
    const startedAt = performance.now();
    try {
      answer = await sendTraced(context, call, { tries, deadline });
      if (call.connector.definition.budget) context.throttle.observe(call, answer);
    } catch (error) {
      failure = error;
    } finally {
      release();
    }
    const endedAt = performance.now();
    noteAttempt(context.telemetry, call, {
      answer,
      failure,
      waitMs: startedAt - waitingSince,
      durationMs: endedAt - startedAt,
    });
    waitingSince = endedAt;
    const waitMs = answer ? waitAfter(context, call, { answer, tries }) : waitAfterFailure(failure, tries);
    const again =
      waitMs !== undefined &&
      tries < MAX_TRIES &&
      isRepeatable(call) &&
      !call.signal?.aborted &&
      context.clock.now() + waitMs < deadline &&
      context.throttle.mayRetry(call);
    if (!again) {
      if (answer) return answer;
      throw failure;
    }
    context.telemetry.upstreamRetries.count(call.connector.connectorId);
    context.log.debug(
      {
        connectorId: call.connector.connectorId,
        actionId: call.action.actionId,
        tries,
        waitMs,
        status: answer?.status,
      },
      'upstream call repeated',
    );
    await pause(call, waitMs);
  }
}

interface EndOfAttempt {
  answer: UpstreamAnswer | undefined;
  failure: unknown;
  waitMs: number;
  durationMs: number;
}

/** Counts a request to the app, and reports it to the caller. */
function noteAttempt(
  { upstreamAttempts, upstreamDuration, upstreamRateLimited }: Metrics,
  call: UpstreamCall,
  { answer, failure, waitMs, durationMs }: EndOfAttempt,
): void {
  const { connectorId } = call.connector;
  const end = answer ? { status: answer.status } : { errorCode: publicError(failure).code };
  call.onAttempt?.({ actionId: call.action.actionId, ...end, waitMs, durationMs });
  upstreamAttempts.count(connectorId, String(end.status ?? end.errorCode));
  upstreamDuration.observe(durationMs / SECOND, connectorId);
  if (answer && failureOf(call, answer) === 'upstream_rate_limited') upstreamRateLimited.count(connectorId);
}

/** Sends a call once, in a span of its own. */
function sendTraced(
  context: UpstreamContext,
  call: UpstreamCall,
  { tries, deadline }: { tries: number; deadline: number },
): Promise<UpstreamAnswer> {
  const { telemetry, clock } = context;
  const timeoutMs = () => Math.max(1, deadline - clock.now());
  if (!telemetry.traces) return sendOnce(context, call, timeoutMs());
  const { method, path, raw, connectorId, actionId } = call.action;
  const attributes = {
    'http.request.method': method,
    // The path of a raw call is input.
    ...(raw ? {} : { 'url.template': path }),
    ...(tries > 1 ? { 'http.request.resend_count': tries - 1 } : {}),
    'gatehouse.connector': connectorId,
    'gatehouse.action': actionId,
  };
  const name = raw ? method : `${method} ${path}`;
  return telemetry.span({ name, kind: 'client', attributes }, async (span) => {
    const answer = await sendOnce(context, withTrace(context, call, span), timeoutMs());
    span.note({ attributes: { 'http.response.status_code': answer.status } });
    if (answer.status >= 400) span.fail(String(answer.status));
    return answer;
  });
}

/**
 * Returns the call with the trace that its app may see. If the client sent a trace with its call, the app gets this trace.
 * Other traces are sent only to hosts that the operator listed, because apps could compare the ids.
 */
function withTrace({ telemetry }: UpstreamContext, call: UpstreamCall, { headers }: Span): UpstreamCall {
  if (!headers) return call;
  const isAsked = call.trace?.['traceparent'] !== undefined;
  if (!isAsked && !telemetry.reaches(originOf(call))) return call;
  return { ...call, trace: { ...call.trace, ...headers } };
}

async function sendOnce(
  context: UpstreamContext,
  call: UpstreamCall,
  timeoutMs: number,
): Promise<UpstreamAnswer> {
  if (call.connector.definition.protocol === 'mcp') {
    const { sendRemote } = await import('./remote/send.ts');
    return sendRemote(context, call, timeoutMs);
  }
  const { pause } = context.throttle;
  const built = await buildRequest(call, context.clock.now());
  using place = context.throttle.place(call);
  const request = {
    place,
    method: built.method,
    url: built.url,
    headers: built.headers,
    ...(built.body === undefined ? {} : { body: built.body }),
    ...(call.signal ? { signal: call.signal } : {}),
    timeoutMs,
    followRedirects: true,
    allowSandbox: call.connector.served,
  };
  if (call.action.definition.response.stream === 'events') {
    const { status, headers, body } = await context.outbound.stream(request);
    if (headers['content-type']?.startsWith('text/event-stream')) {
      const { secrets } = built;
      return { status, headers, ...(await readEvents(body, call, { secrets, pause })), secrets };
    }
    return await toAnswer(call, built, { answer: { status, headers, body: await collected(body) }, pause });
  }
  if (call.files && mayAnswerFile(call.action)) {
    const streamed = await context.outbound.stream({ ...request, maxBytes: call.files.maxBytes });
    const { status, headers, body } = streamed;
    if (status >= 300 || !answersFile(call, headers['content-type'] ?? ''))
      return await toAnswer(call, built, { answer: { status, headers, body: await collected(body) }, pause });
    const { secrets } = built;
    return {
      status,
      headers,
      secrets,
      ...(await storedFile(call.files, { headers, content: body, secrets, place })),
    };
  }
  // `await` keeps the place until the answer is parsed.
  return await toAnswer(call, built, { answer: await context.outbound.request(request), pause });
}

async function toAnswer(
  call: UpstreamCall,
  { secrets }: BuiltRequest,
  { answer: { status, headers, body }, pause }: { answer: OutboundAnswer; pause: Pause },
): Promise<UpstreamAnswer> {
  const isLarge = body.length > LARGE_BODY_BYTES;
  if (isLarge) await pause();
  const type = headers['content-type'] ?? '';
  const isFile = status < 300 && answersFile(call, type);
  const bytes = isFile ? body : decodedAnswer(call, { status, headers, body });
  const reflected = secretsIn(bytes, secrets);
  const facts = { status, headers, secrets, reflected };
  if (isFile) return { ...facts, body: fileOf(type, bytes, reflected) };
  if (readsXml(call) && /xml/i.test(type) && !isBlank(body))
    return xmlAnswer(call, facts, { bytes: body, pause });
  if (!isLarge && isBlank(bytes)) return { ...facts, body: null };
  if (status < 400 && !/json/i.test(type) && /^text\/(plain|csv)/i.test(type))
    return { ...facts, body: bytes.toString('utf8') };
  try {
    return { ...facts, body: await parseAnswer(bytes, pause) };
  } catch (error) {
    // The body of an error is often HTML or plain text, which is kept as text.
    if (status >= 300) return { ...facts, body: bytes.toString('utf8') };
    if (error instanceof GatehouseError) throw error;
    const tooDeep = error instanceof RangeError;
    const what = tooDeep
      ? `with JSON that nests deeper than ${MAX_JSON_DEPTH} levels`
      : 'with a body that is not JSON';
    throw new GatehouseError('upstream_failed', `${call.connector.name} answered ${what}.`, {
      details: {
        status,
        connectorId: call.connector.connectorId,
        reason: tooDeep ? 'too_deep' : 'not_json',
      },
      cause: error,
    });
  }
}

/** Returns the body of an answer in UTF-8. @throws GatehouseError `upstream_failed` for an unknown charset. */
function decodedAnswer(call: UpstreamCall, { status, headers, body }: OutboundAnswer): Buffer {
  try {
    return inUtf8(body, headers['content-type'] ?? '');
  } catch (error) {
    // An error keeps its status. Its sentence is read as UTF-8.
    if (!(error instanceof UnknownCharset) || status >= 300) return body;
    throw new GatehouseError(
      'upstream_failed',
      `${call.connector.name} answered in the charset ${error.charset}, which is not known.`,
      {
        details: { status, connectorId: call.connector.connectorId, reason: 'unknown_charset' },
        cause: error,
      },
    );
  }
}

/** Returns an answer of XML. It may repeat a secret in escaped form, so all secrets count as reflected. */
async function xmlAnswer(
  call: UpstreamCall,
  facts: Omit<UpstreamAnswer, 'body'>,
  { bytes, pause }: { bytes: Buffer; pause: Pause },
): Promise<UpstreamAnswer> {
  const { status, headers, secrets } = facts;
  try {
    const contentType = headers['content-type'] ?? '';
    return {
      ...facts,
      reflected: secrets.map((secret) => secret.open()).filter((text) => text !== ''),
      body: await parseXmlAnswer(call, { bytes, contentType, pause }),
    };
  } catch (error) {
    if (!(error instanceof XmlError)) throw error;
    if (status >= 300) return { ...facts, body: bytes.toString('utf8') };
    throw new GatehouseError(
      'upstream_failed',
      `${call.connector.name} answered with XML that cannot be read: ${error.message}.`,
      { details: { status, connectorId: call.connector.connectorId, reason: 'not_xml' }, cause: error },
    );
  }
}

/** Returns whether a body is blank. It decodes the whole body only if the first 64 bytes are blank. */
function isBlank(bytes: Buffer): boolean {
  return bytes.toString('utf8', 0, 64).trim() === '' && bytes.toString('utf8').trim() === '';
}

/** Returns how long to wait before another try, or undefined when the answer is final. */
function waitAfter(
  { clock, throttle }: UpstreamContext,
  call: UpstreamCall,
  { answer, tries }: { answer: UpstreamAnswer; tries: number },
): number | undefined {
  const means = failureOf(call, answer);
  const limited = means === 'upstream_rate_limited';
  if (!limited && means !== 'transient' && !RETRIED_STATUSES.has(answer.status)) return undefined;
  // The app's own header describes its limit. On a gateway's 503 it says nothing about when to retry.
  const hasRetryAfter = limited || answer.headers['retry-after'] !== undefined;
  const asked = hasRetryAfter ? retryAfterMs(call, answer, clock.now()) : undefined;
  if (limited && asked !== undefined) throttle.hold(call, clock.now() + asked);
  return asked ?? fullJitter(backoff(tries, RETRIES));
}

function waitAfterFailure(failure: unknown, tries: number): number | undefined {
  if (!(failure instanceof GatehouseError) || failure.code !== 'upstream_failed') return undefined;
  const reason = failure.details?.['reason'];
  return reason === 'refused' || reason === 'reset' || reason === 'unreachable'
    ? fullJitter(backoff(tries, RETRIES))
    : undefined;
}
