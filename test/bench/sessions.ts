import { setTimeout as sleep } from 'node:timers/promises';
import { launch, lineWith, SERVER_CORE } from './processes.ts';
import { table } from './table.ts';

const SESSIONS = 1000;
const WARM_UP = 50;
/** Sessions opened and ended first, so that the memory of a first use does not count as a session's. */
const WARM_UP_REQUESTS = 2000;

/** Opens a session at an MCP address. @returns its id. */
export async function openSession(url: string): Promise<string> {
  const post = (message: object, headers: Record<string, string> = {}) =>
    fetch(url, {
      method: 'POST',
      headers: {
        accept: 'application/json, text/event-stream',
        'content-type': 'application/json',
        ...headers,
      },
      body: JSON.stringify({ jsonrpc: '2.0', ...message }),
    });
  const params = {
    protocolVersion: '2025-11-25',
    capabilities: {},
    clientInfo: { name: 'bench', version: '1' },
  };
  const answer = await post({ id: 1, method: 'initialize', params });
  await answer.text();
  const id = answer.headers.get('mcp-session-id');
  if (id === null) throw new Error(`no session at ${url}: ${answer.status}`);
  const known = await post({ method: 'notifications/initialized' }, { 'mcp-session-id': id });
  await known.text();
  return id;
}

async function endSession(url: string, id: string): Promise<void> {
  const answer = await fetch(url, { method: 'DELETE', headers: { 'mcp-session-id': id } });
  await answer.text();
}

/** Measures the memory of idle sessions: the heap and the resident set after a collection, with and without them. */
export async function benchSessions(): Promise<void> {
  const here = new URL('gatehouse.ts', import.meta.url).pathname;
  await using child = launch(SERVER_CORE, ['--expose-gc', here, 'http://127.0.0.1:9', '10']);
  const { urls }: { urls: Record<string, string> } = JSON.parse(await lineWith(child.process.stdout, 'urls'));
  const url = urls['10'] ?? '';
  const held = async (): Promise<{ heap: number; rss: number }> => {
    // Waits a moment, until the memory of the last requests is released.
    await sleep(2000);
    child.process.kill('SIGUSR2');
    const [, heap, rss] = /heap (\d+) rss (\d+)/.exec(await lineWith(child.process.stdout, 'heap')) ?? [];
    return { heap: Number(heap) / 1e6, rss: Number(rss) / 1e6 };
  };
  await Promise.all(Array.from({ length: WARM_UP }, () => openSession(url)));
  for (let n = 0; n < WARM_UP_REQUESTS; n++) await endSession(url, await openSession(url));
  const before = await held();
  for (let n = 0; n < SESSIONS - WARM_UP; n++) await openSession(url);
  const after = await held();
  table(
    `idle sessions, MB, from ${WARM_UP} to ${SESSIONS} sessions`,
    ['memory', 'before', 'after', 'for 1,000'],
    (['heap', 'rss'] as const).map((kind) => {
      const each = (after[kind] - before[kind]) / (SESSIONS - WARM_UP);
      return [kind, before[kind].toFixed(1), after[kind].toFixed(1), (each * 1000).toFixed(1)];
    }),
  );
}
