import { readFileSync } from 'node:fs';
import { request, type IncomingHttpHeaders } from 'node:http';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { parseJson, valueAt } from '../../src/lib/json.ts';
import { startService, type Service } from '../support/service.ts';

/* Behind a reverse proxy that sets the headers of docs/deploy/nginx.conf. */

const PUBLIC_URL = 'https://gatehouse.example.com:8443';
/** Returns the nginx variables of a request to PUBLIC_URL. */
const VARIABLES: Record<string, string> = {
  $http_host: 'gatehouse.example.com:8443',
  $host: 'gatehouse.example.com',
  $scheme: 'https',
  $proxy_add_x_forwarded_for: '203.0.113.7',
};

let service: Service;
beforeAll(async () => {
  service = await startService({
    env: { GATEHOUSE_PUBLIC_URL: PUBLIC_URL, GATEHOUSE_TRUST_PROXY: '127.0.0.1/32' },
  });
});
afterAll(() => service.stop());

/** Returns the headers that the example sets. */
function proxyHeaders(): Record<string, string> {
  const example = readFileSync(join(import.meta.dirname, '../../docs/deploy/nginx.conf'), 'utf8');
  const lines = [...example.matchAll(/proxy_set_header (\S+) (\$\w+);/g)];
  return Object.fromEntries(lines.map(([, name = '', variable = '']) => [name, VARIABLES[variable] ?? '']));
}

/** Sends a request with its own Host header, which fetch() cannot send. */
async function proxied(
  method: string,
  path: string,
  { headers = {}, body }: { headers?: Record<string, string>; body?: object } = {},
): Promise<{ status: number; headers: IncomingHttpHeaders; body: string }> {
  const req = request(service.url + path, {
    method,
    headers: {
      authorization: `Bearer ${service.developmentKey}`,
      'content-type': 'application/json',
      ...proxyHeaders(),
      ...headers,
    },
  });
  const answered = new Promise<
    Parameters<typeof text>[0] & { statusCode?: number; headers: IncomingHttpHeaders }
  >((resolve, reject) => req.on('response', resolve).on('error', reject));
  req.end(body === undefined ? undefined : JSON.stringify(body));
  const answer = await answered;
  return { status: answer.statusCode ?? 0, headers: answer.headers, body: await text(answer) };
}

test('access URLs behind the proxy keep its scheme and port', async () => {
  const made = await proxied('POST', '/api/servers', { body: { name: 'proxied' } });
  const server = parseJson(made.body);
  expect(String(valueAt(server, 'accessUrl'))).toMatch(`${PUBLIC_URL}/mcp/srv_`);
  const path = new URL(String(valueAt(server, 'accessUrl'))).pathname;
  const ping = await proxied('POST', path, { body: { jsonrpc: '2.0', id: 1, method: 'ping' } });
  expect([ping.status, parseJson(ping.body)]).toEqual([200, { jsonrpc: '2.0', id: 1, result: {} }]);
});

test('the API document behind the proxy names the public address', async () => {
  const { body } = await proxied('GET', '/openapi.json');
  expect(valueAt(parseJson(body), 'servers.0.url')).toBe(PUBLIC_URL);
});

test('MCP rejects a Host without the port, so the example passes $http_host', async () => {
  const made = await proxied('POST', '/api/servers', { body: { name: 'without port' } });
  const path = new URL(String(valueAt(parseJson(made.body), 'accessUrl'))).pathname;
  const ping = { jsonrpc: '2.0', id: 1, method: 'ping' };
  const refused = await proxied('POST', path, { headers: { Host: VARIABLES['$host'] ?? '' }, body: ping });
  expect(refused.status).toBe(403);
});
