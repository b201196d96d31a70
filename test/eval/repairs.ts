import type { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { CallToolResultSchema, McpError } from '@modelcontextprotocol/sdk/types.js';
import { asJson, valueAt, type Json } from '../../src/lib/json.ts';
import { connectClient, shop } from '../support/mcp.ts';
import { corrected, isRefused, type ModelCall, type ToolAnswer } from '../support/model-repair.ts';
import type { Service } from '../support/service.ts';
import { AT_DIRECT, AT_DISCOVERY, AT_SEVERAL, type Ends, type InvalidCall } from './invalid-calls.ts';
import { within, type Extent, type Row } from './rows.ts';

/** How an invalid call ended. */
export interface Outcome {
  kind: string;
  expected: Ends;
  end: Ends | 'unsaid' | 'refused twice';
  /** The text of the refusals. */
  said: string;
}

/** Makes each invalid call and, where it is refused, the call that corrects it, by tools/call of the official client. */
export async function endInvalidCalls(service: Service, extent: Extent): Promise<Outcome[]> {
  const restrictions = { connectors: { allowedIds: ['sandbox'] } };
  const direct = await shop(service, { restrictions, toolMode: 'direct' });
  const discovery = await shop(service, { restrictions, toolMode: 'discovery' });
  const several = await shop(service, { restrictions, toolMode: 'direct' });
  await addSecondAccount(service, several);
  const outcomes: Outcome[] = [];
  for (const [{ accessUrl }, calls] of [
    [direct, AT_DIRECT],
    [discovery, AT_DISCOVERY],
    [several, AT_SEVERAL],
  ] as const) {
    const client = await connectClient(accessUrl);
    for (const call of within(extent, calls, ([, expected]) => [expected]))
      outcomes.push(await outcomeOf(client, call));
    await client.close();
  }
  return outcomes;
}

/** Returns how many kinds of invalid calls end in one turn. */
export async function repairRows(service: Service, extent: Extent): Promise<Row[]> {
  const outcomes = await endInvalidCalls(service, extent);
  const row = (name: string, some: readonly Outcome[]): Row => ({
    part: 'invalid calls',
    name,
    figures: 'kinds / in one turn',
    now: [some.length, some.filter(({ expected, end }) => end === expected).length],
  });
  const expected = (end: Ends) => outcomes.filter((one) => one.expected === end);
  return [
    row('forgiven, and said so', expected('forgiven')),
    row('refused, then repaired', expected('repaired')),
    row('all', outcomes),
  ];
}

/** Names the account of a user Home, and adds one named Work. */
async function addSecondAccount(
  service: Service,
  { userId, credentialId, apiKey }: { userId: string; credentialId: string; apiKey: string },
): Promise<void> {
  const accounts = `/users/${userId}/credentials`;
  const headers = { 'x-svc-userid': userId };
  await service.call('PUT', `${accounts}/${credentialId}`, { headers, body: { name: 'Home' } });
  const data = { apiKey: `${apiKey}_work` };
  await service.call('POST', accounts, { headers, body: { connectorId: 'sandbox', name: 'Work', data } });
}

async function outcomeOf(
  client: Client,
  [kind, expected, name, args, facts = {}]: InvalidCall,
): Promise<Outcome> {
  const first = await call(client, { name, args });
  if (!isRefused(first)) return { kind, expected, end: saysSo(first) ? 'forgiven' : 'unsaid', said: '' };
  const said = JSON.stringify(first.at('error') ?? first.at('result.structuredContent.error.message'));
  const again = corrected({ name, args }, first, facts);
  const second = await call(client, again);
  if (!isRefused(second)) return { kind, expected, end: 'repaired', said };
  const refusal = JSON.stringify(second.at('error') ?? second.at('result.content.0.text')).slice(0, 300);
  return {
    kind,
    expected,
    end: 'refused twice',
    said: `${said} then ${JSON.stringify(again)}: ${refusal}`,
  };
}

/** Calls a tool. A model may write arguments that are no object, so this passes them on as they are. */
async function call(client: Client, { name, args }: ModelCall): Promise<ToolAnswer> {
  const body: Json = await client
    .request({ method: 'tools/call', params: { name, arguments: args } }, CallToolResultSchema)
    .then((result) => ({ result: asJson(result) }))
    .catch((err: unknown) => {
      if (!(err instanceof McpError)) throw err;
      return { error: asJson({ code: err.code, message: err.message, data: err.data }) };
    });
  return { at: (path) => valueAt(body, path) };
}

/** Returns whether an answer says what was corrected, for programs and for models. */
function saysSo(answer: ToolAnswer): boolean {
  const content = [answer.at('result.content') ?? null].flat();
  const inText = content.some((one) => String(valueAt(one, 'text')).startsWith('Arguments were corrected'));
  return inText && answer.at('result._meta.gatehouse/corrections.0.path') !== undefined;
}
