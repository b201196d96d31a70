import { spawn, type ChildProcess } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ToolListChangedNotificationSchema } from '@modelcontextprotocol/sdk/types.js';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ROOT } from '../release/lock.ts';
import { freePort } from '../support/cli.ts';
import { connectClient, shop } from '../support/mcp.ts';
import { startService, type Service } from '../support/service.ts';
import { until } from '../support/until.ts';
import { outputOf } from './run.ts';

/* A Gatehouse behind the real nginx and Caddy, with the files of docs/deploy. They serve plain HTTP here. */

const MIB = 1024 * 1024;
/** The certificate is the one thing that a proof without a domain cannot have. */
const ADDRESS = 'gatehouse.example.com';

interface Proxy {
  /** The configuration for these ports, and its name. */
  config(ports: { port: number; service: number; folder: string }): { name: string; text: string };
  command(file: string, folder: string): [string, ...string[]];
  /** Ends it with its processes. Caddy would wait for open streams. */
  end: NodeJS.Signals;
}

const read = (name: string) => readFileSync(join(ROOT, 'docs/deploy', name), 'utf8');

const PROXIES: Record<string, Proxy> = {
  nginx: {
    config({ port, service, folder }) {
      const server = read('nginx.conf')
        .replace('listen 443 ssl;', `listen 127.0.0.1:${port};`)
        .replaceAll(/^ *ssl_certificate.*\n/gm, '')
        .replace('127.0.0.1:3000', `127.0.0.1:${service}`)
        .replaceAll('/var/log/nginx', folder);
      const paths = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
        (name) => `${name}_temp_path ${folder}/${name};`,
      );
      const text = `daemon off; pid ${folder}/pid;\nevents {}\nhttp {\n${paths.join('\n')}\n${server}}\n`;
      return { name: 'nginx.conf', text };
    },
    command: (file, folder) => ['/usr/sbin/nginx', '-e', join(folder, 'start.log'), '-c', file],
    end: 'SIGTERM',
  },
  caddy: {
    config({ port, service, folder }) {
      const site = read('Caddyfile')
        .replace(`\n${ADDRESS} {`, `\nhttp://127.0.0.1:${port} {`)
        .replace('127.0.0.1:3000', `127.0.0.1:${service}`)
        .replaceAll('/var/log/caddy', folder);
      return { name: 'Caddyfile', text: `{\n\tadmin off\n}\n${site}` };
    },
    command: (file) => ['/usr/bin/caddy', 'run', '--config', file, '--adapter', 'caddyfile'],
    end: 'SIGKILL',
  },
};

describe.each(Object.keys(PROXIES))('behind %s', (name) => {
  const folder = mkdtempSync(join(tmpdir(), `gatehouse-${name}-`));
  let service: Service;
  let proxy: ChildProcess;
  let url: string;
  let port: number;

  beforeAll(async () => {
    const { config, command } = PROXIES[name] ?? { config: undefined, command: undefined };
    if (!config || !command) throw new Error(`no ${name}`);
    port = await freePort();
    url = `http://127.0.0.1:${port}`;
    service = await startService({
      env: { GATEHOUSE_PUBLIC_URL: url, GATEHOUSE_TRUST_PROXY: '127.0.0.1/32' },
    });
    const { name: file, text } = config({ port, service: service.app.port, folder });
    mkdirSync(join(folder, 'home'));
    writeFileSync(join(folder, file), text);
    const [program, ...args] = command(join(folder, file), folder);
    proxy = spawn(program, args, { env: { ...process.env, HOME: join(folder, 'home') } });
    const output = outputOf(proxy);
    const isUp = () =>
      fetch(`${url}/health`).then(
        ({ ok }) => ok,
        () => false,
      );
    await until(async () => proxy.exitCode !== null || (await isUp()), { state: output.err });
    if (proxy.exitCode !== null) throw new Error(output.err());
  });
  afterAll(async () => {
    proxy.kill(PROXIES[name]?.end);
    await until(() => proxy.exitCode !== null || proxy.signalCode !== null);
    await service.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  /** Sends a request from an address of this machine, so that the proxy has several clients. */
  async function from(address: string, path: string, headers: Record<string, string>): Promise<number> {
    const req = request({ host: '127.0.0.1', port, path, headers, localAddress: address, agent: false });
    return new Promise((answered, reject) => {
      req.on('response', (res) => answered(res.resume().statusCode ?? 0)).on('error', reject);
      req.end();
    });
  }

  test('an MCP client uses its access URL, and its stream brings notifications at once', async () => {
    const one = await shop(service, { toolMode: 'direct' });
    expect(one.accessUrl.startsWith(`${url}/mcp/`)).toBe(true);
    const client = await connectClient(one.accessUrl);
    const changed: unknown[] = [];
    client.setNotificationHandler(ToolListChangedNotificationSchema, (note) => void changed.push(note));
    const called = await client.callTool({ name: 'sandbox_list_customers', arguments: { limit: 1 } });
    expect(JSON.stringify(called)).toContain('cus_1001');
    // A restriction is changed again until the stream is open.
    await until(async () => {
      const allowedActions = [`sandbox.list_${changed.length % 2 ? 'orders' : '*'}`];
      const restrictions = { actions: { mode: 'allowlist', allowedActions } };
      await service.call('PUT', `/api/servers/${one.serverId}`, {
        body: { name: `changed ${Date.now()}`, restrictions },
        headers: { 'x-svc-userid': one.userId },
      });
      return changed.length > 0;
    });
    await client.close();
  });

  test('progress of a slow call comes while it runs', async () => {
    const one = await shop(service, { toolMode: 'direct' });
    const client = await connectClient(one.accessUrl);
    const seen: number[] = [];
    const started = performance.now();
    await client.callTool({ name: 'sandbox_slow', arguments: { milliseconds: 3000 } }, undefined, {
      onprogress: () => void seen.push(performance.now() - started),
    });
    expect(seen.length).toBeGreaterThan(0);
    expect(seen[0]).toBeLessThan(performance.now() - started - 500);
    await client.close();
  });

  test('a file of 20 MiB passes in both directions', async () => {
    const { userId } = await shop(service);
    const headers = {
      authorization: `Bearer ${service.developmentKey}`,
      'x-api-version': '2025-09',
      'x-svc-userid': userId,
    };
    const bytes = Buffer.alloc(20 * MIB, 'gatehouse');
    const sent = await fetch(`${url}/files?name=large.bin`, {
      method: 'POST',
      headers: { ...headers, 'content-type': 'application/octet-stream' },
      body: bytes,
    });
    const { fileId } = JSON.parse(await sent.text());
    expect([sent.status, typeof fileId]).toEqual([201, 'string']);
    const read = await fetch(`${url}/files/${fileId}`, { headers });
    expect(Buffer.from(await read.arrayBuffer()).equals(bytes)).toBe(true);
  });

  test('a client is barred by its own address, whatever it claims to be', async () => {
    const wrong = { authorization: 'Bearer gh_dev_wrong', 'x-api-version': '2025-09' };
    let claims = 0;
    const refused = () =>
      from('127.0.0.2', '/users', { ...wrong, 'x-forwarded-for': `203.0.113.${claims++ % 250}` });
    await until(async () => (await refused()) === 429);
    expect(await from('127.0.0.3', '/users', wrong)).toBe(401);
  });

  test('the log has no access token', async () => {
    const one = await shop(service, { toolMode: 'direct' });
    await fetch(one.accessUrl, {
      method: 'POST',
      body: '{}',
      headers: { 'content-type': 'application/json' },
    });
    const log = () => readFileSync(join(folder, 'gatehouse.log'), 'utf8');
    await until(() => log().includes(one.serverId));
    expect(log()).not.toContain(one.accessToken);
    expect(log()).toContain(`/mcp/${one.serverId}/***`);
  });
});
