import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Route } from '../../src/http/server/route.ts';
import { CONSOLE_ROUTES } from '../../src/http/routes/console/console-routes.ts';
import { ROUTES } from '../../src/http/routes/routes.ts';
import { isJsonObject, valueAt, type Json, type JsonObject } from '../../src/lib/json.ts';
import { rpc, shop, type RpcAnswer } from '../support/mcp.ts';
import { modern } from '../support/modern.ts';
import { startService, type Service } from '../support/service.ts';

/*
 * The largest bodies that mean nothing, at every door: each is refused, and the refusal is short. It lists at most 50
 * faults, because to look for a fault costs more than to parse a value.
 */

const MAX_FAULTS = 50;
const MAX_REFUSAL = 40_000;
/** Longest answer of a tool: it repeats the schema of the tool. */
const MAX_TOOL_REFUSAL = 80_000;

const objects = (count: number) => Array.from({ length: count }, () => ({}));
const members = (count: number) =>
  Object.fromEntries(Array.from({ length: count }, (_, at) => [`unknwon_${at}`, at]));

/** Texts of JSON below 1 MiB. */
const NONSENSE: [name: string, text: string][] = [
  ['50,000 members', JSON.stringify(members(50_000))],
  ['the most members that are parsed', JSON.stringify(members(1000))],
  ['a list of 400,000 numbers', JSON.stringify({ items: Array(400_000).fill(0) })],
  ['15,000 empty objects', JSON.stringify({ calls: objects(15_000), data: objects(50_000) })],
  ['300,000 brackets', `${'['.repeat(300_000)}${']'.repeat(300_000)}`],
  ['one long name', JSON.stringify({ ['n'.repeat(1_000_000)]: 1 })],
];

let service: Service;
let one: Awaited<ReturnType<typeof shop>>;
let jwt: string;

beforeAll(async () => {
  service = await startService({ env: { GATEHOUSE_TEST_CONNECTORS: '1' } });
  one = await shop(service, {
    toolMode: 'direct',
    restrictions: { connectors: { allowedIds: ['sandbox'] } },
  });
  jwt = (await service.call('GET', `/2023-12/user/${one.userId}/token`)).text('token');
});
afterAll(() => service.stop());

function assertShort(body: Json, most: number): void {
  const { length } = JSON.stringify(body);
  expect(length).toBeLessThan(most);
  for (const path of ['details.faults', 'details.corrections']) {
    const list = valueAt(body, path) ?? [];
    expect(Object(list).length).toBeLessThanOrEqual(MAX_FAULTS);
  }
}

const label = (route: Route): [string, Route] => [`${route.method} ${route.path}`, route];
const call = ({ method, path, spec }: Route, text: string | undefined, query = '') =>
  service.call(method, `${path.replaceAll('{version}', '1').replaceAll(/\{\w+\}/g, one.userId)}${query}`, {
    bearer: spec.auth === 'none' ? null : spec.auth.startsWith('jwt') ? jwt : service.developmentKey,
    headers: spec.user === undefined ? {} : { 'x-svc-userid': one.userId },
    ...(text === undefined ? {} : { rawBody: text }),
  });

describe('a body that means nothing', () => {
  const takesBody = [...ROUTES, ...CONSOLE_ROUTES].filter(
    // A file is any bytes.
    ({ method, spec }) => method !== 'GET' && spec.operationId !== 'uploadFile',
  );
  test.each(takesBody.map(label))(
    'a body that means nothing is refused by %s with a short answer',
    async (_, route) => {
      for (const [name, text] of NONSENSE) {
        const { status, body } = await call(route, text);
        expect({ name, refused: status >= 400 && status < 500 }).toEqual({ name, refused: true });
        assertShort(body, MAX_REFUSAL);
      }
    },
  );
});

describe('a query that means nothing', () => {
  const query = `?${Array.from({ length: 1500 }, (_, at) => `x${at}=1`).join('&')}`;
  const reads = ROUTES.filter(({ method }) => method === 'GET');
  test.each(reads.map(label))('a query that means nothing gets no long answer of %s', async (_, route) => {
    const { status, body } = await call(route, undefined, query);
    expect(status).toBeLessThan(500);
    assertShort(status === 400 ? body : null, MAX_REFUSAL);
  });
});

describe('arguments that mean nothing', () => {
  const values = (): [string, JsonObject][] => [
    ['many members', members(50_000)],
    ['the most members', members(1000)],
    ['a long list', { actions: Array(100_000).fill(0), calls: objects(100_000) }],
    ['wrong items', { limit: Array(100_000).fill('x'), parameters: { limit: Array(50_000).fill('x') } }],
    ['a list in a text', { calls: JSON.stringify(Array(100_000).fill(0)) }],
    ['a long name', { ['n'.repeat(900_000)]: 1 }],
  ];
  const FORMS: [string, (params: JsonObject) => Promise<RpcAnswer>][] = [
    ['bare', (params) => rpc(one.accessUrl, 'tools/call', params)],
    ['modern', (params) => modern(one.accessUrl, 'tools/call', params)],
    [
      'session',
      async (params) => {
        const opened = await rpc(one.accessUrl, 'initialize', {
          protocolVersion: '2025-11-25',
          capabilities: {},
          clientInfo: { name: 't', version: '1' },
        });
        const id = String(opened.headers.get('mcp-session-id'));
        return rpc(one.accessUrl, 'tools/call', params, { headers: { 'mcp-session-id': id } });
      },
    ],
  ];

  test.each(FORMS)(
    'arguments that mean nothing are refused by every tool in the form %s',
    async (_, send) => {
      const listed = (await rpc(one.accessUrl, 'tools/list')).at('result.tools');
      const tools = Array.isArray(listed) ? listed.filter(isJsonObject) : [];
      const builtIn = tools.filter(({ name }) => String(name).endsWith('_svc'));
      const direct = tools.filter(({ name }) => !String(name).endsWith('_svc')).slice(0, 3);
      expect(builtIn.length).toBeGreaterThan(3);
      for (const { name } of [...builtIn, ...direct]) {
        for (const [what, args] of values()) {
          const answer = await send({ name: String(name), arguments: args });
          const error = answer.at('error') ?? answer.at('result.structuredContent.error');
          expect({ name, what, refused: error !== undefined }).toEqual({ name, what, refused: true });
          assertShort(error ?? null, MAX_TOOL_REFUSAL);
        }
      }
    },
  );
});
