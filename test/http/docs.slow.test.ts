import { request } from 'node:http';
import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startService, type Service } from '../support/service.ts';

let service: Service;
beforeAll(async () => {
  service = await startService();
});
afterAll(() => service.stop());

/** Sends a GET and does not decode the answer. */
function get(path: string, headers: Record<string, string> = {}) {
  return new Promise<{ status: number | undefined; headers: Record<string, unknown>; body: Buffer }>(
    (resolve, reject) => {
      const req = request(`${service.url}${path}`, { headers }, (res) => {
        const chunks: Buffer[] = [];
        res.on('data', (chunk: Buffer) => chunks.push(chunk));
        res.on('end', () =>
          resolve({ status: res.statusCode, headers: res.headers, body: Buffer.concat(chunks) }),
        );
      });
      req.on('error', reject);
      req.end();
    },
  );
}

test('the bare address leads a browser to the documentation', async () => {
  const page = await fetch(service.url);
  expect([page.url, page.status]).toEqual([`${service.url}/docs`, 200]);
  expect(page.headers.get('content-type')).toBe('text/html; charset=utf-8');
  const policy = page.headers.get('content-security-policy') ?? '';
  expect(policy).toContain("default-src 'none'");
  expect(policy).not.toContain('unsafe');
  const text = await page.text();
  expect(text).toContain('<h1 id="gatehouse-documentation">');
  expect(text).not.toMatch(/__[A-Z_]+__|<script>|<style|style="/);
});

test('pages link the console where there is one', async () => {
  await using without = await startService({ env: { GATEHOUSE_CONSOLE: 'off' } });
  const linked = async (url: string) =>
    (await (await fetch(`${url}/docs`)).text()).includes('>Console</a></nav>');
  expect([await linked(service.url), await linked(without.url)]).toEqual([true, false]);
});

test('every operation has a place in the reference', async () => {
  const { paths } = (await (await fetch(`${service.url}/openapi.json`)).json()) as {
    paths: Record<string, Record<string, { summary: string; tags: string[] }>>;
  };
  const operations = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, { tags }]) => ({
      request: `${method.toUpperCase()} ${path}`,
      tags,
    })),
  );
  expect(operations.length).toBeGreaterThan(140);
  const read = async (tag: string) =>
    (await fetch(`${service.url}/docs/api/${tag.toLowerCase().replaceAll(' ', '-')}.md`)).text();
  const pages = new Map<string, string>();
  for (const tag of new Set(operations.map(({ tags }) => tags[0] ?? ''))) pages.set(tag, await read(tag));
  const missing = operations.filter(
    ({ request, tags }) => !pages.get(tags[0] ?? '')?.includes(`\`${request}\``),
  );
  expect(missing).toEqual([]);
});

test('pages are served as HTML and as Markdown, with the address of this service', async () => {
  const html = await (await fetch(`${service.url}/docs/start`)).text();
  expect(html).toContain(`${service.url}/mcp/srv_`);
  const markdown = await fetch(`${service.url}/docs/start.md`);
  expect(markdown.headers.get('content-type')).toBe('text/markdown; charset=utf-8');
  const text = await markdown.text();
  expect(text).toMatch(/^# Start in five minutes\n/);
  expect(text).toContain('(/docs/agents.md)');
  const index = await (await fetch(`${service.url}/llms.txt`)).text();
  const links = [...index.matchAll(/\]\((\S+)\)/g)].map(([, link = '']) => link);
  expect(links.length).toBeGreaterThan(40);
  for (const link of links) expect([link, (await fetch(link)).status]).toEqual([link, 200]);
  const whole = await (await fetch(`${service.url}/llms-full.txt`)).text();
  expect(whole).toContain('# Error codes');
  const named = [...whole.matchAll(/^- \[[^\]]+\]\((http\S+)\): /gm)].map(([, link = '']) => link);
  expect(named).toContain(`${service.url}/docs/api/models.md`);
  for (const link of named) expect([link, (await fetch(link)).status]).toEqual([link, 200]);
});

test('files of pages may be cached for ever under their version only', async () => {
  const page = await (await fetch(`${service.url}/docs`)).text();
  const assets = [...page.matchAll(/(?:src|href)="([^"]*\/docs\/assets\/[^"]+)"/g)].map(
    ([, path = '']) => path,
  );
  expect(assets.length).toBe(4);
  for (const path of assets) {
    const { status, headers } = await get(path);
    expect([status, headers['cache-control']]).toEqual([200, 'public, max-age=31536000, immutable']);
  }
  const other = await get('/docs/assets/older/docs.css');
  expect([other.status, other.headers['cache-control']]).toEqual([200, 'no-cache']);
});

test.each(['/docs/nothing', '/docs/..%2f..%2fpackage.json', '/docs/assets/x/none.js'])(
  'a request of %s gets a page that says that there is none',
  async (path) => {
    const { status, headers, body } = await get(path);
    expect([status, headers['content-type']]).toEqual([404, 'text/html; charset=utf-8']);
    expect(body.toString()).toContain('No such page');
  },
);

describe.each(['/openapi.json', '/docs'])('%s', (path) => {
  test.each([
    ['gzip, deflate, br', 'br', brotliDecompressSync],
    ['gzip', 'gzip', gunzipSync],
    ['br;q=0.5, gzip', 'gzip', gunzipSync],
  ])('a documentation page with Accept-Encoding %s is sent as %s', async (accepted, encoding, decode) => {
    const plain = await get(path);
    const answer = await get(path, { 'accept-encoding': accepted });
    expect(answer.headers).toMatchObject({
      'content-encoding': encoding,
      vary: 'Accept-Encoding',
      'content-type': plain.headers['content-type'],
      'content-length': String(answer.body.length),
    });
    expect(answer.body.length).toBeLessThan(plain.body.length / 2);
    expect(decode(answer.body).equals(plain.body)).toBe(true);
  });

  test.each(['', 'identity', 'br;q=0, zstd'])(
    'a documentation page with Accept-Encoding "%s" is sent uncompressed',
    async (accepted) => {
      const { status, headers } = await get(path, { 'accept-encoding': accepted });
      expect([status, headers['content-encoding']]).toEqual([200, undefined]);
    },
  );

  test('a documentation page is 304 without a body for a client that has this version', async () => {
    const first = await get(path, { 'accept-encoding': 'gzip' });
    const etag = String(first.headers['etag']);
    const plain = String((await get(path)).headers['etag']);
    expect(plain).not.toBe(etag);
    for (const known of [etag, `W/${etag}`, `"other", ${etag}`, '*']) {
      const again = await get(path, { 'accept-encoding': 'gzip', 'if-none-match': known });
      expect([again.status, again.body.length, again.headers['etag']]).toEqual([304, 0, etag]);
    }
    for (const other of ['"other"', plain]) {
      const changed = await get(path, { 'accept-encoding': 'gzip', 'if-none-match': other });
      expect(changed.status).toBe(200);
    }
  });

  test('a documentation page is rendered once', async () => {
    const own = await startService();
    const cost = async () => {
      const before = process.cpuUsage();
      expect((await fetch(`${own.url}${path}`)).status).toBe(200);
      const { user, system } = process.cpuUsage(before);
      return user + system;
    };
    try {
      await fetch(`${own.url}/health`);
      const first = await cost();
      const later: number[] = [];
      for (let round = 0; round < 5; round++) later.push(await cost());
      expect(Math.min(...later)).toBeLessThan(first / 3);
    } finally {
      await own.stop();
    }
  });
});

test('the public keys are 304 for a client that has them', async () => {
  const path = '/.well-known/jwks.json';
  const first = await get(path);
  expect(first.headers['cache-control']).toBe('public, max-age=300');
  expect(JSON.parse(first.body.toString())).toMatchObject({ keys: [{ kty: 'OKP', use: 'sig' }] });
  const again = await get(path, { 'if-none-match': String(first.headers['etag']) });
  expect([again.status, again.body.length]).toEqual([304, 0]);
});
