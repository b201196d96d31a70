import { createHmac, createPublicKey, generateKeyPairSync } from 'node:crypto';
import { jwtVerify } from 'jose';
import { afterEach, describe, expect, test } from 'vitest';
import { faultsOfFile, lineOf, startFileApp, type Arrived, type FileApp } from '../../support/file-app.ts';

/* Apps that are hard to describe, each by a connector file alone. */

let app: FileApp | undefined;
afterEach(() => app?.[Symbol.asyncDispose]());

describe('an app whose account is part of every address, as Twilio', () => {
  const FILE = `baseUrl: '{origin}/2010-04-01/Accounts/{sid}'
bodyType: form
authentication:
  - type: basic
    fields: {sid: {title: Account SID, pattern: '^AC[0-9a-f]{8}$'}, authToken: {title: Auth token, secret: true}}
    basic: {username: '{sid}', password: '{authToken}'}
paging:
  pages: {style: link, next: 'body:next_page_uri', limitParam: PageSize, maxLimit: 2}
actions:
  list_messages: {description: Messages., request: GET /Messages.json, paging: pages, response: {data: messages}}
  send_message:
    description: Sends a message.
    request: POST /Messages.json
    body:
      to: {type: string, required: true, as: To}
      text: {type: string, as: Body}
      media: {type: array, items: {type: string}, as: MediaUrl, style: repeat}
`;

  test('lists of a Twilio-like app follow relative addresses, and its forms repeat lists', async () => {
    app = await startFileApp(FILE);
    app.answer = ({ method, path, query, headers }) => {
      const authorized = headers.authorization === `Basic ${btoa('AC0000000f:secret-token')}`;
      if (!authorized || path !== '/2010-04-01/Accounts/AC0000000f/Messages.json') return { status: 404 };
      if (method === 'POST') return { status: 201, body: { sid: 'SM1' } };
      const page = Number(query.get('Page') ?? 0);
      const next = `/2010-04-01/Accounts/AC0000000f/Messages.json?PageSize=2&Page=${page + 1}`;
      const messages = [{ sid: `SM${page * 2}` }, { sid: `SM${page * 2 + 1}` }];
      return { body: { messages, next_page_uri: page < 1 ? next : null } };
    };
    expect((await app.connect({ sid: 'AC0000000f', authToken: 'secret-token' })).status).toBe(201);
    expect((await app.execute('list_messages', { limit: 10 })).body).toEqual({
      data: [{ sid: 'SM0' }, { sid: 'SM1' }, { sid: 'SM2' }, { sid: 'SM3' }],
      pagination: { hasMore: false },
    });
    await app.execute('send_message', { to: '+4912', text: 'Hi', media: ['https://a/1', 'https://a/2'] });
    expect(app.seen.at(-1)?.body).toBe(
      'To=%2B4912&Body=Hi&MediaUrl=https%3A%2F%2Fa%2F1&MediaUrl=https%3A%2F%2Fa%2F2',
    );
  });
});

describe('an app whose host spells the account in another way, as NetSuite', () => {
  const HEAD = `baseUrl: '{origin}/{accountHost}/services'
authentication:
`;
  const ACTIONS = `paging:
  pages: {style: offset, in: query, offsetParam: offset, limitParam: limit, total: 'body:totalResults'}
actions:
  query_records:
    description: Runs a query.
    request: POST /query
    effect: read
    fixed: {headers: {Prefer: transient}}
    parts: {email: {type: string, required: true}}
    bodyMap: '{"q": "SELECT id FROM customer WHERE email = ''" & $replace(input.email, "''", "''''") & "''"}'
    paging: pages
    response: {data: items}
`;
  const TBA = `${HEAD}  - type: custom
    fields:
      account: {title: Account, pattern: '^\\w+$'}
      consumerKey: {title: Consumer key}
      consumerSecret: {title: Consumer secret, secret: true}
      token: {title: Token id}
      tokenSecret: {title: Token secret, secret: true}
    derived: {accountHost: {from: account, replace: {_: '-'}, case: lower, format: subdomain, secret: false}}
    sign: {type: oauth1, consumerKey: '{consumerKey}', consumerSecret: '{consumerSecret}', token: '{token}', tokenSecret: '{tokenSecret}', realm: '{account}'}
${ACTIONS}`;
  const M2M = `${HEAD}  - type: token_exchange
    fields:
      account: {title: Account, pattern: '^\\w+$'}
      clientId: {title: Client id}
      certificateId: {title: Certificate id}
      privateKey: {title: Private key, secret: true, format: multiline}
    derived: {accountHost: {from: account, replace: {_: '-'}, case: lower, format: subdomain, secret: false}}
    steps:
      - request: POST {origin}/{accountHost}/token
        jwt: {algorithm: PS256, key: '{privateKey}', keyId: '{certificateId}', claims: {iss: '{clientId}', scope: rest_webservices, aud: 'https://app.example.com/token'}}
        body: {grant_type: client_credentials, client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer', client_assertion: '{assertion}'}
        take: {accessToken: 'body:access_token'}
    expires: {in: 'body:expires_in'}
${ACTIONS}`;

  /** Checks a signature of OAuth 1.0a from the request as it arrived. */
  function isSigned({ method, path, query, headers }: Arrived, origin: string): boolean {
    const fields = Object.fromEntries(
      [...(headers.authorization ?? '').matchAll(/(\w+)="([^"]*)"/g)].map((match) => [
        match[1] ?? '',
        decodeURIComponent(match[2] ?? ''),
      ]),
    );
    const { realm, oauth_signature: signature, ...signed } = fields;
    const encode = (text: string) =>
      encodeURIComponent(text).replaceAll(
        /[!'()*]/g,
        (c) => `%${c.charCodeAt(0).toString(16).toUpperCase()}`,
      );
    const pairs = [...Object.entries(signed), ...query].map(
      ([name, text]) => `${encode(name)}=${encode(text)}`,
    );
    const base = [method, origin + path, pairs.sort().join('&')].map(encode).join('&');
    const expected = createHmac('sha256', 'consumer-secret&token-secret').update(base).digest('base64');
    return realm === '1234567_SB1' && signature === expected;
  }

  test('requests are signed with its realm, and pages of a POST are joined', async () => {
    app = await startFileApp(TBA);
    const { origin } = app;
    app.answer = (request) => {
      if (!request.path.startsWith('/1234567-sb1/') || !isSigned(request, origin)) return { status: 401 };
      const from = Number(request.query.get('offset'));
      const items = ['1', '2', '3'].slice(from, from + Number(request.query.get('limit')));
      return { body: { items: items.map((id) => ({ id })), totalResults: 3 } };
    };
    const made = await app.connect({
      account: '1234567_SB1',
      consumerKey: 'consumer-key',
      consumerSecret: 'consumer-secret',
      token: 'token-id',
      tokenSecret: 'token-secret',
    });
    expect(made.status).toBe(201);
    const first = await app.execute('query_records', { email: "o'neil@x", limit: 2 });
    expect(first.body).toEqual({
      data: [{ id: '1' }, { id: '2' }],
      pagination: { hasMore: true, nextOffset: 2 },
    });
    const second = await app.execute('query_records', { email: 'a@x', limit: 2, offset: 2 });
    expect(second.at('data')).toEqual([{ id: '3' }]);
    expect(JSON.parse(app.seen[0]?.body ?? '')).toEqual({
      q: "SELECT id FROM customer WHERE email = 'o''neil@x'",
    });
  });

  test('a client assertion is exchanged for a token', async () => {
    const { privateKey, publicKey } = generateKeyPairSync('rsa', {
      modulusLength: 2048,
      privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
      publicKeyEncoding: { type: 'spki', format: 'pem' },
    });
    app = await startFileApp(M2M);
    app.answer = async ({ path, body, headers }) => {
      if (path === '/1234567-sb1/token') {
        const assertion = new URLSearchParams(body).get('client_assertion') ?? '';
        const { payload, protectedHeader } = await jwtVerify(assertion, createPublicKey(publicKey));
        const good =
          payload.iss === 'client-1' && protectedHeader.kid === 'cert-1' && protectedHeader.alg === 'PS256';
        return good ? { body: { access_token: 'access-1', expires_in: '3600' } } : { status: 401 };
      }
      return headers.authorization === 'Bearer access-1'
        ? { body: { items: [], totalResults: 0 } }
        : { status: 401 };
    };
    const keys = { account: '1234567_SB1', clientId: 'client-1', certificateId: 'cert-1', privateKey };
    expect((await app.connect(keys)).status).toBe(201);
    expect((await app.execute('query_records', { email: 'a@x' })).status).toBe(200);
  });
});

describe('an app whose key holds a part of its address, as Mailchimp', () => {
  const FILE = `baseUrl: '{origin}/{region}/3.0'
authentication:
  - type: basic
    fields: {apiKey: {title: API key, secret: true}}
    basic: {username: any, password: '{apiKey}'}
    derived: {region: {from: apiKey, pattern: '-([a-z]+\\d+)$', format: subdomain, secret: false}}
probe: get_ping
actions:
  get_ping: {description: A ping., request: GET /ping}
`;

  test('the region is read from the key', async () => {
    app = await startFileApp(FILE);
    app.answer = ({ path }) => (path === '/us6/3.0/ping' ? {} : { status: 404 });
    expect((await app.connect({ apiKey: '0123456789abcdef-us6' })).status).toBe(201);
    expect((await app.execute('get_ping')).status).toBe(200);
    const form = (await app.call('GET', '/connectors/app/credentials/metadata')).body;
    expect(JSON.stringify(form)).not.toContain('region');
  });

  test.each(['0123456789abcdef', '0123-us6/../x', '0123-US6'])(
    'the key %s is refused by its rule',
    async (apiKey) => {
      app = await startFileApp(FILE);
      const refused = await app.connect({ apiKey });
      expect([refused.status, refused.at('details.faults.0.field')]).toEqual([400, 'data.apiKey']);
      expect(refused.text('error')).toContain('it holds the region');
      expect(app.seen).toEqual([]);
    },
  );

  test.each<[from: string, to: string, fault: string]>([
    ['from: apiKey', 'from: key', '"key" is no field; fields: username, password, apiKey, origin'],
    ['([a-z]+\\d+)', '[a-z]+\\d+', 'must have one group'],
    ['([a-z]+\\d+)', '(?=x)([a-z]+\\d+)', 'must be a pattern of RE2'],
    ['region: {from', 'apiKey: {from', 'is already a field'],
    [', secret: false', '', '{region} is neither a variable nor a field that is not secret'],
  ])('check finds %s with its line', async (from, to, fault) => {
    const file = FILE.replace(from, to);
    const faults = await faultsOfFile(file);
    expect(faults.join('\n')).toContain(fault);
    const wanted = fault.includes('neither') ? lineOf(file, 'baseUrl') : lineOf(file, 'derived:');
    expect(faults.map((one) => Number(one.split(' ')[0]))).toContain(wanted);
  });
});

test('a key file of a service account is pasted whole', async () => {
  const { privateKey, publicKey } = generateKeyPairSync('rsa', {
    modulusLength: 2048,
    privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
    publicKeyEncoding: { type: 'spki', format: 'pem' },
  });
  app = await startFileApp(`baseUrl: '{origin}'
authentication:
  - type: token_exchange
    fields: {keyFile: {title: Key file, secret: true, format: multiline}}
    derived: {email: {from: keyFile, json: client_email}, privateKey: {from: keyFile, json: private_key, format: multiline}}
    steps:
      - request: POST {origin}/token
        jwt: {algorithm: RS256, key: '{privateKey}', claims: {iss: '{email}'}}
        body: {assertion: '{assertion}'}
        take: {accessToken: 'body:access_token'}
actions:
  get_me: {description: The account., request: GET /me}
`);
  app.answer = async ({ path, body, headers }) => {
    if (path !== '/token')
      return headers.authorization === 'Bearer access-1' ? { body: { id: 1 } } : { status: 401 };
    const assertion = new URLSearchParams(body).get('assertion') ?? '';
    const { payload } = await jwtVerify(assertion, createPublicKey(publicKey));
    return payload.iss === 'robot@x' ? { body: { access_token: 'access-1' } } : { status: 401 };
  };
  const keyFile = JSON.stringify(
    { type: 'service_account', client_email: 'robot@x', private_key: privateKey },
    null,
    2,
  );
  expect((await app.connect({ keyFile })).status).toBe(201);
  expect((await app.execute('get_me')).at('data')).toEqual({ id: 1 });
  const refused = await app.connect({ keyFile: keyFile.slice(0, -10) });
  expect(refused.text('error')).toContain('must be JSON with a text at client_email');
});
