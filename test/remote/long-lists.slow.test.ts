import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { z } from 'zod';
import { startRemoteServer, type RemoteServer } from '../support/remote-server.ts';
import { startService, type Service } from '../support/service.ts';

/* Lists of tools at the limits: 2,000 tools and 100 pages. */

const PAGE = 100;

let service: Service;
let remote: RemoteServer;
/** Pages that the server was asked for. */
let asked: number;
beforeAll(async () => {
  remote = await startRemoteServer();
  service = await startService();
});
afterAll(async () => {
  await service.stop();
  await remote[Symbol.asyncDispose]();
});
beforeEach(() => void (asked = 0));

const message = z.object({
  id: z.number(),
  params: z.object({ cursor: z.string().optional() }).optional(),
});

/** The server lists this number of pages of tools. */
function listPages(pages: number, size = PAGE): void {
  remote.instead = (_req, res, body) => {
    if (!body.includes('"tools/list"')) return false;
    const { id, params } = message.parse(JSON.parse(body));
    const page = Number(params?.cursor ?? 0);
    asked++;
    const tools = Array.from({ length: size }, (_, index) => ({
      name: `tool_${page * size + index}`,
      description: 'Reads a number.',
      inputSchema: { type: 'object' },
      annotations: { readOnlyHint: true },
    }));
    const result = { tools, ...(page + 1 < pages ? { nextCursor: String(page + 1) } : {}) };
    res.writeHead(200, { 'content-type': 'application/json' });
    res.end(JSON.stringify({ jsonrpc: '2.0', id, result }));
    return true;
  };
}

const add = (connectorId: string) =>
  service.call('POST', '/api/connectors', {
    body: { mcp: { connectorId, url: remote.url, authentication: { type: 'none' } } },
  });

test('the first 2,000 tools become actions, and the report names the others', async () => {
  listPages(21);
  const made = await add('long');
  expect(made.status).toBe(201);
  expect(asked).toBe(21);
  const { report } = z
    .object({ report: z.object({ leftOut: z.array(z.object({ name: z.string(), reason: z.string() })) }) })
    .parse(made.body);
  expect(report.leftOut[0]).toEqual({ name: 'tool_2000', reason: 'is beyond the limit of 2000 tools' });
  const found = await service.call('GET', '/connectors/long/actions?limit=1&offset=1999');
  expect([found.status, found.at('pagination.hasMore')]).toEqual([200, false]);
});

test('a list without an end is refused after 100 pages, and nothing is stored', async () => {
  listPages(Number.POSITIVE_INFINITY, 1);
  const refused = await add('endless');
  expect([refused.status, refused.at('code')]).toEqual([502, 'upstream_failed']);
  expect(refused.text('error')).toContain('in more than 100 pages');
  expect(asked).toBe(100);
  expect((await service.call('GET', '/api/connectors/endless')).status).toBe(404);
});
