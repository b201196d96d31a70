import fc from 'fast-check';
import { expect, test } from 'vitest';
import { readTokenAnswer, refreshSecondsOf, type TokenAnswer } from '../../src/credentials/token-answer.ts';
import { oauthCatalog } from '../support/token-server.ts';
import { IS_FULL } from '../support/full.ts';

const NOW = Date.parse('2026-03-01T12:00:00Z');
const scheme = (changes: Record<string, unknown> = {}) => {
  const found = oauthCatalog('http://127.0.0.1:1', changes).connector('development', 'oauthy')?.definition
    .authentication[0];
  if (found?.type !== 'oauth2') throw new Error('no scheme');
  return found;
};
const plain = scheme();
const nested = scheme({
  tokenAnswer: {
    accessToken: 'data.0.token',
    error: 'code',
    expiresIn: 'data.0.ttl',
    invalidGrant: ['40001'],
  },
});

function formOf(body: Record<string, unknown>): string {
  const form = new URLSearchParams();
  for (const [name, one] of Object.entries(body)) {
    form.append(name, typeof one === 'object' ? JSON.stringify(one) : String(one));
  }
  return form.toString();
}

const status = fc.constantFrom(200, 201, 204, 301, 400, 401, 403, 404, 418, 429, 500, 503);
const value = fc.oneof(
  fc.string(),
  fc.double(),
  fc.boolean(),
  fc.constant(null),
  fc.jsonValue(),
  fc.constantFrom('3600', '-1', '1e9', ' 60 ', 'never', '2026-03-01T13:00:00Z'),
);
const named = fc.dictionary(
  fc.constantFrom(
    'access_token',
    'refresh_token',
    'expires_in',
    'expires_at',
    'scope',
    'error',
    'code',
    'data',
    '__proto__',
  ),
  value,
);
const text = fc.oneof(
  fc.string(),
  named.map((body) => JSON.stringify(body)),
  named.map(formOf),
  fc.constant('['.repeat(5000)),
  fc.constant(`{"access_token":${'['.repeat(200)}${']'.repeat(200)}}`),
);
const headers = fc.oneof(
  fc.constant({}),
  fc.string().map((date) => ({ date })),
);

/** Returns whether the invariants of every refusal and every grant hold. */
function isSound(status: number, { status: said, body }: TokenAnswer): boolean {
  if ('error' in body) {
    const oneLine = /^[^\p{Cc}]{1,100}$/u.test(body.error);
    return oneLine && said >= 400 && said < 404 && (body.error_description ?? '').length <= 300;
  }
  const { access_token: token, expires_in: seconds = 1, scope = 'x' } = body;
  const timely = seconds > 0 && seconds <= 10 * 365 * 24 * 3600;
  return status < 300 && token !== '' && token === token.trim() && timely && /^\S+( \S+)*$/.test(scope);
}

test('any answer is tokens, a refusal or undefined, and throws no error', () => {
  const checked = fc.check(
    fc.property(status, text, headers, fc.constantFrom(plain, nested), (code, body, given, one) => {
      const read = readTokenAnswer(one, { status: code, headers: given, text: body }, NOW);
      return read === undefined || isSound(code, read);
    }),
    { numRuns: IS_FULL ? 3000 : 500 },
  );
  expect(checked.counterexample).toBeNull();
});

test('a token is found in any surroundings', () => {
  const token = fc.stringMatching(/^[A-Za-z0-9._~+/-]{1,200}$/);
  const checked = fc.check(
    fc.property(token, named, fc.boolean(), (accessToken, around, asForm) => {
      const body = { ...around, error: undefined, access_token: accessToken };
      const wire = asForm ? formOf({ access_token: accessToken }) : JSON.stringify(body);
      const read = readTokenAnswer(plain, { status: 200, headers: {}, text: wire }, NOW);
      return read !== undefined && 'access_token' in read.body && read.body.access_token === accessToken;
    }),
    { numRuns: IS_FULL ? 1000 : 200 },
  );
  expect(checked.counterexample).toBeNull();
});

test('errors in a 200 are refusals, by the names in the file', () => {
  const read = (body: unknown) =>
    readTokenAnswer(nested, { status: 200, headers: {}, text: JSON.stringify(body) }, NOW);
  expect(read({ code: 40001, message: 'expired' })).toMatchObject({
    status: 400,
    body: { error: 'invalid_grant', error_description: 'expired' },
  });
  expect(read({ code: 0, data: [{ token: 't', ttl: '60' }] })?.body).toEqual({
    access_token: 't',
    token_type: 'bearer',
    expires_in: 60,
  });
});

test.each([
  ['milliseconds', 900_000, 900],
  ['milliseconds', '900000', 900],
  ['seconds', 900, 900],
])('a lifetime in %s of %j is %i seconds', (unit, expires, seconds) => {
  const found = scheme({ tokenAnswer: { expiresIn: 'expires', refreshExpiresIn: 'refreshes', unit } });
  const raw = { access_token: 'a', expires, refreshes: expires };
  const answer = readTokenAnswer(found, { status: 200, headers: {}, text: JSON.stringify(raw) }, NOW);
  expect(answer?.body).toMatchObject({ expires_in: seconds });
  expect(refreshSecondsOf(found, raw)).toBe(seconds);
});
