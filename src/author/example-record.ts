import type { Base } from '../base.ts';
import type { Connector } from '../connectors/catalog.ts';
import type { ActionExample } from '../connectors/format/examples-format.ts';
import type { ConnectorFile } from '../connectors/format/format.ts';
import { parametersOf } from '../connectors/parameters.ts';
import { checkFields, storedFields } from '../credentials/fields.ts';
import { GatehouseError, type Fault } from '../lib/errors.ts';
import { asObject, isJsonObject, parseJson, type Json, type JsonObject } from '../lib/json.ts';
import { compilePattern } from '../lib/linear-pattern.ts';
import type { Outbound, OutboundAnswer, OutboundRequest } from '../outbound/outbound.ts';
import { createScrubber } from '../lib/scrub.ts';
import { createAnonymiser, type Anonymiser } from './anonymise.ts';
import {
  bodyOf,
  callExample,
  loaded,
  lowerCase,
  type ExampleCall,
  type ExampleResult,
} from './example-call.ts';
import { credentialOf, replayExample } from './example-replay.ts';

/* An example of a live call, without the values of the account. */

/** Headers of answers that the service reads without a field of the file. */
const READ_HEADERS = new Set(['link', 'retry-after', 'location']);

interface Exchange {
  request: OutboundRequest;
  answer: OutboundAnswer;
}

/** A call to record. The credential has the fields of an example, with real values. */
export type Recording = Pick<ActionExample, 'action' | 'authentication' | 'credential' | 'input'>;

/**
 * Makes the call over `outbound` and returns its example, in which the values of the account are replaced. A second
 * call, which gets the replaced answers instead of the app's, gives the request, output and error of the example.
 * @throws GatehouseError invalid_request for a call that cannot be made or recorded; what a network throws.
 */
export async function recordExample(
  context: Pick<Base, 'clock' | 'log'> & { outbound: Outbound },
  connector: Connector,
  recording: Recording,
): Promise<ActionExample> {
  const live = callOf(connector, recording);
  const exchanges: Exchange[] = [];
  const outcome = await callExample(
    { ...context, outbound: recordingOutbound(context.outbound, exchanges) },
    live,
  );
  if (exchanges.length === 0) throw 'error' in outcome ? outcome.error : refused('action', 'sent no request');

  const secrets = secretsOf(connector, live);
  const vocabulary = vocabularyOf(connector.definition);
  const anonymiser = createAnonymiser(secrets, vocabulary);
  const replaced: Recording = {
    action: recording.action,
    ...(recording.authentication === undefined ? {} : { authentication: recording.authentication }),
    credential: replacedCredential(connector, live, { credential: recording.credential, anonymiser }),
    input: replacedInput(live, anonymiser),
  };
  const { sent, answers, outbound } = replacedOutbound(exchanges, {
    anonymiser,
    headers: headersOf(connector.definition),
  });
  const second = callOf(connector, replaced);
  const result = await callExample({ ...context, outbound }, second);
  const example = assembled(replaced, { live: second, sent, answers, outcome: result });
  const faults = await replayExample(context, connector, example);
  if (faults.length > 0) throw invalid(NOT_REPEATABLE, faults);
  requireNoSecret(example, secrets);
  return example;
}

const NOT_REPEATABLE = 'The call was made, but its example does not replay. Write this example by hand.';

/** @throws GatehouseError for an unknown action, and for a credential or input that does not fit. */
function callOf(connector: Connector, recording: Recording): ExampleCall {
  const action = connector.actions.get(recording.action) ?? connector.internal.get(recording.action);
  if (!action) throw refused('action', `"${recording.action}" is no action of this connector`);
  const credential = credentialOf(connector, recording);
  if (Array.isArray(credential)) throw invalid('The call cannot be made.', credential);
  return { connector, action, credential, input: asObject(recording.input) };
}

function refused(field: string, rule: string): GatehouseError {
  return invalid('The call cannot be recorded.', [{ field, rule }]);
}

function invalid(message: string, faults: readonly Fault[]): GatehouseError {
  return new GatehouseError(
    'invalid_request',
    [message, ...faults.map(({ field, rule }) => `${field}: ${rule}`)].join('\n'),
    { details: { faults } },
  );
}

/** Returns a network that sends requests over `outbound`, and adds each exchange to `exchanges`. */
function recordingOutbound(outbound: Outbound, exchanges: Exchange[]): Outbound {
  const request = inOrder(async (asked) => {
    const whole = await loaded(asked);
    const answer = await outbound.request(whole);
    exchanges.push({ request: whole, answer });
    return answer;
  });
  return { ...outbound, request, stream: async (asked) => streamed(await request(asked)) };
}

/** Sends one request at a time, so that parallel reads have the same order in both calls. */
function inOrder(send: Outbound['request']): Outbound['request'] {
  let last: Promise<unknown> = Promise.resolve();
  return (asked) => {
    const next = last.then(() => send(asked));
    last = next.catch(() => {});
    return next;
  };
}

function streamed({ status, headers, body }: OutboundAnswer) {
  return {
    status,
    headers,
    body: (async function* chunks() {
      yield body;
    })(),
  };
}

/** Returns a network that gives the replaced answer of the first request to the first request, and so on. */
function replacedOutbound(
  exchanges: readonly Exchange[],
  { anonymiser, headers }: { anonymiser: Anonymiser; headers: ReadonlySet<string> },
) {
  const sent: OutboundRequest[] = [];
  const answers: ActionExample['response'][] = [];
  const request = inOrder(async (asked) => {
    const exchange = exchanges[sent.length];
    if (!exchange) throw refused('input', 'the replaced values lead to other requests');
    sent.push(await loaded(asked));
    anonymiser.origin(originOf(exchange.request.url), originOf(asked.url));
    const answer = replacedAnswer(exchange.answer, { anonymiser, headers });
    answers.push(answer);
    const text =
      answer.body === undefined
        ? ''
        : typeof answer.body === 'string'
          ? answer.body
          : JSON.stringify(answer.body);
    return { status: answer.status, headers: answer.headers, body: Buffer.from(text) };
  });
  const outbound: Outbound = {
    request,
    stream: async (asked) => streamed(await request(asked)),
    examine: async () => {},
    allowSandbox: () => {},
    close: async () => {},
  };
  return { sent, answers, outbound };
}

function originOf(url: string): string {
  return /^https?:\/\/[^/?#]*/.exec(url)?.[0] ?? url;
}

function replacedAnswer(
  { status, headers, body }: OutboundAnswer,
  { anonymiser, headers: read }: { anonymiser: Anonymiser; headers: ReadonlySet<string> },
): ActionExample['response'] {
  const kept = Object.entries(headers)
    .filter(([name]) => read.has(name))
    .map(([name, text]) => [name, name === 'link' ? replacedLinks(text, anonymiser) : anonymiser.text(text)]);
  const type = headers['content-type']?.split(';')[0]?.trim() ?? '';
  const text = body.toString('utf8');
  if (!Buffer.from(text, 'utf8').equals(body))
    throw refused('response', 'is not text, and an example can hold only text');
  const shown = {
    status,
    headers: { ...Object.fromEntries(kept), ...(type === '' ? {} : { 'content-type': type }) },
  };
  if (text === '') return shown;
  const isJson = type.endsWith('json') || /^\s*[[{]/.test(text);
  return { ...shown, body: isJson ? anonymiser.value(parseJson(text)) : replacedText(text, anonymiser) };
}

/** Replaces the addresses of a Link header (RFC 8288). */
function replacedLinks(text: string, anonymiser: Anonymiser): string {
  return text.replaceAll(/<([^>]*)>/g, (_all, address: string) => `<${anonymiser.text(address)}>`);
}

/** Replaces the texts between the tags of XML; any other text is replaced whole. */
function replacedText(text: string, anonymiser: Anonymiser): string {
  if (!text.trimStart().startsWith('<')) return anonymiser.text(text);
  const attributes = text.replaceAll(/="([^"]*)"/g, (all, value: string) =>
    /^https?:/.test(value) ? all : `="${anonymiser.text(value)}"`,
  );
  return attributes.replaceAll(/>([^<>]+)</g, (_all, value: string) => `>${anonymiser.text(value)}<`);
}

/** Returns the secret values of the credential. */
function secretsOf(connector: Connector, { credential }: ExampleCall): string[] {
  if (!credential) return [];
  const fields = storedFields(connector, credential.scheme);
  return Object.entries(credential.values)
    .filter(([name]) => fields.get(name)?.secret !== false)
    .map(([, value]) => value.open());
}

/** Returns the input with replaced values, which match the patterns of their parameters. */
function replacedInput({ action, input }: ExampleCall, anonymiser: Anonymiser): JsonObject {
  // Their replacements come first, because equal values get equal replacements.
  for (const { name, parameter } of parametersOf(action.definition))
    for (const [text, pattern] of patternedTexts(parameter, input[name])) {
      const compiled = compilePattern(pattern);
      anonymiser.fitting(text, (changed) => compiled.test(changed));
    }
  return asObject(anonymiser.value(input));
}

/** Returns the texts within a value whose schema has a pattern, with this pattern. */
function patternedTexts(schema: unknown, value: unknown): [text: string, pattern: string][] {
  const { pattern, items, properties } = asObject(schema);
  if (typeof value === 'string') return typeof pattern === 'string' ? [[value, pattern]] : [];
  if (Array.isArray(value)) return value.flatMap((item) => patternedTexts(items, item));
  if (!isJsonObject(value)) return [];
  return Object.entries(value).flatMap(([name, member]) =>
    patternedTexts(asObject(properties)[name], member),
  );
}

/** Returns the credential with invented values. Values that the file itself names stay, such as a version. */
function replacedCredential(
  connector: Connector,
  { credential }: ExampleCall,
  { credential: given, anonymiser }: { credential: Record<string, string>; anonymiser: Anonymiser },
): Record<string, string> {
  if (!credential) return {};
  const fields = storedFields(connector, credential.scheme);
  const plain = createAnonymiser([], vocabularyOf(connector.definition));
  return Object.fromEntries(
    Object.entries(given).map(([name, value]) => {
      const field = fields.get(name);
      if (!field || (field.secret && field.pattern === undefined)) return [name, `example-${name}`];
      const fits = (text: string) =>
        checkFields(new Map([[name, field]]), { [name]: text }).faults.length === 0;
      if (field.secret) return [name, plain.fitting(value, fits)];
      const isOfFile = field.default === value || field.example === value || field.enum?.includes(value);
      return [name, isOfFile ? value : anonymiser.fitting(value, fits)];
    }),
  );
}

/** Members of a file that people read. */
const PROSE = new Set([
  'description',
  'title',
  'synonyms',
  'sources',
  'website',
  'docsUrl',
  'name',
  'categories',
]);

/**
 * Returns the texts that the file compares or sends: enums, constants, and texts in expressions. Values that the
 * descriptions of parameters name are among them: "such as updated_on:desc".
 */
function vocabularyOf({ sources: _sources, ...definition }: ConnectorFile): Set<string> {
  const found = new Set<string>();
  const walk = (value: unknown): void => {
    if (typeof value === 'string') {
      found.add(value);
      for (const word of value.match(/[A-Za-z]+/g) ?? []) found.add(word);
    } else if (typeof value === 'object' && value !== null)
      for (const [name, each] of Object.entries(value))
        if (Array.isArray(value) || !PROSE.has(name) || typeof each === 'object') walk(each);
  };
  walk(definition);
  for (const action of Object.values(definition.actions)) {
    for (const { parameter } of parametersOf(action)) {
      for (const word of String(parameter['description'] ?? '').match(/[\p{L}\p{N}]+/gu) ?? [])
        found.add(word);
    }
  }
  return found;
}

/** Returns the lower-case names of the headers that the file reads. */
function headersOf(definition: ConnectorFile): Set<string> {
  const text = JSON.stringify([
    definition.paging,
    definition.errors,
    definition.budget,
    definition.retryAfterHeader,
    definition.actions,
  ]);
  const named = [...text.matchAll(/"(?:header:)([^"]+)"|"name":"([A-Za-z0-9-]+)"/g)].map(
    (found) => found[1] ?? found[2] ?? '',
  );
  return new Set([
    ...READ_HEADERS,
    ...[...named, definition.retryAfterHeader ?? ''].map((name) => name.toLowerCase()),
  ]);
}

function assembled(
  { action, authentication, credential, input }: Recording,
  {
    live,
    sent,
    answers,
    outcome,
  }: {
    live: ExampleCall;
    sent: OutboundRequest[];
    answers: ActionExample['response'][];
    outcome: ExampleResult;
  },
): ActionExample {
  const main = Math.max(
    0,
    sent.findIndex((request) => isOwn(request, live)),
  );
  const others = sent.flatMap((request, at) => (at === main ? [] : [{ request, response: answers[at] }]));
  const own = sent[main];
  const response = answers[main];
  if (!own || !response) throw 'error' in outcome ? outcome.error : refused('action', 'sent no request');
  const isShared = (url: string) => sent.filter((request) => request.url === url).length > 1;
  return {
    action,
    ...(authentication === undefined ? {} : { authentication }),
    credential,
    input,
    request: {
      method: own.method,
      url: own.url,
      headers: credentialHeaders(own, credential),
      ...(own.body === undefined ? {} : { body: withoutDocument(bodyOf(own, {}), live) }),
    },
    reads: others.flatMap(({ request, response: answered }) => {
      const body = isShared(request.url) ? bodyOf(request, {}) : null;
      const members = isJsonObject(body) ? { members: body } : {};
      return answered ? [{ method: request.method, url: request.url, ...members, response: answered }] : [];
    }),
    response,
    ...('error' in outcome ? { error: { code: outcome.error.code } } : { output: outcome.value }),
  };
}

/** Returns whether a request is the action's own, by method and path, or by its GraphQL document. */
function isOwn({ method, url, body, ...rest }: OutboundRequest, { action }: ExampleCall): boolean {
  const { request, graphql } = action.definition;
  const [wanted = '', path = ''] = request.split(' ');
  const [plain = ''] = path.split('?');
  const pattern = plain
    .split(/\{[^}]*\}/)
    .map((part) => part.replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`))
    .join('[^?]+');
  if (method !== wanted || !new RegExp(`${pattern}$`).test(url.split('?')[0] ?? '')) return false;
  return (
    graphql === undefined ||
    asObject(bodyOf({ method, url, ...(body ? { body } : {}), ...rest }, {}))['query'] === graphql
  );
}

/** Leaves the document of GraphQL out, because the connector file has it. */
function withoutDocument(body: Json, { action }: ExampleCall): Json {
  return action.definition.graphql !== undefined && isJsonObject(body)
    ? { variables: body['variables'] ?? {} }
    : body;
}

/** Returns the headers that have a value of the credential. */
function credentialHeaders(
  { headers = {} }: OutboundRequest,
  credential: Record<string, string>,
): Record<string, string> {
  const values = Object.values(credential);
  return Object.fromEntries(
    Object.entries(lowerCase(headers)).filter(([, text]) => values.some((value) => text.includes(value))),
  );
}

/** @throws GatehouseError where a value of the credential is in the example, in any form. */
function requireNoSecret(example: ActionExample, secrets: readonly string[]): void {
  const { input, request, reads, response, output } = example;
  const text = JSON.stringify({ input, request, reads, response, output });
  const own = secrets.filter((secret) => !Object.values(example.credential).includes(secret));
  if (createScrubber(own)(text) !== text)
    throw refused('response', 'has a value of the credential after the replacement; nothing is written');
}
