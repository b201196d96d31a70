import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { shop } from '../support/mcp.ts';
import { startService, type Service } from '../support/service.ts';

/* The address of an MCP server that a person opens in a browser. */

const BROWSER = 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8';

let service: Service;
let one: Awaited<ReturnType<typeof shop>>;
beforeAll(async () => {
  service = await startService();
  one = await shop(service);
});
afterAll(() => service.stop());

const get = (url: string, accept: string, method = 'GET') => fetch(url, { method, headers: { accept } });
const withoutToken = () => one.accessUrl.replace(/\/[^/]+$/, '');

describe('a browser', () => {
  test.each([
    ['an access URL', () => one.accessUrl],
    ['an address without a token', withoutToken],
    ['an address with a wrong token', () => `${withoutToken()}/gh_mcp_wrong`],
  ])('a browser that opens %s gets a page that repeats nothing of it', async (_, url) => {
    const answer = await get(url(), BROWSER);
    expect([answer.status, answer.headers.get('content-type')]).toEqual([405, 'text/html; charset=utf-8']);
    const page = await answer.text();
    expect(page).toContain('This address is for an MCP client');
    expect(page).not.toMatch(/srv_|gh_mcp_/);
    const start = /href="([^"]*\/docs\/start)"/.exec(page)?.[1] ?? '';
    expect((await get(`${service.url}${start}`, BROWSER)).status).toBe(200);
  });

  test('a browser gets the page with the headers of other pages, and may not store it', async () => {
    const page = await get(one.accessUrl, BROWSER);
    const docs = await get(`${service.url}/docs`, BROWSER);
    for (const name of ['referrer-policy', 'x-content-type-options', 'cross-origin-opener-policy'])
      expect([name, page.headers.get(name)]).toEqual([name, docs.headers.get(name)]);
    expect(page.headers.get('cache-control')).toBe('no-store');
    expect(page.headers.get('content-security-policy')).toMatch(
      /^default-src 'none'; .*frame-ancestors 'none'$/,
    );
  });
});

test.each(['', '*/*', 'application/json', 'text/event-stream', 'text/html, text/event-stream'])(
  'a GET that accepts "%s" gets JSON as before',
  async (accept) => {
    const answer = await get(one.accessUrl, accept);
    expect([answer.status, answer.headers.get('content-type')]).toEqual([405, 'application/json']);
  },
);

test('a POST that accepts HTML gets JSON as before', async () => {
  const answer = await get(one.accessUrl, 'text/html', 'POST');
  expect([answer.status, answer.headers.get('content-type')]).toEqual([406, 'application/json']);
});
