import { createServer, type IncomingHttpHeaders } from 'node:http';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { rpc } from '../support/mcp.ts';
import { modern } from '../support/modern.ts';
import { startService, type Service } from '../support/service.ts';

/*
 * The trace of a request (`_meta.traceparent` and what goes with it) goes on to the app that a call reaches.
 */
const seen: IncomingHttpHeaders[] = [];
const app = createServer((req, res) => {
  seen.push(req.headers);
  res.setHeader('content-type', 'application/json').end('{"ok":true}');
});
const folder = mkdtempSync(join(tmpdir(), 'gatehouse-traced-'));
let service: Service;
let accessUrl: string;
beforeAll(async () => {
  await new Promise<void>((resolve) => app.listen(0, '127.0.0.1', resolve));
  const address = app.address();
  const port = typeof address === 'object' && address ? address.port : 0;
  mkdirSync(join(folder, 'traced'));
  writeFileSync(
    join(folder, 'traced/connector.yaml'),
    `id: traced
name: Traced
description: Sees what it is sent.
categories: [tests]
website: https://example.com
sources: [{ title: This test, read: '2026-11-21' }]
baseUrl: http://127.0.0.1:${port}
authentication: [{ type: none }]
actions:
  look: { description: Looks., request: GET /look }
`,
  );
  service = await startService({ catalogFolder: folder, env: { GATEHOUSE_SANDBOX: '0' } });
  const created = await service.call('POST', '/api/servers', {
    body: { name: 'traced', toolMode: 'direct' },
  });
  accessUrl = created.text('accessUrl');
});
afterAll(async () => {
  await service.stop();
  app.close();
  rmSync(folder, { recursive: true });
});

const TRACEPARENT = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
const call = { name: 'traced_look', arguments: {} };

describe('a trace', () => {
  test('a trace is passed on from every form of request', async () => {
    const meta = { traceparent: TRACEPARENT, tracestate: 'vendor=1', baggage: 'team=blue' };
    seen.length = 0;
    await modern(accessUrl, 'tools/call', call, { meta });
    await rpc(accessUrl, 'tools/call', { ...call, _meta: meta });
    const opened = await rpc(accessUrl, 'initialize', { protocolVersion: '2025-11-25', capabilities: {} });
    const headers = { 'mcp-session-id': opened.headers.get('mcp-session-id') ?? '' };
    await rpc(accessUrl, 'tools/call', { ...call, _meta: meta }, { headers });
    expect(seen).toHaveLength(3);
    for (const one of seen) expect(one).toMatchObject(meta);
  });

  test.each([
    [{ traceparent: `${TRACEPARENT}\r\nx-evil: 1`, tracestate: 'vendor=1' }],
    [{ traceparent: '00-00000000000000000000000000000000-b7ad6b7169203331-01' }],
    [{ tracestate: 'vendor=1' }],
    [{ baggage: 'ä=1' }],
    [{ traceparent: 7 }],
  ])('a trace with %j is not passed on, and the call is made', async (meta) => {
    seen.length = 0;
    await modern(accessUrl, 'tools/call', call, { meta });
    expect(seen).toHaveLength(1);
    expect(Object.keys(seen[0] ?? {})).not.toEqual(
      expect.arrayContaining([expect.stringMatching(/^(traceparent|tracestate|baggage|x-evil)$/)]),
    );
  });
});
