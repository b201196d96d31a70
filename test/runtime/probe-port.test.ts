import { spawnSync } from 'node:child_process';
import { afterEach, expect, test } from 'vitest';
import { openProbePort, type ProbePort } from '../../src/runtime/probe-port.ts';
import { startService, type Service } from '../support/service.ts';

/* The port of probes. A question by spawnSync() blocks the event loop of the service until its answer. */

let service: Service | undefined;
let probes: ProbePort | undefined;
afterEach(async () => {
  await service?.stop();
  await probes?.close();
  service = undefined;
  probes = undefined;
});

const ask = async (port: number | undefined, path: string, method = 'GET') => {
  const response = await fetch(`http://127.0.0.1:${port}${path}`, { method });
  return { status: response.status, body: method === 'HEAD' ? undefined : await response.json() };
};
/** Asks while the event loop of this process is blocked. */
const askBlocked = (port: number | undefined, path: string) => {
  const code = `fetch('http://127.0.0.1:${port}${path}').then(async (r) => console.log(JSON.stringify({ status: r.status, body: await r.json() })))`;
  const { stdout } = spawnSync(process.execPath, ['-e', code], { encoding: 'utf8' });
  return JSON.parse(stdout);
};

test('/health and /ready are on the port of probes, and nothing else', async () => {
  service = await startService({ env: { GATEHOUSE_PROBE_PORT: '0' } });
  const { probePort } = service.app;
  expect(await ask(probePort, '/health')).toMatchObject({ status: 200, body: { status: 'healthy' } });
  expect((await ask(probePort, '/health?from=kubelet', 'HEAD')).status).toBe(200);
  expect(await ask(probePort, '/ready')).toEqual({ status: 200, body: { status: 'ready', missing: [] } });
  for (const path of ['/', '/metrics', '/users', '/mcp/srv_1'])
    expect((await ask(probePort, path)).status).toBe(404);
  expect((await ask(probePort, '/health', 'POST')).status).toBe(405);
  // The first port still has both.
  expect((await service.call('GET', '/ready', { bearer: null })).status).toBe(200);
});

test('/health is answered while the event loop is blocked, and /ready says that it is', async () => {
  service = await startService({ env: { GATEHOUSE_PROBE_PORT: '0' } });
  const { probePort } = service.app;
  expect(askBlocked(probePort, '/health')).toMatchObject({ status: 200, body: { status: 'healthy' } });
  expect(askBlocked(probePort, '/ready')).toEqual({
    status: 503,
    body: { status: 'not_ready', missing: ['the event loop is blocked'] },
  });
});

test('/health is 503 when the event loop hangs', async () => {
  probes = await openProbePort({ host: '127.0.0.1', port: 0, hungMs: 0 }, async () => []);
  expect(askBlocked(probes.port, '/health')).toMatchObject({ status: 503, body: { status: 'hung' } });
});

test('/ready says what is missing', async () => {
  service = await startService({ env: { GATEHOUSE_PROBE_PORT: '0' } });
  service.context.stopping = true;
  expect(await ask(service.app.probePort, '/ready')).toEqual({
    status: 503,
    body: { status: 'not_ready', missing: ['the process is stopping'] },
  });
});

test('a port that is in use ends the start, and is named by its variable', async () => {
  service = await startService();
  const start = startService({ env: { GATEHOUSE_PROBE_PORT: String(service.app.port) } });
  await expect(start).rejects.toThrow(/^GATEHOUSE_PROBE_PORT cannot be used: .*EADDRINUSE/);
});
