import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { estimateTokens } from '../../src/lib/token-estimate.ts';
import { rpc, shop } from '../support/mcp.ts';
import { startService, type Service } from '../support/service.ts';

let service: Service;
let one: Awaited<ReturnType<typeof shop>>;
beforeAll(async () => {
  service = await startService();
  one = await shop(service, { restrictions: { connectors: { allowedIds: ['sandbox'] } } });
});
afterAll(() => service.stop());

const tools = (query = '', serverId = one.serverId) =>
  service.call('GET', `/api/servers/${serverId}/tools${query}`);
const named = z.array(z.looseObject({ name: z.string() }));

test('the tool list of a server has the tools that clients see, in pages', async () => {
  const listed = named.parse((await rpc(one.accessUrl, 'tools/list')).at('result.tools'));
  const first = await tools('?limit=10');
  expect(first.body).toMatchObject({
    serverId: one.serverId,
    mode: 'direct',
    actions: 15,
    pagination: { hasMore: true, nextOffset: 10 },
  });
  const second = await tools('?limit=50&offset=10');
  const both = [...named.parse(first.at('data')), ...named.parse(second.at('data'))];
  expect(both.map(({ name }) => name)).toEqual(listed.map(({ name }) => name));
  expect(both[0]).toMatchObject({ inputSchema: { type: 'object' }, annotations: { readOnlyHint: true } });
  expect(both[0]).not.toHaveProperty('tokens');
});

test('format=tokens returns the token cost of each tool and of each mode', async () => {
  const cost = z.object({ tools: z.int(), bytes: z.int(), tokens: z.int() });
  const report = z
    .object({
      tokens: z.int(),
      instructionTokens: z.int(),
      modes: z.object({ direct: cost, discovery: cost }),
      data: z.array(z.strictObject({ name: z.string(), bytes: z.int(), tokens: z.int() })),
    })
    .parse((await tools('?format=tokens')).body);
  const sum = report.data.reduce((total, { tokens }) => total + tokens, 0);
  expect(report.tokens).toBe(sum);
  expect(report.modes.direct.tokens).toBe(sum);
  expect(report.modes.direct.tools).toBe(report.data.length);
  expect(report.modes.discovery.tokens).toBeLessThan(sum);
  expect(report.data.map(({ tokens }) => tokens)).toEqual(
    report.data.map(({ tokens }) => tokens).sort((a, b) => b - a),
  );
  const listed = z
    .array(z.looseObject({ name: z.string(), description: z.string(), inputSchema: z.unknown() }))
    .parse((await rpc(one.accessUrl, 'tools/list')).at('result.tools'));
  for (const tool of listed) {
    const { name, description, inputSchema } = tool;
    expect(report.data.find((weighed) => weighed.name === name)).toEqual({
      name,
      bytes: Buffer.byteLength(JSON.stringify(tool)),
      tokens: estimateTokens(JSON.stringify({ name, description, inputSchema })),
    });
  }
});

test('the tool list follows the mode and the restrictions of the server', async () => {
  const wide = await shop(service);
  expect((await tools('?format=tokens', wide.serverId)).body).toMatchObject({ mode: 'discovery' });
  await service.call('PUT', `/api/servers/${wide.serverId}`, {
    body: { toolMode: 'direct', restrictions: { actions: { allowedActions: ['sandbox.get_*'] } } },
  });
  expect((await tools('', wide.serverId)).body).toMatchObject({ mode: 'direct', actions: 3 });
});

test('the tool list rejects other formats and unknown servers', async () => {
  expect((await tools('?format=openai')).at('details.faults.0')).toEqual({
    field: 'format',
    rule: 'must be definitions or tokens',
  });
  expect((await tools('', 'srv_0')).status).toBe(404);
});

describe('the CPU time of a listing', () => {
  const ENTRIES = 1000;
  const LETTERS = 'etaoinsrlc';
  const letter = (number: number, place: number) =>
    LETTERS[Math.floor(number / LETTERS.length ** place) % LETTERS.length];
  /**
   * Three letters that most names contain in many orders, with an end that no name has, so no entry can be ruled
   * out early.
   */
  const hostile = (round: number) =>
    Array.from(
      { length: ENTRIES },
      (_, number) => `*${letter(number, 0)}*${letter(number, 1)}*${letter(number, 2)}${round}*`,
    );
  /** No two entries share a part of the connector’s name, and each entry matches every connector. */
  const spread = (round: number) =>
    Array.from({ length: ENTRIES }, (_, number) => `*.*${letter(number, 0)}*${round}${number}*`);

  let listings = 0;
  /** Returns the least CPU time of five listings of the whole catalogue, each of a new server. */
  async function leastCpu(restrictions: (round: number) => object, again = false): Promise<number> {
    const wide = await shop(service, { toolMode: 'direct' });
    const costs: number[] = [];
    for (const round of [1, 2, 3, 4, 5]) {
      await service.call('PUT', `/api/servers/${wide.serverId}`, {
        body: { restrictions: restrictions(round), customInstructions: `Listing ${++listings}.` },
      });
      if (again) await tools('?limit=1', wide.serverId);
      const before = process.cpuUsage();
      expect((await tools('?limit=1', wide.serverId)).at('actions')).toBeGreaterThan(400);
      const { user, system } = process.cpuUsage(before);
      costs.push(user + system);
    }
    return Math.min(...costs);
  }
  const blocked = (entries: string[]) => ({ actions: { blockedActions: entries } });

  test.each([
    ['stars around common letters', hostile],
    ['a connector part in each entry', spread],
  ])('the CPU time of a listing under 1,000 entries with %s is at most doubled', async (_, entries) => {
    const unrestricted = await leastCpu(() => ({}));
    expect(await leastCpu((round) => blocked(entries(round)))).toBeLessThan(2 * unrestricted);
  });

  test('the CPU time of a listing is at most halved when a list is read again', async () => {
    const first = await leastCpu((round) => blocked(hostile(round)));
    expect(await leastCpu((round) => blocked(hostile(round + 5)), true)).toBeLessThan(first / 2);
  });
});
