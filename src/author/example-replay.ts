import { isDeepStrictEqual } from 'node:util';
import { ownAction, type Action, type Connector } from '../connectors/catalog.ts';
import type { ActionExample } from '../connectors/format/examples-format.ts';
import { checkInput, compileSchema } from '../connectors/schemas/validate.ts';
import type { Base } from '../base.ts';
import { checkEntered } from '../credentials/derived.ts';
import { storedFields } from '../credentials/fields.ts';
import { unsavedCredential } from '../credentials/sealed-values.ts';
import type { Fault } from '../lib/errors.ts';
import { isJsonObject, asJson, type Json, type JsonObject } from '../lib/json.ts';
import type { Outbound, OutboundAnswer, OutboundRequest } from '../outbound/outbound.ts';
import type { OpenCredential } from '../upstream/open-credential.ts';
import { inverseOf } from '../actions/inverse.ts';
import { bodyOf, callExample, loaded, lowerCase, type ExampleResult } from './example-call.ts';

/**
 * Plays an example of a connector file: its input must make its request, and its response its output or error. Returns
 * the differences, none when it matches. It uses no network: the response of the example is the answer.
 */
export async function replayExample(
  { clock, log }: Pick<Base, 'clock' | 'log'>,
  connector: Connector,
  example: ActionExample,
): Promise<Fault[]> {
  const action = ownAction(connector, example.action);
  if (!action) return [{ field: 'action', rule: `"${example.action}" is no action of this connector` }];
  const credential = credentialOf(connector, example);
  if (Array.isArray(credential)) return credential;
  const input = asJson(example.input);
  if (!isJsonObject(input)) return [{ field: 'input', rule: 'must be a mapping' }];
  const badInput = checkInput(action, input);
  if (badInput.length > 0) return badInput.map(({ field, rule }) => ({ field: `input.${field}`, rule }));

  const sent: OutboundRequest[] = [];
  const reads = [...example.reads];
  const outbound = replayingOutbound(example, reads, sent);
  const outcome = await callExample({ clock, log, outbound }, { connector, action, credential, input });

  const [first] = sent;
  const faults = first ? requestFaults(first, example) : [{ field: 'request', rule: 'nothing was sent' }];
  for (const { url } of reads) faults.push({ field: 'reads', rule: `${url} is not read` });
  if (sent.length > 1)
    faults.push({ field: 'input', rule: `needs ${sent.length} calls; ask for a smaller page` });
  return [
    ...faults,
    ...outcomeFaults(outcome, example),
    ...schemaFaults(outcome, action),
    ...undoFaults(outcome, { connector, action, input }),
  ];
}

/** Returns the credential that an example names, or its faults. Undefined for schemes without one. */
export function credentialOf(
  connector: Connector,
  example: Pick<ActionExample, 'authentication' | 'credential'>,
): OpenCredential | undefined | Fault[] {
  const schemes = connector.definition.authentication;
  const given = Object.keys(example.credential);
  const scheme = schemes.find((one) => {
    if (example.authentication !== undefined) return one.type === example.authentication;
    const fields = storedFields(connector, one);
    return given.every((name) => fields.has(name));
  });
  if (!scheme)
    return [
      { field: 'authentication', rule: `must be one of: ${schemes.map(({ type }) => type).join(', ')}` },
    ];
  if (scheme.type === 'none') return undefined;
  const { values, faults } = checkEntered(connector, scheme, {
    data: example.credential,
    stored: true,
  });
  if (faults.length > 0) {
    return faults.map(({ field, rule }) => ({ field: field.replace(/^data/, 'credential'), rule }));
  }
  return unsavedCredential(connector, scheme, { credentialId: 'cred_example', values });
}

/**
 * Creates the network of an example. A request for one of the example's reads gets that read's response, which is
 * removed from `left`. Any other request gets the example's own response and is stored in `sent`.
 */
function replayingOutbound(
  example: ActionExample,
  left: ActionExample['reads'],
  sent: OutboundRequest[],
): Outbound {
  const answer = (request: OutboundRequest): OutboundAnswer => {
    const at = left.findIndex(
      ({ method, url, members }) =>
        url === request.url &&
        method === request.method &&
        (members === undefined || isPartOf(asJson(members), bodyOf(request, members))),
    );
    const [read] = at < 0 ? [] : left.splice(at, 1);
    if (!read) sent.push(request);
    const { response } = read ?? example;
    const { status, body } = response;
    const headers = lowerCase(response.headers);
    const text = body === undefined ? '' : typeof body === 'string' ? body : JSON.stringify(body);
    if (typeof body !== 'string' && body !== undefined) headers['content-type'] ??= 'application/json';
    return { status, headers, body: Buffer.from(text) };
  };
  return {
    request: async (request) => answer(await loaded(request)),
    async stream(request) {
      const { status, headers, body } = answer(await loaded(request));
      return {
        status,
        headers,
        body: (async function* chunks() {
          yield body;
        })(),
      };
    },
    examine: async () => {},
    allowSandbox: () => {},
    close: async () => {},
  };
}

/** Returns the differences between the sent request and the request of the example. */
function requestFaults(sent: OutboundRequest, { request }: ActionExample): Fault[] {
  const faults: Fault[] = [];
  if (sent.method !== request.method) faults.push(differs('request.method', request.method, sent.method));
  if (sent.url !== request.url) faults.push(differs('request.url', request.url, sent.url));
  const headers = lowerCase(sent.headers ?? {});
  for (const [name, wanted] of Object.entries(request.headers)) {
    const actual = headers[name.toLowerCase()];
    if (actual !== wanted) faults.push(differs(`request.headers.${name}`, wanted, actual));
  }
  if (request.members !== undefined) {
    const body = bodyOf(sent, request.members);
    if (!isPartOf(asJson(request.members), body))
      faults.push(differs('request.members', request.members, body));
  }
  if (request.body === undefined) return faults;
  const wanted = asJson(request.body);
  const body = withoutDocument(bodyOf(sent, wanted), wanted);
  if (!isDeepStrictEqual(body, wanted)) faults.push(differs('request.body', wanted, body));
  return faults;
}

/** Returns whether the body has these members, at every depth. Lists have as many entries. */
function isPartOf(part: Json, whole: Json): boolean {
  if (Array.isArray(part))
    return (
      Array.isArray(whole) &&
      part.length === whole.length &&
      part.every((one, at) => isPartOf(one, whole[at] ?? null))
    );
  if (!isJsonObject(part)) return isDeepStrictEqual(part, whole);
  return (
    isJsonObject(whole) &&
    Object.entries(part).every(([name, one]) => name in whole && isPartOf(one, whole[name] ?? null))
  );
}

/** Removes the document of a GraphQL request where the example gives the variables alone. */
function withoutDocument(body: Json, wanted: Json): Json {
  if (!isJsonObject(body) || !isJsonObject(wanted)) return body;
  if (body['query'] === undefined || wanted['query'] !== undefined) return body;
  return wanted['variables'] === undefined ? body : { variables: body['variables'] ?? {} };
}

function outcomeFaults(outcome: ExampleResult, example: ActionExample): Fault[] {
  const { output, error } = example;
  if ('error' in outcome) {
    if (!error)
      return [{ field: 'output', rule: `came as the error ${outcome.error.code}: ${outcome.error.message}` }];
    const faults: Fault[] = [];
    if (error.code !== outcome.error.code) faults.push(differs('error.code', error.code, outcome.error.code));
    if (error.message !== undefined && error.message !== outcome.error.message) {
      faults.push(differs('error.message', error.message, outcome.error.message));
    }
    return faults;
  }
  if (error) return [differs('error', error.code, outcome.value)];
  if (output === undefined || isDeepStrictEqual(outcome.value, asJson(output))) return [];
  return [differs('output', output, outcome.value)];
}

/** Returns the differences between the output and the schema of the action. */
function schemaFaults(outcome: ExampleResult, action: Action): Fault[] {
  if ('error' in outcome) return [];
  const faults = compileSchema(action.outputSchema)(action.list ? outcome.value : { data: outcome.value });
  return faults.slice(0, 5).map(({ field, rule }) => ({
    field: field === '(whole)' ? 'output' : `output.${field}`,
    rule: `does not fit response.schema: ${rule}`,
  }));
}

/** Returns the faults of the call that would undo the one of the example. */
function undoFaults(
  outcome: ExampleResult,
  { connector, action, input }: { connector: Connector; action: Action; input: JsonObject },
): Fault[] {
  if ('error' in outcome) return [];
  const inverse = inverseOf(connector, action, { input, result: outcome.value });
  return (inverse?.faults ?? []).map(({ field, rule }) => ({ field: `undo.input.${field}`, rule }));
}

const MAX_SHOWN = 600;

function differs(field: string, wanted: unknown, actual: unknown): Fault {
  const show = (value: unknown) => (JSON.stringify(value) ?? 'nothing').slice(0, MAX_SHOWN);
  return { field, rule: `should be ${show(wanted)}, is ${show(actual)}` };
}
