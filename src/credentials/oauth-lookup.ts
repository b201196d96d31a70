import { SANDBOX_ID } from '../connectors/catalog.ts';
import type { Base } from '../base.ts';
import { answerText } from '../lib/http/body-text.ts';
import { GatehouseError } from '../lib/errors.ts';
import { MIB } from '../lib/http/http-body.ts';
import { parseJson, type Json } from '../lib/json.ts';
import type { OutboundAnswer } from '../outbound/outbound.ts';
import { mapValue } from '../upstream/expression.ts';
import { filledAddress, filler, noAnswer, TOKEN_TIMEOUT_MS, type Grant } from './oauth-wire.ts';

/** A second attempt, because the code of the grant is spent and the person would have to consent again. */
const TRIES = 2;

/**
 * Returns the mapped answer of the scheme's `lookup` after a grant; undefined for schemes without one.
 * @throws GatehouseError upstream_* when the lookup fails.
 */
export async function lookUp(
  context: Pick<Base, 'outbound'>,
  grant: Grant & { signal?: AbortSignal | undefined },
  accessToken: string,
): Promise<Json | undefined> {
  const { connector, scheme, signal } = grant;
  const { lookup } = scheme;
  if (!lookup) return undefined;
  const fill = filler(grant, { accessToken });
  const headers = Object.entries(lookup.headers).map(([name, template]) => [
    name.toLowerCase(),
    fill(template),
  ]);
  const request = {
    method: 'GET',
    url: filledAddress(grant, lookup.url).href,
    headers: { accept: 'application/json', 'user-agent': 'Gatehouse/0.1', ...Object.fromEntries(headers) },
    timeoutMs: TOKEN_TIMEOUT_MS,
    maxBytes: MIB,
    allowSandbox: connector.connectorId === SANDBOX_ID,
    ...(signal ? { signal } : {}),
  };
  let answer = await context.outbound.request(request);
  for (let tries = 1; tries < TRIES && answer.status >= 500; tries++)
    answer = await context.outbound.request(request);
  const body = bodyOf(answer);
  if (body === undefined) {
    if (answer.status >= 500 || answer.status === 429) throw noAnswer(connector, answer);
    throw new GatehouseError(
      'upstream_failed',
      `${connector.name} granted access, but did not send the further data that is needed (HTTP ${answer.status} at lookup.url of its connector file).`,
      { details: { connectorId: connector.connectorId, status: answer.status, reason: 'lookup' } },
    );
  }
  return lookup.map === undefined
    ? body
    : mapValue(lookup.map, body, { author: connector, secrets: [accessToken] });
}

function bodyOf(answer: OutboundAnswer): Json | undefined {
  if (answer.status < 200 || answer.status >= 300) return undefined;
  try {
    return parseJson(answerText(answer));
  } catch {
    return undefined;
  }
}
