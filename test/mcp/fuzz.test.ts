import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { parseJson, type Json } from '../../src/lib/json.ts';
import { rpc, shop, type RpcAnswer } from '../support/mcp.ts';
import { modernHeaders, modernParams, VERSION } from '../support/modern.ts';
import { startService, type Service } from '../support/service.ts';
import { IS_FULL } from '../support/full.ts';

/*
 * Random requests of every version get a JSON-RPC answer with a code of the contract, and cause no internal error.
 */
const META = 'io.modelcontextprotocol/';
const KNOWN_STATUSES = [200, 202, 400, 403, 404, 406, 413, 429];
const METHODS = [
  'initialize',
  'ping',
  'server/discover',
  'subscriptions/listen',
  'tools/list',
  'tools/call',
  'resources/list',
  'resources/templates/list',
  'resources/read',
  'resources/subscribe',
  'resources/unsubscribe',
  'prompts/list',
  'prompts/get',
  'completion/complete',
  'logging/setLevel',
  'notifications/cancelled',
  'tasks/get',
];
let service: Service;
let url: string;
beforeAll(async () => {
  service = await startService({ env: { GATEHOUSE_TEST_CONNECTORS: '1', LOG_LEVEL: 'error' } });
  const one = await shop(service, {
    toolMode: 'direct',
    restrictions: { connectors: { allowedIds: ['sandbox', 'everything'] } },
  });
  url = one.accessUrl;
});
afterAll(() => service.stop());

const member = fc.constantFrom(
  'name',
  'uri',
  'cursor',
  'arguments',
  'ref',
  'argument',
  'context',
  'level',
  'protocolVersion',
  'capabilities',
  'requestState',
  'inputResponses',
  'task',
  '_meta',
  '__proto__',
  'constructor',
);
const value: fc.Arbitrary<Json> = fc.oneof(
  fc.json({ maxDepth: 3 }).map(parseJson),
  fc.constantFrom(
    'list_connectors_svc',
    'execute_action_svc',
    'sandbox_list_customers',
    'test_elicitation',
    'test_input_required_result_prompt',
    'svc://connectors',
    'test://static-text',
    'test://template/%2e%2e/data',
    '2025-11-25',
    VERSION,
  ),
  fc.constant<Json>({ type: 'ref/prompt', name: 'use_connector' }),
  fc.constant<Json>({ name: 'connectorId', value: '' }),
);
const params = fc
  .array(fc.tuple(member, value), { maxLength: 5 })
  .map((pairs) => JSON.stringify(pairsToText(pairs)));
const method = fc.oneof(fc.constantFrom(...METHODS), fc.string({ maxLength: 20 }));

describe('random requests', () => {
  test('random requests without initialize get sound answers', async () => {
    await fc.assert(
      fc.asyncProperty(method, params, async (name, given) => {
        sound(await rpc(url, '', undefined, { raw: requestText(name, given) }));
      }),
      { numRuns: IS_FULL ? 250 : 40 },
    );
    expect(service.logged).toEqual([]);
  });

  test('random requests in a session get sound answers', async () => {
    const opened = await rpc(url, 'initialize', {
      protocolVersion: '2025-11-25',
      capabilities: { sampling: {} },
      clientInfo: { name: 't', version: '1' },
    });
    const headers = { 'mcp-session-id': opened.headers.get('mcp-session-id') ?? '' };
    await fc.assert(
      fc.asyncProperty(method, params, async (name, given) => {
        const answer = await rpc(url, '', undefined, {
          raw: requestText(name, given),
          headers,
          signal: soon(),
        }).catch(() => undefined);
        if (answer) sound(answer);
      }),
      { numRuns: IS_FULL ? 250 : 40 },
    );
    expect(service.logged).toEqual([]);
  });

  test('random requests of MCP 2026-07-28 with random _meta get sound answers', async () => {
    const meta = fc.array(
      fc.tuple(
        fc.constantFrom('protocolVersion', 'clientCapabilities', 'clientInfo', 'logLevel', 'other'),
        fc.oneof(value, fc.constant<Json>({ elicitation: {}, sampling: {} })),
      ),
      { maxLength: 2 },
    );
    await fc.assert(
      fc.asyncProperty(method, params, meta, fc.boolean(), async (name, given, own, withHeaders) => {
        if (name === 'subscriptions/listen') return;
        const base = modernParams(JSON.parse(given), {
          capabilities: { elicitation: { form: {}, url: {} } },
          meta: Object.fromEntries(own.map(([key, one]) => [META + key, one])),
        });
        const headers = withHeaders ? modernHeaders(name, base) : {};
        const sendable = Object.values(headers).every(
          (text) => /^[\x20-\x7e]+$/.test(text) && text === text.trim(),
        );
        const answer = await rpc(url, '', undefined, {
          raw: requestText(name, JSON.stringify(base)),
          headers: sendable ? headers : {},
        });
        sound(answer);
        const kind = answer.at('result') === undefined ? 'complete' : answer.at('result.resultType');
        expect(['complete', 'input_required']).toContain(kind);
      }),
      { numRuns: IS_FULL ? 400 : 60 },
    );
    expect(service.logged).toEqual([]);
  });

  test('random bodies that are not requests get sound refusals', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.oneof(fc.json({ maxDepth: 3 }), fc.string(), fc.string({ unit: 'binary' })),
        async (raw) => {
          const answer = await rpc(url, '', undefined, { raw });
          sound(answer);
          expect(answer.status).not.toBe(200);
        },
      ),
      { numRuns: IS_FULL ? 200 : 30 },
    );
    expect(service.logged).toEqual([]);
  });
});

/**
 * Expects JSON-RPC with a code and a status of the contract, and no internal error. The tests check that the log is
 * empty.
 */
function sound(answer: RpcAnswer): void {
  expect(KNOWN_STATUSES).toContain(answer.status);
  const type = answer.headers.get('content-type');
  expect(answer.status === 202 || type === 'application/json' || type === 'text/event-stream').toBe(true);
  expect(answer.at('error.data.code')).not.toBe('internal');
  expect(answer.at('result.structuredContent.error.code')).not.toBe('internal');
}

function requestText(name: string, given: string): string {
  const id = name.startsWith('notifications/') ? '' : '"id":1,';
  return `{"jsonrpc":"2.0",${id}"method":${JSON.stringify(name)},"params":${given}}`;
}

/** Returns an object with an own member `__proto__`. */
function pairsToText(pairs: [string, unknown][]): object {
  const made: object = Object.create(null);
  for (const [key, one] of pairs)
    Object.defineProperty(made, key, { value: one, enumerable: true, configurable: true, writable: true });
  return made;
}

/** A call in a session may ask its client, which does not answer here. */
function soon(): AbortSignal {
  return AbortSignal.timeout(1500);
}
