import type { ServerResponse } from 'node:http';
import { expect, test } from 'vitest';
import { beginEvents, idOf, startPlainRemote } from '../../support/plain-remote.ts';
import { startService } from '../../support/service.ts';
import { until } from '../../support/until.ts';

/* Results of remote MCP servers take places as other large answers do: three of one account at the same time. */

const EACH = 3;
const LARGE = 'x'.repeat(4 * 1024 * 1024);

test('a large result waits, unread, for its place', async () => {
  await using remote = await startPlainRemote();
  const service = await startService({});
  try {
    const userId = (await service.call('POST', '/users', { body: { username: 'ada' } })).text('userId');
    remote.tools = [{ name: 'read', inputSchema: { type: 'object', properties: { size: {} } } }];
    await service.call('POST', '/api/connectors', {
      body: { mcp: { connectorId: 'large', url: remote.url, authentication: { type: 'none' } } },
    });
    const held: (() => void)[] = [];
    let large = 0;
    remote.habit = ({ method, id, params, res }) => {
      if (method !== 'tools/call') return false;
      const { size } = Object(params['arguments']);
      if (size === 'held') {
        beginEvents(res);
        // The comment is large, so the result holds a place until its end.
        res.write(`: ${'x'.repeat(512 * 1024)}\n\n`, () => held.push(() => end(res, id, 'held')));
      } else {
        large += size === 'large' ? 1 : 0;
        beginEvents(res);
        end(res, id, size === 'large' ? LARGE : 'small');
      }
      return true;
    };
    const ended: string[] = [];
    const read = async (size: string) => {
      const answer = await service.call('POST', '/connectors/large/actions/read/execute', {
        headers: { 'x-svc-userid': userId },
        body: { input: { size } },
      });
      expect(answer.status).toBe(200);
      ended.push(size);
    };
    const first = Array.from({ length: EACH }, () => read('held'));
    await until(() => held.length === EACH);
    const last = read('large');
    await until(() => large === 1);
    for (let call = 0; call < 20; call++) await read('small');
    expect(ended).not.toContain('large');
    held[0]?.();
    await last;
    for (const go of held.slice(1)) go();
    await Promise.all(first);
  } finally {
    await service.stop();
  }
});

function end(res: ServerResponse, id: unknown, text: string): void {
  const result = { content: [{ type: 'text', text }] };
  res.end(`data: ${JSON.stringify({ jsonrpc: '2.0', id: idOf(id), result })}\n\n`);
}
