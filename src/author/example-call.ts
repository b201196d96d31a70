import type { Action, Connector } from '../connectors/catalog.ts';
import type { Base } from '../base.ts';
import { GatehouseError } from '../lib/errors.ts';
import { parseJson, type Json, type JsonObject } from '../lib/json.ts';
import { MIB } from '../lib/http/http-body.ts';
import { isStreamed } from '../outbound/outbound-dispatch.ts';
import type { Outbound, OutboundRequest } from '../outbound/outbound.ts';
import type { OpenCredential } from '../upstream/open-credential.ts';
import type { UpstreamContext } from '../upstream/call.ts';
import type { FileStore } from '../upstream/file-store.ts';
import { createTelemetry } from '../telemetry/telemetry.ts';
import { createRemoteSessions } from '../upstream/remote/remote-sessions.ts';
import { wholeBody } from '../upstream/sent-files.ts';
import type { UpstreamCall } from '../upstream/upstream-call.ts';
import { readPage } from '../actions/offset-pages.ts';
import { completed, withFilled } from '../actions/reads.ts';
import { listSource, readValue, splitWindow } from '../actions/read-results.ts';
import { afterSteps } from '../actions/follow-up-steps.ts';

/* The call of an example: as a caller's, without a store, limits and repetitions. */

/** The fixed key in examples, where a live call has a random key. */
const EXAMPLE_KEY = 'example-key';

export interface ExampleCall {
  connector: Connector;
  action: Action;
  credential: OpenCredential | undefined;
  input: JsonObject;
}

/** The result for the caller: the value, `{data, pagination}` for a list, or the error. */
export type ExampleResult = { value: Json } | { error: GatehouseError };

/** The files of examples: every fileId has the same content, and a stored answer the same id. */
const EXAMPLE_FILES: FileStore = {
  maxBytes: MIB,
  async open() {
    const bytes = Buffer.from('The content of the file.\n');
    return {
      size: bytes.length,
      mediaType: 'text/plain',
      name: 'example.txt',
      async *content({ from, to } = { from: 0, to: bytes.length }) {
        yield bytes.subarray(from, to);
      },
    };
  },
  async save({ content }) {
    let size = 0;
    for await (const chunk of content) size += chunk.length;
    return { fileId: 'file_4mTq8Zc1VbN6xKp2RwLd7F', size };
  },
};

/** Makes the call over a network that the caller chooses. */
export async function callExample(
  { clock, log, outbound }: Pick<Base, 'clock' | 'log'> & { outbound: Outbound },
  call: ExampleCall,
): Promise<ExampleResult> {
  // Retries are off, because the first answer counts.
  const throttle: UpstreamContext['throttle'] = {
    enter: async () => () => {},
    observe: () => {},
    hold: () => {},
    mayRetry: () => false,
    place: () => ({ take: () => true, [Symbol.dispose]: () => {} }),
    pause: async () => {},
  };
  const remoteSessions = createRemoteSessions(outbound);
  const key = call.action.effect === 'read' ? {} : { idempotencyKey: EXAMPLE_KEY };
  return await outcomeOf(
    { outbound, throttle, clock, log, telemetry: createTelemetry(), remoteSessions },
    { ...call, ...key, files: EXAMPLE_FILES },
  );
}

async function outcomeOf(context: UpstreamContext, call: UpstreamCall): Promise<ExampleResult> {
  try {
    const denies = () => undefined;
    if (!call.action.list) {
      const input = await withFilled(context, call, denies);
      const filled = { ...call, input };
      const value = await readValue(context, filled, () => {});
      const startedAt = context.clock.now();
      return { value: await afterSteps(context, filled, { value, denies, startedAt }) };
    }
    const { window, input: given } = splitWindow(call.action, call.input);
    const input = await withFilled(context, { ...call, input: given }, denies);
    const noPositions = { nearest: async () => undefined, remember: async () => {}, forget: async () => {} };
    const source = listSource(context, { ...call, input }, () => {});
    const page = await readPage(source, noPositions, window);
    const records = await completed(context, { ...call, input }, { records: page.records, denies });
    const { hasMore } = page;
    const pagination: JsonObject = hasMore
      ? { hasMore, nextOffset: window.offset + window.limit }
      : { hasMore };
    return { value: { data: records, pagination } };
  } catch (error) {
    if (error instanceof GatehouseError) return { error };
    throw error;
  }
}

/**
 * Returns the body as the example writes it: a text where the example has one, else the members of a JSON or form
 * body.
 */
export function bodyOf({ body, headers = {} }: OutboundRequest, wanted: unknown): Json {
  const type = lowerCase(headers)['content-type'] ?? '';
  if (body === undefined) return null;
  const text = typeof body === 'string' ? body : Buffer.from(isStreamed(body) ? '' : body).toString('utf8');
  if (typeof wanted === 'string') return text;
  if (type.startsWith('application/x-www-form-urlencoded'))
    return Object.fromEntries(new URLSearchParams(text));
  return type.includes('json') ? parseJson(text) : text;
}

export function lowerCase(headers: Record<string, string>): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));
}

/** Returns a request with its streamed body as text. */
export async function loaded(request: OutboundRequest): Promise<OutboundRequest> {
  const { body } = request;
  if (body === undefined || !isStreamed(body)) return request;
  return { ...request, body: await wholeBody(body, MIB) };
}
