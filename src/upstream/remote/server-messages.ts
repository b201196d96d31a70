import { setImmediate as nextTurn } from 'node:timers/promises';
import { createParser, type EventSourceMessage } from 'eventsource-parser';
import { GatehouseError } from '../../lib/errors.ts';
import { asObject, isJsonObject, type Json, type JsonObject } from '../../lib/json.ts';
import { createPause, parseAnswer } from '../large-answers.ts';
import { MAX_QUESTIONS } from './questions.ts';

/** Messages of one answer. A server that reports more floods, because a person or model reads none of that. */
const MAX_MESSAGES = 2000;
/** Requests of a server in one answer; each gets an answer of its own. */
const MAX_REQUESTS = 100;
/** Messages that are read in one turn of the event loop. */
const MESSAGES_A_TURN = 100;

/**
 * Returns the events of a stream with messages in the form of the standard.
 * @throws GatehouseError `upstream_too_large` for too many messages or values
 */
export async function* readEvents(
  body: AsyncIterable<Buffer>,
  isLast: (message: JsonObject) => boolean = () => false,
): AsyncGenerator<Buffer> {
  const decoder = new TextDecoder();
  let events: EventSourceMessage[] = [];
  let retry: number | undefined;
  const parser = createParser({
    onEvent: (event) => void events.push(event),
    onRetry: (ms) => (retry = ms),
  });
  const count = createCount();
  const pause = createPause();
  for await (const chunk of body) {
    for (const piece of piecesOf(chunk)) {
      parser.feed(decoder.decode(piece, { stream: true }));
      for (const event of events) {
        if (count.event()) await nextTurn();
        const messages = isMessage(event) ? await messagesIn(Buffer.from(event.data), pause) : [];
        for (const message of messages) count.message(message);
        yield textOf(event, { messages, retry });
        retry = undefined;
        if (messages.some(isLast)) return;
      }
      events = [];
    }
  }
}

/**
 * Returns an answer of JSON with messages in the form of the standard.
 * @throws GatehouseError `upstream_too_large` for too many values
 */
export async function readMessages(bytes: Buffer): Promise<string> {
  const messages = await messagesIn(bytes, createPause());
  const count = createCount();
  for (const message of messages) count.message(message);
  const [first = {}, ...others] = messages;
  return JSON.stringify(others.length > 0 ? messages : first);
}

/** A chunk may hold 10,000 messages, and the parser reads all of a piece at once. */
function* piecesOf(chunk: Buffer): Generator<Buffer> {
  const size = 16 * 1024;
  for (let from = 0; from < chunk.length; from += size) yield chunk.subarray(from, from + size);
}

function isMessage({ event, data }: EventSourceMessage): boolean {
  return data !== '' && (event === undefined || event === '' || event === 'message');
}

/** Returns an event as text. A batch becomes an event for each of its messages, because the client reads no batch. */
function textOf(
  { id, event, data }: EventSourceMessage,
  { messages, retry }: { messages: readonly JsonObject[]; retry: number | undefined },
): Buffer {
  const head = `${retry === undefined ? '' : `retry: ${retry}\n`}${id === undefined ? '' : `id: ${id}\n`}`;
  if (messages.length === 0)
    return Buffer.from(
      `${head}${event ? `event: ${event}\n` : ''}data: ${data.replaceAll('\n', '\ndata: ')}\n\n`,
    );
  return Buffer.from(
    messages.map((one, at) => `${at === 0 ? head : ''}data: ${JSON.stringify(one)}\n\n`).join(''),
  );
}

/** Returns the messages of a text. Values that are no messages are left out. */
async function messagesIn(bytes: Buffer, pause: ReturnType<typeof createPause>): Promise<JsonObject[]> {
  const read = await parsedMessage(bytes, pause);
  return (Array.isArray(read) ? read : [read]).filter(isJsonObject).map(usual);
}

/** Parses a message. Only a list of tools may nest deeper than other JSON (listed.ts), and its values are counted before. */
async function parsedMessage(bytes: Buffer, pause: ReturnType<typeof createPause>): Promise<Json> {
  try {
    return await parseAnswer(bytes, pause);
  } catch (error) {
    if (error instanceof RangeError) return JSON.parse(bytes.toString('utf8'));
    throw error;
  }
}

/**
 * Returns a message without the habits of servers that the client would refuse: null for a missing member, an id as text,
 * and a beginning of a session without the names of the server.
 */
function usual(given: JsonObject): JsonObject {
  const message = withoutNull(given);
  if (isJsonObject(message['params'] ?? null)) message['params'] = withoutNull(asObject(message['params']));
  if ('method' in message) return { jsonrpc: '2.0', ...message };
  const { id } = message;
  if (typeof id === 'string' && /^\d{1,15}$/.test(id)) message['id'] = Number(id);
  if (!('error' in message)) message['result'] = resultOf(message['result']);
  return { jsonrpc: '2.0', ...message };
}

function resultOf(given: Json | undefined): Json {
  if (given === undefined) return {};
  if (!isJsonObject(given)) return given;
  const result = withoutNull(given);
  if (typeof result['protocolVersion'] !== 'string' || 'resultType' in result) return result;
  const { name = 'server', version = '0' } = withoutNull(asObject(result['serverInfo']));
  return {
    ...result,
    capabilities: withoutNull(asObject(result['capabilities'])),
    serverInfo: {
      ...withoutNull(asObject(result['serverInfo'])),
      name: String(name),
      version: String(version),
    },
  };
}

function withoutNull(given: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(given).filter(([, member]) => member !== null));
}

/** Counts what a server sends in one answer. */
function createCount() {
  let events = 0;
  let requests = 0;
  let questions = 0;
  return {
    /** Returns whether other work should have a turn. */
    event(): boolean {
      if (++events > MAX_MESSAGES)
        throw flood(`sent more than ${MAX_MESSAGES.toLocaleString('en')} messages in one answer`);
      return events % MESSAGES_A_TURN === 0;
    },
    message({ method, id }: JsonObject): void {
      if (method === undefined || id === undefined) return;
      if (++requests > MAX_REQUESTS) throw flood(`sent more than ${MAX_REQUESTS} requests in one answer`);
      if (method === 'elicitation/create' && ++questions > MAX_QUESTIONS) throw tooManyQuestions();
    },
  };
}

export function tooManyQuestions(): GatehouseError {
  return flood(`asked more than ${MAX_QUESTIONS} questions in one call`);
}

function flood(what: string): GatehouseError {
  return new GatehouseError('upstream_too_large', `The MCP server ${what}. The call was ended.`, {
    details: { reason: 'flood' },
  });
}
