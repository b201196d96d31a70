import { isDeepStrictEqual } from 'node:util';
import { credentialOf } from './example-replay.ts';
import type { Connector } from '../connectors/catalog.ts';
import type { Webhooks } from '../connectors/format/events-format.ts';
import type { HookExample } from '../connectors/format/examples-format.ts';
import type { Fault } from '../lib/errors.ts';
import { createPause } from '../upstream/large-answers.ts';
import { eventScopesOf } from '../connectors/source-model.ts';
import { eventsIn, interpretEvent } from '../sources/webhooks/hook-events.ts';
import { readHookBody, type HookRequest } from '../sources/webhooks/hook-request.ts';
import { publicKeysIn } from '../sources/webhooks/public-key.ts';
import { createVerifier } from '../sources/webhooks/verify.ts';

type Expected = HookExample['expect']['events'][number];

/**
 * Replays a recorded webhook: checks its signature and interprets its events for the unified models. Returns
 * the differences from what the example expects. The events of a webhook with a wrong signature are not
 * interpreted.
 */
export async function replayHook(connector: Connector, example: HookExample): Promise<Fault[]> {
  const { webhooks } = connector.definition;
  if (!webhooks) return [{ field: 'webhooks', rule: 'the connector has none' }];
  const value = valuesOf(connector, example);
  if (Array.isArray(value)) return value;
  const { expect } = example;
  const request = await toRequest(example);
  const keys = publicKeysIn(example.keys);
  const isGenuine = createVerifier(webhooks.verify, { value, fetchKeys: async () => keys });
  const genuine = await isGenuine(request, Date.parse(example.at));
  if (genuine !== expect.genuine)
    return [{ field: 'expect.genuine', rule: `should be ${expect.genuine}, is ${genuine}` }];
  if (!genuine) return [];
  const [first, ...others] = eventsIn(webhooks, request, example.account);
  const faults: Fault[] = [];
  if (expect.topic !== undefined && first?.topic !== expect.topic)
    faults.push({
      field: 'expect.topic',
      rule: `should be ${expect.topic}, is ${first?.topic ?? 'nothing'}`,
    });
  const events: Expected[] = [];
  for (const one of first ? [first, ...others] : [])
    events.push(...(await eventsOf(connector, webhooks, { example, event: one })));
  if (!isDeepStrictEqual(events, expect.events)) {
    const rule = `should be ${JSON.stringify(expect.events)}, is ${JSON.stringify(events)}`;
    faults.push({ field: 'expect.events', rule });
  }
  return faults;
}

async function eventsOf(
  connector: Connector,
  webhooks: Webhooks,
  {
    example: { scope },
    event,
  }: { example: HookExample; event: { topic: string; body: Parameters<typeof interpretEvent>[2]['body'] } },
): Promise<Expected[]> {
  const events: Expected[] = [];
  for (const one of scope === undefined ? eventScopesOf(connector) : [scope]) {
    const interpretation = await interpretEvent(connector, webhooks, { ...event, scope: one });
    if (interpretation.kind === 'nothing') continue;
    if (interpretation.kind === 'changed') events.push({ event: 'changed' });
    else if (interpretation.kind === 'deleted')
      events.push({ event: 'deleted', remoteId: interpretation.remoteId });
    else events.push({ event: interpretation.event, remoteId: interpretation.remoteId });
  }
  return events;
}

async function toRequest({ request }: HookExample): Promise<HookRequest> {
  const headers = new Map(
    Object.entries(request.headers).map(([name, value]) => [name.toLowerCase(), value]),
  );
  const raw = Buffer.from(request.body, 'utf8');
  const arrived = {
    method: request.method,
    url: request.url,
    query: new URL(request.url).searchParams,
    header: (name: string) => headers.get(name.toLowerCase()),
    raw,
  };
  return { ...arrived, body: await readHookBody(arrived, createPause()).catch(() => null) };
}

function valuesOf(
  connector: Connector,
  example: HookExample,
): ((name: string) => string | undefined) | Fault[] {
  const open = credentialOf(connector, example);
  if (Array.isArray(open)) return open;
  const { secret, clientSecret } = example;
  return (name) =>
    name === 'secret'
      ? secret
      : (open?.values[name]?.open() ?? (name === 'clientSecret' ? clientSecret : undefined));
}
