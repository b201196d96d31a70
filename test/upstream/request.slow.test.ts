import { createHmac, generateKeyPairSync } from 'node:crypto';
import * as fc from 'fast-check';
import { jwtVerify } from 'jose';
import { describe, expect, test } from 'vitest';
import { GatehouseError } from '../../src/lib/errors.ts';
import type { JsonObject } from '../../src/lib/json.ts';
import { isRepeatable } from '../../src/upstream/outcome.ts';
import { isStreamed } from '../../src/outbound/outbound-dispatch.ts';
import { buildRequest, resolveLink } from '../../src/upstream/request.ts';
import { signatureBase } from '../../src/upstream/sign.ts';
import { callOf, type FileParts } from '../support/upstream.ts';
import { IS_FULL } from '../support/full.ts';

const NOW = Date.parse('2026-03-01T12:00:00Z');
const build = async (parts: FileParts, given?: Parameters<typeof callOf>[1]) => {
  const { secrets, ...built } = await buildRequest(callOf(parts, given), NOW);
  return { ...built, secrets: secrets.map((secret) => secret.open()) };
};

const PATHS = {
  action: `request: GET /shops/{shop}/items/{item}.json
path:
  shop: {type: string, required: true}
  item: {type: string, required: true}
query:
  q: {type: string}
  tags: {type: array, items: {type: string}}
headers:
  X_Note: {type: string}`,
};

describe('a parameter', () => {
  test.each(['.', '..', '', 'a\\b', 'a\nb', 'a\u0000b', '\u007f'])(
    'a parameter with %j is refused in a path, by name',
    async (shop) => {
      const call = build(PATHS, { input: { shop, item: '1' } });
      await expect(call).rejects.toMatchObject({
        code: 'invalid_request',
        details: { faults: [{ field: 'shop' }] },
      });
    },
  );

  test.each([
    ['a/b', 'a%2Fb'],
    ['../x', '..%2Fx'],
    ['%2e%2e', '%252e%252e'],
    ['a?b#c', 'a%3Fb%23c'],
    ['@evil.com', '%40evil.com'],
    ['\u2028é\ud800', '%E2%80%A8%C3%A9%EF%BF%BD'],
  ])('a parameter with %j stays one segment of a path', async (shop, written) => {
    const { url } = await build(PATHS, { input: { shop, item: '1' } });
    expect(url).toBe(`https://api.example.com/v1/shops/${written}/items/1.json`);
  });

  test('a parameter never changes the origin or the shape of the path', async () => {
    const nasty = fc.oneof(
      fc.string(),
      fc.string({ unit: 'binary' }),
      fc.constantFrom(
        '..',
        '.',
        '%2e',
        '//evil.com',
        '\\\\evil.com',
        '?',
        '#',
        ';',
        '@',
        ':',
        '..;',
        '\t',
        '%00',
        '%5c',
      ),
      fc
        .array(fc.constantFrom('.', '/', '\\', '%2e', '%2f', '@', ':', '#', '?', '\r\n'), { maxLength: 6 })
        .map((all) => all.join('')),
    );
    await fc.assert(
      fc.asyncProperty(nasty, nasty, nasty, nasty, async (shop, item, q, note) => {
        const call = build(PATHS, { input: { shop, item, q, tags: [q, note], X_Note: note } });
        const built = await call.catch((error: unknown) => {
          if (error instanceof GatehouseError && error.code === 'invalid_request') return undefined;
          throw error;
        });
        // The parameter was refused by name, so there is no request to check.
        if (!built) return;
        const url = new URL(built.url);
        expect(url.origin).toBe('https://api.example.com');
        const segments = url.pathname.split('/');
        expect([segments[1], segments[2], segments[4], segments.length]).toEqual(['v1', 'shops', 'items', 6]);
        expect(decodeURIComponent(segments[3] ?? '')).toBe(shop.toWellFormed());
        expect([...new Set(url.searchParams.keys())].sort()).toEqual(['q', 'tags']);
        expect(url.hash).toBe('');
        expect(Object.keys(built.headers).sort()).toEqual([
          'accept',
          'authorization',
          'user-agent',
          'x-note',
        ]);
        expect(built.headers['authorization']).toBe('Bearer token_0123456789');
        expect(built.headers['x-note']).not.toMatch(/[\r\n\0]/);
      }),
      { numRuns: IS_FULL ? 500 : 100 },
    );
  });

  test.each(['a\r\nb', 'a\nb', 'a\0b', 'snow ☃'])(
    'a parameter with %j is refused in a header',
    async (note) => {
      const call = build(PATHS, { input: { shop: 'a', item: '1', X_Note: note } });
      await expect(call).rejects.toMatchObject({ details: { faults: [{ field: 'X_Note' }] } });
    },
  );

  test.each(['Authorization', 'Host', 'Cookie', 'Content-Length', 'Transfer-Encoding', 'Connection'])(
    'a parameter never becomes the header %s',
    async (header) => {
      const action = `request: GET /a\nheaders:\n  x: {type: string, as: ${header}}`;
      await expect(build({ action }, { input: { x: '1' } })).rejects.toMatchObject({
        code: 'invalid_request',
      });
    },
  );

  test.each([
    ['{type: array, items: {}, style: comma}', ['a', 'b'], 'x=a%2Cb'],
    ['{type: array, items: {}}', ['a', 'b'], 'x=a&x=b'],
    ['{type: array, items: {}, style: brackets}', ['a', 'b'], 'x%5B%5D=a&x%5B%5D=b'],
    ['{type: array, items: {}, style: indices}', ['a', 'b'], 'x%5B0%5D=a&x%5B1%5D=b'],
    ['{type: object}', { gt: 1, in: { a: true } }, 'x%5Bgt%5D=1&x%5Bin%5D%5Ba%5D=true'],
    ['{type: string, as: "$filter"}', 'a&b=c', '%24filter=a%26b%3Dc'],
    ['{type: string, quote: single}', "a' or '1'='1\\", `x=%27a%5C%27+or+%5C%271%5C%27%3D%5C%271%5C%5C%27`],
    ['{type: array, items: {}, style: comma, quote: double}', ['a"', 'b'], 'x=%22a%5C%22%22%2C%22b%22'],
  ])('a parameter %s is written in its style', async (schema, value, query) => {
    const { url } = await build(
      { action: `request: GET /a\nescape: backslash\nquery:\n  x: ${schema}` },
      { input: { x: value } },
    );
    expect(new URL(url).search).toBe(`?${query}`);
  });
});

describe.each(['form', 'multipart'])('a list in a %s body', (type) => {
  const namesOf = async (parameters: string, input: JsonObject, more = '') => {
    const { body } = await build(
      { action: `request: POST /a\nbodyType: ${type}\n${more}body:\n${parameters}` },
      { input },
    );
    const text = String(body);
    const pairs =
      type === 'form'
        ? [...new URLSearchParams(text)]
        : [...text.matchAll(/name="([^"]*)"\r\n\r\n([^\r]*)/g)].map(([, name, value]) => [name, value]);
    return pairs.map((pair) => pair.join('='));
  };

  test.each([
    ['  media: {type: array, items: {}, as: MediaUrl, style: repeat}', '', ['MediaUrl=1', 'MediaUrl=2']],
    ['  media: {type: array, items: {}, style: repeat}', '', ['media=1', 'media=2']],
    ['  media: {type: array, items: {}, as: MediaUrl, style: comma}', '', ['MediaUrl=1,2']],
    ['  media: {type: array, items: {}, as: a.urls, style: comma}', '', ['a[urls]=1,2']],
    [
      '  media: {type: array, items: {}, as: urls, style: indices}',
      'wrap: order\n',
      ['order[urls][0]=1', 'order[urls][1]=2'],
    ],
    ['  media: {type: array, items: {}, as: urls}', '', ['urls[]=1', 'urls[]=2']],
  ])(
    'a list in a body with %s is written in its style under its wire name',
    async (parameters, more, pairs) => {
      expect(await namesOf(parameters, { media: ['1', '2'] }, more)).toEqual(pairs);
    },
  );
});

describe('an action at another address', () => {
  const action = `request: POST /files/upload
baseUrl: https://content.example.com/2
headers:
  path: {type: string, as: X-Arg.path}
  mode: {type: string, as: X-Arg.mode}
  tag: {type: string}`;

  test('an action at another address is sent there with its credential', async () => {
    const { url, headers } = await build(
      { action },
      { input: { path: '/Köln "1".txt', mode: 'add', tag: 'a' } },
    );
    expect(url).toBe('https://content.example.com/2/files/upload');
    expect(headers).toMatchObject({ tag: 'a', authorization: 'Bearer token_0123456789' });
    expect(headers['x-arg']).toBe(String.raw`{"path":"/K\u00f6ln \"1\".txt","mode":"add"}`);
    expect(JSON.parse(headers['x-arg'] ?? '')).toEqual({ path: '/Köln "1".txt', mode: 'add' });
  });

  test('a parameter never becomes a header that changes the identity of the request', async () => {
    const bad = `request: POST /a\nheaders:\n  who: {type: string, as: Authorization.x}`;
    await expect(build({ action: bad }, { input: { who: 'me' } })).rejects.toMatchObject({
      code: 'invalid_request',
    });
  });
});

describe('a body', () => {
  const body = (more: string, schema = '') => `request: POST /a
${more}
body:
  name: {type: string, as: customer.name}
  city: {type: string, as: customer.address.city}
  lines: {type: array, items: {}${schema}}`;
  const input: JsonObject = { name: 'Ada "L"', city: 'Köln', lines: [{ sku: 'a', count: 2 }] };
  const nested = {
    customer: { name: 'Ada "L"', address: { city: 'Köln' } },
    lines: [{ sku: 'a', count: 2 }],
  };

  test('a body nests dotted names, includes fixed members, and has its wrapper', async () => {
    const { body: sent, headers } = await build(
      { action: body('wrap: order\nfixed: {body: {api.version: 2}}') },
      { input },
    );
    expect(JSON.parse(String(sent))).toEqual({ order: { api: { version: 2 }, ...nested } });
    expect(headers['content-type']).toBe('application/json');
    expect(input).toEqual({ name: 'Ada "L"', city: 'Köln', lines: [{ sku: 'a', count: 2 }] });
  });

  test('a body may have a file after its members, which no content can end early', async () => {
    const action = `request: POST /a
bodyType: related
body: {name: {type: string}}
parts: {content: {type: string}, base64: {type: string}, contentType: {type: string}}`;
    const written = async (input: JsonObject) => {
      const { body: sent, headers } = await build({ action }, { input });
      const boundary = /^multipart\/related; boundary=([0-9a-f]{40})$/.exec(
        headers['content-type'] ?? '',
      )?.[1];
      return Buffer.from(sent === undefined || isStreamed(sent) ? '' : sent)
        .toString('latin1')
        .split(`--${boundary}`);
    };
    const content = 'a\r\n--gatehouse--\r\nb';
    expect(await written({ name: 'x\r\n--', content, contentType: 'text/csv' })).toEqual([
      '',
      `\r\nContent-Type: application/json; charset=UTF-8\r\n\r\n${JSON.stringify({ name: 'x\r\n--' })}\r\n`,
      `\r\nContent-Type: text/csv\r\n\r\n${content}\r\n`,
      '--\r\n',
    ]);
    expect((await written({ base64: '_-8=' }))[2]).toContain('\r\n\r\n\u00ff\u00ef\r\n');
    await expect(written({ content, contentType: 'a/b\r\nX: 1' })).rejects.toMatchObject({
      details: { faults: [{ field: 'contentType' }] },
    });
    await expect(written({ base64: '?' })).rejects.toMatchObject({
      details: { faults: [{ field: 'base64' }] },
    });
  });

  test('a body includes the members of an object that is spread', async () => {
    const action = `request: POST /a
body:
  name: {type: string}
  fields: {type: object, spread: true}`;
    const fields = { 'a.b': 1, Custom__c: null };
    const { body: sent } = await build({ action }, { input: { name: 'Ada', fields } });
    expect(JSON.parse(String(sent))).toEqual({ name: 'Ada', 'a.b': 1, Custom__c: null });
  });

  test('a body has a text in base64 of its UTF-8 where the app expects that', async () => {
    const action = `request: PUT /a
body:
  content: {type: string, as: file.content, encode: base64}`;
    const { body: sent } = await build({ action }, { input: { content: 'Tee grün' } });
    expect(JSON.parse(String(sent))).toEqual({ file: { content: 'VGVlIGdyw7xu' } });
  });

  test('a body is a list of one where the writes of the app take several records', async () => {
    const { body: sent } = await build({ action: body("wrap: '[]'") }, { input });
    expect(JSON.parse(String(sent))).toEqual([nested]);
    const named = await build({ action: body("wrap: 'orders[]'") }, { input });
    expect(JSON.parse(String(named.body))).toEqual({ orders: [nested] });
  });

  test('a body has the key of a write next to the wrapped members, so it may be repeated', async () => {
    const action = body('wrap: order\nidempotencyParam: idempotency_key');
    const call = callOf({ action }, { input, idempotencyKey: 'k1' });
    expect(JSON.parse(String((await buildRequest(call, NOW)).body))).toEqual({
      idempotency_key: 'k1',
      order: nested,
    });
    expect(isRepeatable(call)).toBe(true);
    expect(isRepeatable(callOf({ action: body('') }, { input, idempotencyKey: 'k1' }))).toBe(false);
  });

  test('a body has only the cursor for a later page at its own path', async () => {
    const action = body(
      'fixed: {body: {deep: true}, query: {v: 1}}\npaging: {style: cursor, in: body, cursorParam: cursor, next: "body:c", nextPath: /a/continue}',
    );
    const page = { params: { cursor: 'c1' }, path: '/a/continue' };
    const { url, body: sent } = await build({ action }, { input, page });
    expect(url).toBe('https://api.example.com/v1/a/continue');
    expect(JSON.parse(String(sent))).toEqual({ cursor: 'c1' });
  });

  test('a body in a form nests in brackets', async () => {
    const { body: sent, headers } = await build(
      { action: body('bodyType: form', ', style: indices') },
      { input },
    );
    expect([...new URLSearchParams(String(sent))]).toEqual([
      ['customer[name]', 'Ada "L"'],
      ['customer[address][city]', 'Köln'],
      ['lines[0][sku]', 'a'],
      ['lines[0][count]', '2'],
    ]);
    expect(headers['content-type']).toBe('application/x-www-form-urlencoded');
  });

  test('a body in several parts can be read by a browser', async () => {
    const { body: sent, headers } = await build({ action: body('bodyType: multipart') }, { input });
    const form = await new Response(String(sent), {
      headers: { 'content-type': headers['content-type'] ?? '' },
    }).formData();
    expect(form.get('customer[name]')).toBe('Ada "L"');
    expect(form.get('customer[address][city]')).toBe('Köln');
  });

  test('a body is the unchanged text for a text type', async () => {
    const action = 'request: POST /a\nbodyType: text\nbody:\n  note: {type: string}';
    expect((await build({ action }, { input: { note: '{"a": 1}' } })).body).toBe('{"a": 1}');
  });

  test('a body has input only in the variables of GraphQL', async () => {
    const action =
      'request: POST /graphql\ngraphql: "query($id: ID!) { user(id: $id) { name } }"\nbody:\n  id: {type: string}';
    const { body: sent } = await build({ action }, { input: { id: '") { secrets } #' } });
    expect(JSON.parse(String(sent))).toEqual({
      query: 'query($id: ID!) { user(id: $id) { name } }',
      variables: { id: '") { secrets } #' },
    });
  });

  test('a body has prefixed ids, composed texts and the key of a write in GraphQL', async () => {
    const action = `request: POST /graphql
graphql: "mutation($id: ID!, $query: String, $key: String!) { a(id: $id, query: $query, key: $key) { b } }"
escape: backslash
idempotencyParam: key
parts:
  name: {type: string}
compose:
  query: ["name:'{name}'"]
body:
  orderId: {type: integer, as: id, prefix: 'gid://shop/Order/'}`;
    const input = { orderId: 7, name: "O'Brien" };
    const { body: sent, url } = await buildRequest(callOf({ action }, { input, idempotencyKey: 'k1' }), NOW);
    expect(JSON.parse(String(sent))).toMatchObject({
      variables: { id: 'gid://shop/Order/7', query: "name:'O\\'Brien'", key: 'k1' },
    });
    expect(new URL(url).search).toBe('');
  });
});

describe('an address with variables', () => {
  const parts = (format: string, baseUrl: string) => ({
    baseUrl,
    head: `variables:\n  shop: {title: Shop, format: ${format}, example: x}`,
    action: 'request: GET /a',
  });
  const withShop = (shop: string) => ({ values: { token: 'token_0123456789', shop } });

  test.each(['evil.com/', 'a.b', 'a@b', 'a#', 'a?', '..', 'a/../b', 'a b', 'a\\b', 'a:1', ''])(
    'an address with a variable refuses the stored subdomain %j',
    async (shop) => {
      const call = build(parts('subdomain', 'https://{shop}.example.com'), withShop(shop));
      await expect(call).rejects.toMatchObject({ code: 'credential_invalid' });
    },
  );
  test.each(['evil.com/x', 'a@b', 'a:1', 'a?b', 'a b', '[::1]'])(
    'an address with a variable refuses the stored host %j',
    async (shop) => {
      await expect(build(parts('host', 'https://{shop}'), withShop(shop))).rejects.toMatchObject({
        code: 'credential_invalid',
      });
    },
  );
  test.each(['ftp://a', 'https://u:p@a', 'https://a?b', 'https://a#b', 'a', 'javascript:1'])(
    'an address with a variable refuses the stored origin %j',
    async (shop) => {
      await expect(build(parts('origin', '{shop}'), withShop(shop))).rejects.toMatchObject({
        code: 'credential_invalid',
      });
    },
  );
  test('an address with variables is built from valid ones', async () => {
    expect((await build(parts('subdomain', 'https://{shop}.example.com/v2'), withShop('my-shop'))).url).toBe(
      'https://my-shop.example.com/v2/a',
    );
    expect(
      (await build(parts('origin', '{shop}/api'), withShop('https://h.example.com:8443/sub/'))).url,
    ).toBe('https://h.example.com:8443/sub/api/a');
  });
});

describe('a credential', () => {
  const GET = 'request: GET /a';
  const POST = 'request: POST /a';

  test('a credential is put where its scheme says, and listed for the scrubber', async () => {
    const apiKey = { apiKey: 'key_0123456789' };
    const at = (where: string) => `{type: api_key, in: ${where}, name: X-Key, prefix: 'Key '}`;
    const header = await build({ authentication: at('header'), action: GET }, { values: apiKey });
    expect([header.headers['x-key'], header.secrets]).toEqual(['Key key_0123456789', ['key_0123456789']]);
    const query = await build({ authentication: at('query'), action: GET }, { values: apiKey });
    expect(new URL(query.url).searchParams.get('X-Key')).toBe('Key key_0123456789');
    const body = await build({ authentication: at('body'), action: POST }, { values: apiKey });
    expect(JSON.parse(String(body.body))).toEqual({ 'X-Key': 'Key key_0123456789' });

    const basic = await build(
      { authentication: '{type: basic}', action: GET },
      { values: { username: 'ada', password: 'pass_0123' } },
    );
    const pair = Buffer.from('ada:pass_0123').toString('base64');
    expect([basic.headers['authorization'], basic.secrets]).toEqual([`Basic ${pair}`, ['pass_0123', pair]]);

    const custom = `type: custom
    fields:
      a: {title: A, secret: true}
      b: {title: B}
    apply:
      headers: {X-A: 'v={a}'}
      query: {b: '{b}'}`;
    const both = await build(
      { authentication: custom, action: GET },
      { values: { a: 'aaaa_secret', b: 'open' } },
    );
    expect([both.headers['x-a'], new URL(both.url).search, both.secrets]).toEqual([
      'v=aaaa_secret',
      '?b=open',
      ['aaaa_secret'],
    ]);
  });

  test('a credential described again without a secrecy flag stays secret', async () => {
    const authentication = `type: bearer
    fields:
      token: {title: Private app token}`;
    expect((await build({ authentication, action: GET })).secrets).toEqual(['token_0123456789']);
  });

  test('a credential with a line break is refused without being quoted', async () => {
    const call = build({ action: GET }, { values: { token: 'token\r\nx: 1' } });
    await expect(call).rejects.toMatchObject({ code: 'invalid_request' });
    await expect(call).rejects.not.toThrow(/x: 1/);
  });

  test('a credential signs the sent content with HMAC', async () => {
    const authentication = `type: custom
    fields: {key: {title: Key, secret: true}}
    sign:
      type: hmac
      key: '{key}'
      encoding: base64
      content: '{timestamp}{method}{path}{body}'
      headers: {X-Sign: '{signature}', X-Time: '{timestamp}'}`;
    const action = `${POST}\nquery:\n  q: {type: string}\nbody:\n  a: {type: string}`;
    const built = await build(
      { authentication, action },
      { values: { key: 'hmac_key_0123' }, input: { q: 'x y', a: 'é' } },
    );
    const content = `${NOW / 1000}POST/v1/a?q=x+y${String(built.body)}`;
    expect(built.headers['x-sign']).toBe(
      createHmac('sha256', 'hmac_key_0123').update(content).digest('base64'),
    );
    expect(built.secrets).toContain('hmac_key_0123');
  });

  test('a credential signs a JWT for each request', async () => {
    const { publicKey, privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
    const authentication = `type: custom
    fields: {pem: {title: Key, secret: true, format: multiline}, id: {title: Id}}
    sign: {type: jwt, algorithm: RS256, key: '{pem}', keyId: '{id}', claims: {iss: '{id}'}, lifetimeSeconds: 60}`;
    const pem = privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
    const { headers } = await build({ authentication, action: GET }, { values: { pem, id: 'k1' } });
    const { payload, protectedHeader } = await jwtVerify(
      String(headers['authorization']).slice(7),
      publicKey,
      {
        currentDate: new Date(NOW),
      },
    );
    expect([payload.iss, payload.exp, protectedHeader.kid]).toEqual(['k1', NOW / 1000 + 60, 'k1']);
    const pkcs1 = privateKey.export({ type: 'pkcs1', format: 'pem' }).toString();
    for (const other of [pkcs1, pem.replaceAll('\n', '\\n')]) {
      const signed = await build({ authentication, action: GET }, { values: { pem: other, id: 'k1' } });
      const token = String(signed.headers['authorization']).slice(7);
      await jwtVerify(token, publicKey, { currentDate: new Date(NOW) });
    }
    const bad = build({ authentication, action: GET }, { values: { pem: 'no key at all', id: 'k1' } });
    await expect(bad).rejects.toMatchObject({ code: 'credential_invalid' });
    await expect(bad).rejects.not.toThrow(/no key at all/);
  });

  test('a credential signs the base string of RFC 5849 section 3.4.1.1 with OAuth 1.0a', () => {
    const base = signatureBase(
      {
        method: 'POST',
        address: {
          origin: 'http://example.com',
          host: 'example.com',
          path: '/request',
          query: 'b5=%3D%253D&a3=a&c%40=&a2=r%20b',
        },
        headers: {},
        body: {
          contentType: 'application/x-www-form-urlencoded',
          members: {},
          content: () => 'c2&a3=2+q',
          formPairs: () => [...new URLSearchParams('c2&a3=2+q')],
        },
      },
      [
        ['oauth_consumer_key', '9djdj82h48djs9d2'],
        ['oauth_token', 'kkk9d7dh3k39sjv7'],
        ['oauth_signature_method', 'HMAC-SHA1'],
        ['oauth_timestamp', '137131201'],
        ['oauth_nonce', '7d8f3e4a'],
      ],
    );
    expect(base).toBe(
      'POST&http%3A%2F%2Fexample.com%2Frequest&a2%3Dr%2520b%26a3%3D2%2520q%26a3%3Da%26b5%3D%253D%25253D%26c%2540%3D%26c2%3D%26' +
        'oauth_consumer_key%3D9djdj82h48djs9d2%26oauth_nonce%3D7d8f3e4a%26oauth_signature_method%3DHMAC-SHA1%26' +
        'oauth_timestamp%3D137131201%26oauth_token%3Dkkk9d7dh3k39sjv7',
    );
  });

  test('a credential signs with OAuth 1.0a in a header, with a new nonce each time', async () => {
    const authentication = `type: custom
    fields: {ck: {title: Key}, cs: {title: Secret, secret: true}, tk: {title: Token}, ts: {title: Token secret, secret: true}}
    sign: {type: oauth1, consumerKey: '{ck}', consumerSecret: '{cs}', token: '{tk}', tokenSecret: '{ts}', realm: R}`;
    const values = { ck: 'ck', cs: 'cs&_secret', tk: 'tk', ts: 'ts_secret' };
    const one = await build({ authentication, action: GET }, { values });
    const two = await build({ authentication, action: GET }, { values });
    expect(one.headers['authorization']).not.toBe(two.headers['authorization']);
    const said = new Map(
      [...String(one.headers['authorization']).matchAll(/(\w+)="([^"]*)"/g)].map((m) => [
        m[1] ?? '',
        decodeURIComponent(m[2] ?? ''),
      ]),
    );
    const signed = [...said]
      .filter(([name]) => name !== 'realm' && name !== 'oauth_signature')
      .map(([n, v]) => `${n}=${v}`);
    const base = ['GET', one.url, signed.sort().join('&')].map(encodeURIComponent).join('&');
    expect(said.get('oauth_signature')).toBe(
      createHmac('sha256', 'cs%26_secret&ts_secret').update(base).digest('base64'),
    );
    expect(said.get('realm')).toBe('R');
  });
});

test('an idempotency key is sent with writes of apps that support one', async () => {
  const head = 'idempotencyHeader: Idempotency-Key';
  const key = { idempotencyKey: 'once-1' };
  expect((await build({ head, action: 'request: POST /a' }, key)).headers['idempotency-key']).toBe('once-1');
  expect((await build({ head, action: 'request: GET /a' }, key)).headers['idempotency-key']).toBeUndefined();
  expect((await build({ action: 'request: POST /a' }, key)).headers['idempotency-key']).toBeUndefined();
});

test('a next link is resolved against the action, and never leaves the origin', async () => {
  const call = callOf(
    { baseUrl: 'https://api.example.com', action: 'request: GET /a/{b}\npath:\n  b: {type: string}' },
    { input: { b: '7' } },
  );
  expect(resolveLink(call, '?page=2')).toBe('https://api.example.com/a/7?page=2');
  expect(resolveLink(call, '/x?page=2')).toBe('https://api.example.com/x?page=2');
  for (const link of [
    'https://evil.com/',
    '//evil.com/',
    'http://api.example.com/',
    'https://u@api.example.com/',
    'https://api.example.com:444/',
  ]) {
    expect(() => resolveLink(call, link)).toThrow(/another origin/);
    await expect(buildRequest({ ...call, page: { url: link } }, NOW)).rejects.toThrow(/another origin/);
  }
});
