import { afterEach, describe, expect, test, vi } from 'vitest';
import type { Json } from '../../src/lib/json.ts';
import { Secret } from '../../src/lib/secret.ts';
import { interpretAnswer, retryAfterMs } from '../../src/upstream/response.ts';
import { callOf } from '../support/upstream.ts';

afterEach(() => vi.unstubAllEnvs());

const SECRET = 'token_0123456789';
const ERRORS = `errors:
  message: [error.message, errors.0]
  code: error.code
  when: [{path: ok, equals: false}, {path: errors}]
  codes: {invalid_auth: credential_invalid, throttled: upstream_rate_limited}
  statuses: {'403': upstream_rate_limited}`;

const answered = (
  answer: { status?: number; body?: Json; headers?: Record<string, string> },
  { head = ERRORS, action = 'request: GET /a' } = {},
) =>
  interpretAnswer(callOf({ head, action }), {
    status: 200,
    body: null,
    headers: {},
    secrets: [new Secret(SECRET)],
    reflected: [],
    ...answer,
  });

describe('an answer', () => {
  test.each<[number, Json, string, number]>([
    [400, { error: { message: 'bad name' } }, 'upstream_rejected', 422],
    [401, {}, 'credential_invalid', 409],
    [404, null, 'upstream_rejected', 422],
    [409, {}, 'upstream_rejected', 422],
    [422, {}, 'upstream_rejected', 422],
    [403, {}, 'upstream_rate_limited', 429],
    [429, {}, 'upstream_rate_limited', 429],
    [500, {}, 'upstream_failed', 502],
    [503, '<!doctype html><p>down', 'upstream_failed', 502],
    [302, {}, 'upstream_failed', 502],
    [200, { ok: false }, 'upstream_rejected', 422],
    [200, { ok: false, error: { code: 'invalid_auth' } }, 'credential_invalid', 409],
    [200, { errors: ['x'], error: { code: 'throttled' } }, 'upstream_rate_limited', 429],
  ])('an answer of status %i with %j is the error %s', async (status, body, code, ours) => {
    await expect(answered({ status, body })).rejects.toMatchObject({
      code,
      status: ours,
      details: { status },
    });
  });

  test('an answer is the value at its path, or null when there is none', async () => {
    const action = 'request: GET /a\nresponse: {data: data.items}';
    expect(await answered({ body: { data: { items: [1] }, ok: true, errors: [] } }, { action })).toEqual({
      value: [1],
    });
    expect(await answered({ body: {} }, { action })).toEqual({ value: null });
    expect(await answered({ status: 204 })).toEqual({ value: null });
  });

  test('an answer without its list is a failure, unless the app says that it is empty', async () => {
    const list = (place: string) => ({
      action: `request: GET /a\nresponse: {${place}}\npaging: {style: none}`,
    });
    const bodies: Json[] = [null, {}, '', { message: 'We are down for maintenance' }, { items: null }];
    for (const body of bodies)
      await expect(answered({ body }, list('data: items.all'))).rejects.toMatchObject({
        code: 'upstream_failed',
        details: { status: 200, reason: 'no_list' },
      });
    await expect(answered({ body: null }, list(''))).rejects.toMatchObject({ code: 'upstream_failed' });
    expect(await answered({ body: { items: [] } }, list('data: items'))).toEqual({ value: [] });
    expect(await answered({ body: { items: null } }, list('data: items'))).toEqual({ value: null });
    expect(await answered({ status: 204 }, list('data: items'))).toEqual({ value: [] });
  });

  test('an answer may omit an empty list where the file names the members that remain', async () => {
    const action = 'request: GET /a\nresponse: {data: items, whenEmpty: [next]}\npaging: {style: none}';
    expect(await answered({ body: {} }, { action })).toEqual({ value: [] });
    expect(await answered({ body: { next: 'a' } }, { action })).toEqual({ value: [] });
    const bodies: Json[] = [null, { message: 'We are down' }, { next: 'a', error: 'down' }];
    for (const body of bodies)
      await expect(answered({ body }, { action })).rejects.toMatchObject({ code: 'upstream_failed' });
  });

  test('an answer quotes the app’s own sentence, short and without secrets in any form', async () => {
    const forms = [SECRET, Buffer.from(SECRET).toString('base64'), Buffer.from(SECRET).toString('hex')];
    for (const status of [400, 401, 429, 500]) {
      const bodies: Json[] = [
        { error: { message: `no: ${forms.join(' ')} ${'long '.repeat(500)}` } },
        { unexpected: forms },
        `plain ${forms.join(' ')}`,
        `${' '.repeat(480)}${'x'.repeat(495)}${SECRET}`,
      ];
      for (const body of bodies) {
        const error: unknown = await answered({ status, body }).catch((thrown: unknown) => thrown);
        const told = JSON.stringify([error, error instanceof Error && error.message]);
        for (const form of forms) expect(told).not.toContain(form.slice(0, 12));
        expect(error).toMatchObject({ details: { message: expect.stringMatching(/^[^]{1,500}$/) } });
      }
    }
  });

  test('an answer quotes the next sentence where the first is an empty list or object', async () => {
    const head = 'errors: {message: [errors, title]}';
    const told = answered({ status: 422, body: { errors: {}, title: 'No such shop' } }, { head });
    await expect(told).rejects.toMatchObject({ details: { message: 'No such shop' } });
  });

  test('an answer that is a page for browsers is not quoted', async () => {
    const error: unknown = await answered({ status: 502, body: '<html><body>nginx 1.2.3' }).catch(
      (thrown: unknown) => thrown,
    );
    expect(JSON.stringify([error, String(error)])).not.toContain('nginx');
  });

  test('an answer to a limited call names the time to retry', async () => {
    const call = answered({ status: 429, headers: { 'retry-after': '7' } });
    await expect(call).rejects.toMatchObject({ headers: { 'Retry-After': '7' } });
  });
});

test.each([
  ['7', 7000],
  ['0', 0],
  ['-3', 0],
  ['1.5', 1500],
  ['Sun, 01 Mar 2026 12:00:30 GMT', 30_000],
  ['Sun Mar  1 12:00:30 2026', 30_000],
  ['Sun, 01 Mar 2020 12:00:30 GMT', 0],
  [String(Date.parse('2026-03-01T12:00:09Z') / 1000), 9000],
  [String(Date.parse('2026-03-01T12:00:09Z')), 9000],
  ['soon', undefined],
  ['', undefined],
])('Retry-After %j is %s ms', (text, waitMs) => {
  vi.stubEnv('TZ', 'America/New_York');
  const now = Date.parse('2026-03-01T12:00:00Z');
  const call = callOf({ head: 'retryAfterHeader: X-Reset', action: 'request: GET /a' });
  expect(retryAfterMs(call, { headers: { 'retry-after': text } }, now)).toBe(waitMs);
  expect(retryAfterMs(call, { headers: { 'x-reset': text } }, now)).toBe(waitMs);
});

test('a header may count milliseconds, and Retry-After always counts seconds', () => {
  const head = 'retryAfterHeader: X-Reset\nretryAfterUnit: milliseconds';
  const call = callOf({ head, action: 'request: GET /a' });
  const now = Date.parse('2026-03-01T12:00:00Z');
  expect(retryAfterMs(call, { headers: { 'x-reset': '15000' } }, now)).toBe(15_000);
  expect(retryAfterMs(call, { headers: { 'retry-after': '7', 'x-reset': '15000' } }, now)).toBe(7000);
});

describe('a mapping', () => {
  const mapped = (map: string, body: Json, paging = '') =>
    answered(
      { body },
      { head: '', action: `request: GET /a${paging}\nresponse:\n  map: '${map.replaceAll("'", "''")}'` },
    );

  test('a mapping is JSONata over the value, or over each record of a list', async () => {
    expect(await mapped('{"id": $string(id), "none": missing}', { id: 5 })).toEqual({ value: { id: '5' } });
    expect(await mapped('{"n": n * 2}', [{ n: 1 }, { n: 2 }], '\npaging: {style: none}')).toEqual({
      value: [{ n: 2 }, { n: 4 }],
    });
    expect(await mapped('missing', {})).toEqual({ value: null });
  });

  test.each([
    '($f := function($n){ $f($n + 1) }; $f(0))',
    '($f := function($n){ 1 + $f($n + 1) }; $f(0))',
    '$map([1..9000000], function($x){ $x * 2 })',
  ])('a mapping that does not end is stopped: %s', async (map) => {
    await expect(mapped(map, {})).rejects.toMatchObject({ code: 'upstream_failed' });
  });

  test('a mapping that fails reveals no secret', async () => {
    const failed: unknown = await mapped('$number(key)', { key: SECRET }).catch((thrown: unknown) => thrown);
    expect(failed).toMatchObject({ code: 'upstream_failed' });
    expect(String(failed)).not.toContain(SECRET);
  });

  test('a mapping runs many times at the same time without mixing answers', async () => {
    const all = await Promise.all(Array.from({ length: 50 }, (_, n) => mapped('{"n": $sum([n, 1])}', { n })));
    expect(all).toEqual(all.map((_, n) => ({ value: { n: n + 1 } })));
  });
});
