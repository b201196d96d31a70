import { createPublicKey, generateKeyPairSync } from 'node:crypto';
import { decodeProtectedHeader, jwtVerify } from 'jose';
import { afterEach, describe, expect, test } from 'vitest';
import { originsOf } from '../../../src/connectors/origins.ts';
import { parseConnector } from '../../../src/connectors/parse.ts';
import { MINUTE } from '../../../src/lib/clock.ts';
import { manualClock, type ManualClock } from '../../support/clock.ts';
import {
  faultsOfFile,
  lineOf,
  startFileApp,
  type AppAnswer,
  type Arrived,
  type FileApp,
} from '../../support/file-app.ts';

const ACTIONS = `probe: get_me
account: {id: id}
errors: {message: [message]}
actions:
  get_me: {description: The account., request: GET /me}
  list_things: {description: Things., request: GET /things}
`;
const ACCOUNT = `baseUrl: '{origin}'
authentication:
  - type: token_exchange
    fields:
      clientEmail: {title: E-mail of the service account}
      privateKey: {title: Private key, secret: true, format: multiline}
      subject: {title: User to act for, required: false}
    steps:
      - request: POST {origin}/token
        jwt: {algorithm: RS256, key: '{privateKey}', keyId: key-1, claims: {iss: '{clientEmail}', sub: '{subject}', scope: drive, aud: 'https://app.example.com/token'}, lifetimeSeconds: 3600}
        body: {grant_type: 'urn:ietf:params:oauth:grant-type:jwt-bearer', assertion: '{assertion}'}
        take: {accessToken: 'body:access_token'}
    expires: {in: 'body:expires_in'}
${ACTIONS}`;
const INSTALLATION = `baseUrl: '{instance}'
authentication:
  - type: token_exchange
    fields:
      appId: {title: Id of the app}
      privateKey: {title: Private key, secret: true, format: multiline}
      home: {title: Address, format: origin}
    steps:
      - request: GET {home}/installation
        jwt: {algorithm: RS256, key: '{privateKey}', claims: {iss: '{appId}'}, backdateSeconds: 60}
        headers: {Authorization: 'Bearer {assertion}'}
        take: {installationId: 'body:id', instance: {from: 'body:address', format: origin, secret: false}}
      - request: POST {home}/access_tokens
        jwt: {algorithm: RS256, key: '{privateKey}', claims: {iss: '{appId}'}}
        bodyType: json
        headers: {Authorization: 'Bearer {assertion}'}
        body: {installation.id: '{installationId}', permissions.read: true}
        take: {accessToken: 'body:token'}
    expires: {at: 'body:expires_at'}
${ACTIONS}`;
const SESSION = (take: string, apply: string) => `baseUrl: '{origin}'
authentication:
  - type: token_exchange
    fields: {email: {title: E-mail}, password: {title: Password, secret: true}}
    steps:
      - request: POST {origin}/login
        bodyType: json
        body: {email: '{email}', password: '{password}'}
        error: error
        take: {accessToken: '${take}'}
    apply: {headers: {${apply}}}
${ACTIONS}`;

let app: FileApp | undefined;
afterEach(() => app?.[Symbol.asyncDispose]());

const { privateKey, publicKey } = generateKeyPairSync('rsa', {
  modulusLength: 2048,
  privateKeyEncoding: { type: 'pkcs1', format: 'pem' },
  publicKeyEncoding: { type: 'spki', format: 'pem' },
});

/** An app whose tokens are `token-1`, `token-2` …; `live` is the newest that works. */
function tokens(clock: ManualClock) {
  const state = { given: 0, dead: false };
  return {
    state,
    next: () => `token-${++state.given}`,
    /** Answers a call that needs the newest token. */
    call: (given: string | undefined): AppAnswer =>
      given === `token-${state.given}` && !state.dead
        ? { body: { id: 'ada', at: clock.now() } }
        : { status: 401, body: { message: 'the token is not known' } },
  };
}

describe('a service account', () => {
  async function start() {
    const clock = manualClock();
    const { state, next, call } = tokens(clock);
    app = await startFileApp(ACCOUNT, { clock });
    app.answer = async ({ path, headers, body }) => {
      if (path !== '/token') return call(headers.authorization?.slice('Bearer '.length));
      const form = new URLSearchParams(body);
      const assertion = form.get('assertion') ?? '';
      const { payload } = await jwtVerify(assertion, createPublicKey(publicKey), {
        currentDate: new Date(clock.now()),
        audience: 'https://app.example.com/token',
      });
      const header = decodeProtectedHeader(assertion);
      if (payload.iss !== 'robot@app.example.com' || header.kid !== 'key-1')
        return { status: 400, body: { error: 'invalid_grant', error_description: 'Not a known account' } };
      return { body: { access_token: next(), expires_in: 3600, claims: payload } };
    };
    return { app, clock, state };
  }
  const keys = { clientEmail: 'robot@app.example.com', privateKey };

  test('a service account exchanges its key again shortly before its token expires', async () => {
    const { app, clock, state } = await start();
    const made = await app.connect(keys);
    expect([made.status, made.at('type'), made.at('account.id')]).toEqual([201, 'token_exchange', 'ada']);
    await app.execute('list_things');
    await app.execute('list_things');
    expect(state.given).toBe(1);
    clock.advance(59 * MINUTE);
    expect((await app.execute('list_things')).status).toBe(200);
    expect(state.given).toBe(2);
  });

  test('a token that the app refuses early is replaced within the call', async () => {
    const { app, state } = await start();
    await app.connect(keys);
    state.given++;
    expect((await app.execute('list_things')).status).toBe(200);
    expect(await app.state()).toBe('active');
  });

  test('calls at the same time share one exchange', async () => {
    const { app, clock, state } = await start();
    await app.connect(keys);
    clock.advance(60 * MINUTE);
    const answers = await Promise.all(Array.from({ length: 8 }, () => app.execute('list_things')));
    expect(answers.map(({ status }) => status)).toEqual(Array(8).fill(200));
    expect(state.given).toBe(2);
  });

  test('an account that the app does not know is refused with its words', async () => {
    const { app } = await start();
    const refused = await app.connect({ ...keys, clientEmail: 'other@app.example.com' });
    expect([refused.status, refused.at('code')]).toEqual([409, 'credential_invalid']);
    expect(refused.text('error')).toContain('Not a known account');
  });

  test('a text that is no key is refused before anything is sent', async () => {
    const { app } = await start();
    const refused = await app.connect({ ...keys, privateKey: 'no key' });
    expect(refused.text('error')).toContain('cannot be used with RS256');
    expect(app.seen).toEqual([]);
  });
});

test('an installation is looked up, and its token works at its own address', async () => {
  const clock = manualClock();
  const { next, call } = tokens(clock);
  app = await startFileApp(INSTALLATION, { clock });
  const { origin } = app;
  app.answer = async ({ path, headers, body }: Arrived) => {
    const token = headers.authorization?.slice('Bearer '.length) ?? '';
    if (path === '/eu/me') return call(token);
    const { payload } = await jwtVerify(token, createPublicKey(publicKey), {
      currentDate: new Date(clock.now()),
    });
    expect(payload.iss).toBe('app-7');
    if (path === '/installation') return { body: { id: 4711, address: `${origin}/eu` } };
    expect(JSON.parse(body)).toEqual({ installation: { id: '4711' }, permissions: { read: true } });
    return { body: { token: next(), expires_at: new Date(clock.now() + 60 * MINUTE).toISOString() } };
  };
  expect((await app.connect({ appId: 'app-7', privateKey, home: origin })).status).toBe(201);
  clock.advance(59 * MINUTE);
  expect((await app.execute('get_me')).status).toBe(200);
  expect(app.seen.map(({ path }) => path)).toEqual([
    '/installation',
    '/access_tokens',
    '/eu/me',
    '/installation',
    '/access_tokens',
    '/eu/me',
  ]);
});

test.each<[what: string, take: string, apply: string, login: (token: string) => AppAnswer, name: string]>([
  [
    'a header',
    'header:X-Session',
    "X-Session: '{accessToken}'",
    (t) => ({ headers: { 'x-session': t } }),
    'x-session',
  ],
  ['a bare text', 'body:', "X-Session: '{accessToken}'", (t) => ({ body: t }), 'x-session'],
  ['a bare JSON string', 'body:', "X-Session: '{accessToken}'", (t) => ({ body: `"${t}"` }), 'x-session'],
  [
    'a cookie of a redirect',
    'cookie:sid',
    "Cookie: 'sid={accessToken}'",
    (t) => ({
      status: 302,
      headers: {
        location: '/home',
        'set-cookie': ['lang=de; Expires=Wed, 21 Oct 2026 07:28:00 GMT', `sid=${t}; HttpOnly`],
      },
    }),
    'cookie',
  ],
])('a session login whose token is in %s renews itself', async (_what, take, apply, login, name) => {
  const { state, next, call } = tokens(manualClock());
  app = await startFileApp(SESSION(take, apply));
  app.answer = ({ path, headers, body }) => {
    if (path !== '/login') return call(String(headers[name]).replace('sid=', ''));
    const { password } = JSON.parse(body);
    return password === 'right' ? login(next()) : { body: { error: { message: 'Wrong password' } } };
  };
  const refused = await app.connect({ email: 'ada@example.com', password: 'wrong' });
  expect(refused.at('code')).toBe('credential_invalid');
  expect(refused.text('error')).toContain('Wrong password');
  expect((await app.connect({ email: 'ada@example.com', password: 'right' })).status).toBe(201);
  state.given++;
  expect((await app.execute('list_things')).status).toBe(200);
});

test('a login without a token is a fault of the app, and nothing is stored', async () => {
  app = await startFileApp(SESSION('header:X-Session', "X-Session: '{accessToken}'"));
  const refused = await app.connect({ email: 'ada@example.com', password: 'right' });
  expect([refused.status, refused.at('code')]).toEqual([502, 'upstream_failed']);
  expect(refused.text('error')).toContain('without a usable accessToken');
  expect(await app.state()).toBe(undefined);
});

test('neither password nor token of a login is in the log', async () => {
  const { next, call } = tokens(manualClock());
  app = await startFileApp(SESSION('body:token', "X-Session: '{accessToken}'"));
  app.answer = ({ path, headers }) =>
    path === '/login' ? { body: { token: next() } } : call(String(headers['x-session']));
  await app.connect({ email: 'ada@example.com', password: 'a-very-secret-password' });
  await app.execute('list_things');
  expect(app.service.logged.join('\n')).not.toMatch(/a-very-secret-password|token-1/);
});

test('the addresses of the steps are origins that receive the credential', () => {
  const text = ACCOUNT.replace('POST {origin}/token', 'POST https://login.example.com/token');
  const head = `id: app\nname: App\ndescription: An app.\ncategories: [data]\nwebsite: https://app.example.com\n`;
  const more =
    'sources: [{title: The tests, read: 2026-03-01}]\nvariables: {origin: {title: A, format: origin}}\n';
  const { definition } = parseConnector(head + more + text, 'app.yaml');
  expect(definition && originsOf(definition)).toEqual(['{origin}', 'https://login.example.com']);
});

describe('a planted fault is found with its line', () => {
  test.each<[from: string, to: string, fault: string]>([
    ['accessToken:', 'token:', 'must take accessToken'],
    ["assertion: '{assertion}'", 'assertion: x', 'name {assertion} in headers, query or body'],
    ['POST {origin}/token', 'POST {origin}/{privateKey}', '{privateKey} is secret'],
    ["iss: '{clientEmail}'", "iss: '{email}'", '{email} is no field; known here: clientEmail'],
    ['POST {origin}/token', 'POST http://app.example.com/token', 'must begin with https'],
    ['POST {origin}/token', 'POST /token', 'must be an http(s) address'],
    [
      "take: {accessToken: 'body:access_token'}",
      "take: {accessToken: 'access_token'}",
      'must be body:<path>',
    ],
    ['POST {origin}', 'GET {origin}', 'a GET request has no body'],
    ['{accessToken:', "{clientEmail: 'body:x', accessToken:", 'is already a field'],
  ])('a planted fault of an exchange is found with its line: %s', async (from, to, fault) => {
    const file = ACCOUNT.replace(from, to);
    const faults = await faultsOfFile(file);
    expect(faults.join('\n')).toContain(fault);
    const [first = lineOf(file, 'steps:'), last = lineOf(file, 'expires:')] = [];
    expect(
      faults.every((one) => Number(one.split(' ')[0]) >= first && Number(one.split(' ')[0]) <= last),
    ).toBe(true);
  });
});
