import { rawFaults } from '../connectors/raw-input.ts';
import { asObject, isJsonObject, type Json } from '../lib/json.ts';
import type { RequestTarget } from '../outbound/target.ts';
import { formBody } from './body.ts';
import { inputForJson } from './sent-numbers.ts';
import { headerValue, inputFault, type Address, type Body, type Draft } from './request-draft.ts';
import type { UpstreamCall } from './upstream-call.ts';
import { queryPairs } from './values.ts';

/**
 * Returns the request of a raw call, without the credential and the headers of the connector file. Its path stays below
 * the base address, and no member of the input can change the credential, the host, or the method that was checked.
 * @throws GatehouseError `invalid_request`
 */
export function rawRequest(call: UpstreamCall, base: RequestTarget): Draft {
  const { method } = call.action;
  const [fault] = rawFaults({ ...call.input, method });
  if (fault) throw inputFault(fault.field, fault.rule);
  const headers = rawHeaders(call.input['headers']);
  return { method, address: rawAddress(call, base), headers, body: rawBody(call, headers['content-type']) };
}

function rawAddress({ input }: UpstreamCall, { origin, host, path: basePath }: RequestTarget): Address {
  const { path = '' } = input;
  const whole = basePath.replace(/\/?(\?.*)?$/, '') + (typeof path === 'string' ? path : '');
  const parsed = URL.canParse(origin + whole) ? new URL(origin + whole) : undefined;
  if (parsed?.origin !== origin || parsed.pathname !== whole)
    throw inputFault('path', 'must be a plain path; percent-encode other characters');
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(asObject(input['query'])))
    for (const [key, text] of queryPairs(name, value, { style: 'repeat' })) query.append(key, text);
  return { origin, host, path: whole, query: query.toString() };
}

function rawHeaders(given: Json | undefined): Record<string, string> {
  return Object.fromEntries(
    Object.entries(asObject(given)).map(([name, value]) => [
      name.toLowerCase(),
      headerValue(`headers.${name}`, String(value)),
    ]),
  );
}

function rawBody(call: UpstreamCall, type: string | undefined): Body | undefined {
  const { connector, input } = call;
  const { body } = input;
  if (body === undefined || body === null) return undefined;
  if (typeof body === 'string') return { contentType: 'text/plain; charset=utf-8', content: () => body };
  const exact = inputForJson(call)['body'] ?? null;
  if (!isJsonObject(body)) return { contentType: 'application/json', content: () => JSON.stringify(exact) };
  const isForm =
    type === undefined
      ? connector.definition.bodyType === 'form'
      : type.startsWith('application/x-www-form-urlencoded');
  if (isForm) return formBody({ ...body }, new Map());
  const members = { ...asObject(exact) };
  return { contentType: 'application/json', members, content: () => JSON.stringify(members) };
}
