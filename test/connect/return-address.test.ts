import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { startConsents, type Consents } from '../support/consents.ts';

/* The address that an app returns to, as browsers load it: ahead, with HEAD, twice, and two times at once. */

let all: Consents;
beforeAll(async () => {
  all = await startConsents();
});
afterAll(() => all[Symbol.asyncDispose]());
beforeEach(() => {
  all.party.mode = 'ok';
  all.party.asked.length = 0;
});

const addressOf = (state: string, more: Record<string, string> = { code: 'c1' }) =>
  `${all.service.url}/oauth/callback/oauthy?${new URLSearchParams({ ...more, state })}`;

test.each([
  ['HEAD', 200, {}],
  ['GET', 503, { 'sec-purpose': 'prefetch;prerender' }],
  ['GET', 503, { purpose: 'prefetch' }],
  ['GET', 503, { 'x-moz': 'prefetch' }],
])('a %s that loads the callback ahead is %i and has no effect %j', async (method, status, headers) => {
  const { browser, state } = await all.begin();
  const address = addressOf(state);
  const cookie = browser.cookies(address);
  const ahead = await fetch(address, { method, redirect: 'manual', headers: { ...headers, cookie } });
  expect([ahead.status, ahead.headers.get('cache-control'), all.party.asked]).toEqual([
    status,
    'no-store',
    [],
  ]);
  const end = await all.back(browser, { code: 'c1', state });
  expect(end.pathname).toBe('/connect/ended');
  expect(end.search).not.toContain('error');
});

test('a reload shows the result of the first return', async () => {
  const { browser, state, sessionId } = await all.begin();
  const first = await all.back(browser, { code: 'c1', state });
  const asked = all.party.asked.length;
  const again = await all.back(browser, { code: 'c1', state });
  expect([again.href, all.party.asked.length]).toEqual([first.href, asked]);
  const session = await browser.request(`${all.service.url}/connect/sessions/${sessionId}`);
  expect(session.body).toMatchObject({ status: 'succeeded', result: { success: true } });
});

test('a reload after a refusal shows the refusal', async () => {
  const { browser, state, sessionId } = await all.begin();
  const first = await all.back(browser, { error: 'access_denied', state });
  expect((await all.back(browser, { error: 'access_denied', state })).href).toBe(first.href);
  const session = await browser.request(`${all.service.url}/connect/sessions/${sessionId}`);
  expect(session.body).toMatchObject({ status: 'failed', result: { error: 'access_denied' } });
});

test('concurrent returns to the callback connect once and show one result', async () => {
  const { browser, state } = await all.begin();
  const ends = await Promise.all([1, 2, 3].map(() => all.back(browser, { code: 'c1', state })));
  expect(new Set(ends.map((end) => end.href)).size).toBe(1);
  expect(ends[0]?.search).not.toContain('error');
  expect(all.party.asked.length).toBe(1);
});

test('a reload in another browser shows no result', async () => {
  const { browser, state } = await all.begin();
  await all.back(browser, { code: 'c1', state });
  const stranger = await all.begin();
  expect((await all.back(stranger.browser, { code: 'c1', state })).search).toBe(
    '?error=connect_session_taken',
  );
});
