import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { connect } from 'node:net';
import { resolve } from 'node:path';
import { expect, test } from 'vitest';
import { newApiKey } from '../../src/crypto/tokens.ts';
import { BIN, cliEnv, startCli, tempHome } from '../support/cli.ts';
import { until } from '../support/until.ts';

const NODE_OPTIONS = `--import=${resolve(import.meta.dirname, '../support/lose-disk.ts')}`;
const REASON = 'The disk did not keep what was written';
const isLinux = process.platform === 'linux';

test.runIf(isLinux)(
  'a service whose disk fails reports it and ends, for a supervisor to restart it',
  async () => {
    using home = tempHome();
    const key = newApiKey('development');
    const preset = { GATEHOUSE_DEVELOPMENT_KEY: key, GATEHOUSE_PRODUCTION_KEY: newApiKey('production') };
    const env = cliEnv(home.path, preset);
    await using gatehouse = await startCli({ ...env, NODE_OPTIONS });
    const closed = once(gatehouse.child, 'close');
    const makeUser = (username: string) =>
      fetch(`${gatehouse.url}/users`, {
        method: 'POST',
        headers: {
          authorization: `Bearer ${key}`,
          'content-type': 'application/json',
          'x-api-version': '2025-09',
        },
        body: JSON.stringify({ username }),
      }).then(
        ({ status }) => status,
        () => 'cut',
      );
    expect(await makeUser('ada')).toBe(201);
    const running = unfinished(gatehouse.url, key);
    gatehouse.child.kill('SIGUSR2');
    await expect.poll(() => makeUser(randomUUID())).not.toBe(201);
    expect(await closed).toEqual([1, null]);
    // A stop would wait for running requests.
    expect(gatehouse.out()).not.toContain('"stopping"');
    expect(await running).toBe('cut');
    const fatal = gatehouse
      .out()
      .split('\n')
      .find((line) => line.includes('"level":60'));
    expect(fatal).toContain(REASON);

    const again = await startCli(env);
    expect((await again.stop()).code).toBe(0);
  },
);

test.runIf(isLinux)('a server over stdio whose disk fails ends, while its client still listens', async () => {
  using home = tempHome();
  await (await startCli(cliEnv(home.path))).stop();
  const env = cliEnv(home.path, { NODE_OPTIONS });
  const child = spawn(process.execPath, [BIN, 'stdio', '--server', 'Sandbox'], { env, timeout: 30_000 });
  const closed = once(child, 'close');
  let err = '';
  child.stderr.on('data', (chunk) => (err += String(chunk)));
  const call = (id: number) => {
    const params = { name: 'sandbox_get_product', arguments: { productId: 'prd_101' } };
    child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', id, method: 'tools/call', params })}\n`);
  };
  call(1);
  await once(child.stdout, 'data');
  child.kill('SIGUSR2');
  await until(() => err.includes('lost'));
  call(2);
  expect(await closed).toEqual([1, null]);
  expect(err).toContain('"level":60');
  expect(err).toContain(`gatehouse: ${REASON}`);
});

/** Sends a request without its end. @returns 'cut' when the connection ends. */
function unfinished(url: string, key: string): Promise<string> {
  const socket = connect(Number(new URL(url).port), '127.0.0.1');
  const head = `POST /users HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer ${key}\r\nX-API-Version: 2025-09`;
  socket.write(`${head}\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{`);
  socket.resume();
  return new Promise((ended) => socket.on('error', () => {}).once('close', () => ended('cut')));
}
