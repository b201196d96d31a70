import { createHmac } from 'node:crypto';
import fc from 'fast-check';
import { Webhook } from 'standardwebhooks';
import { describe, expect, test } from 'vitest';
import { verify as schemes, type HookVerification } from '../../../src/connectors/format/verify-format.ts';
import { parseJson, type Json } from '../../../src/lib/json.ts';
import { textAt, type HookRequest } from '../../../src/sources/webhooks/hook-request.ts';
import { createVerifier, type VerifierValues } from '../../../src/sources/webhooks/verify.ts';
import { IS_FULL } from '../../support/full.ts';

const NOW = Date.parse('2026-11-20T09:00:00Z');
const ADDRESS = 'https://gatehouse.example.com/hooks/app/token';

/** Returns a scheme as in a connector file, with the format's defaults. */
function scheme(verify: object): HookVerification {
  return schemes.parse(verify);
}

/** Returns a body that is a form or JSON, null for others. */
function bodyOf(text: string, contentType: string): Json {
  if (contentType.includes('form')) return Object.fromEntries(new URLSearchParams(text));
  try {
    return parseJson(text);
  } catch {
    return null;
  }
}

const NO_KEYS = async () => [];

function isGenuine(
  verify: HookVerification,
  given: HookRequest,
  {
    value,
    now,
    fetchKeys = NO_KEYS,
  }: Pick<VerifierValues, 'value'> & Partial<VerifierValues> & { now: number },
): boolean | Promise<boolean> {
  return createVerifier(verify, { value, fetchKeys })(given, now);
}

function request(body: string | Buffer, headers: Record<string, string> = {}, url = ADDRESS): HookRequest {
  const raw = Buffer.from(body);
  const known = new Map(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));
  return {
    method: 'POST',
    url,
    query: new URL(url).searchParams,
    header: (name) => known.get(name),
    raw,
    body: bodyOf(String(raw), known.get('content-type') ?? ''),
  };
}

const named =
  (values: Record<string, string>) =>
  (name: string): string | undefined =>
    values[name];
const key = named({ secret: 's3cret' });

describe('published examples are genuine, and changed ones are not', () => {
  test('GitHub: a prefixed hash of the body', () => {
    const github = scheme({ type: 'hmac', header: 'X-Hub-Signature-256', prefix: 'sha256=' });
    const signature = 'sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17';
    const secret = named({ secret: "It's a Secret to Everybody" });
    const judge = (body: string, given: string) =>
      isGenuine(github, request(body, { 'X-Hub-Signature-256': given }), { value: secret, now: NOW });
    expect(judge('Hello, World!', signature)).toBe(true);
    expect(judge('Hello, World!', signature.toUpperCase().replace('SHA256=', 'sha256='))).toBe(true);
    expect(judge('Hello, World?', signature)).toBe(false);
    expect(judge('Hello, World!', signature.replace('sha256=', 'sha1='))).toBe(false);
    expect(judge('Hello, World!', signature.replace('sha256=', ''))).toBe(false);
    expect(judge('Hello, World!', signature.slice(0, -1))).toBe(false);
    expect(judge('Hello, World!', '')).toBe(false);
  });

  test('Twilio: the address and the form fields, sorted by name', () => {
    const twilio = scheme({
      type: 'hmac',
      algorithm: 'sha1',
      key: '{authToken}',
      encoding: 'base64',
      header: 'X-Twilio-Signature',
      content: '{url}{sortedForm}',
    });
    const body =
      'To=%2B18005551212&CallSid=CA1234567890ABCDE&Caller=%2B14158675309&Digits=1234&From=%2B14158675309';
    const headers = {
      'Content-Type': 'application/x-www-form-urlencoded',
      'X-Twilio-Signature': 'RSOYDt4T1cUTdK1PDd93/VVr8B8=',
    };
    const judge = (given: string, url = 'https://mycompany.com/myapp.php?foo=1&bar=2') =>
      isGenuine(twilio, request(given, headers, url), { value: named({ authToken: '12345' }), now: NOW });
    expect(judge(body)).toBe(true);
    expect(judge(body.replace('Digits=1234', 'Digits=1235'))).toBe(false);
    expect(judge(body, 'https://mycompany.com/myapp.php?foo=1')).toBe(false);
  });

  test('Slack: version, time and body, five minutes', () => {
    const slack = scheme({
      type: 'hmac',
      header: 'X-Slack-Signature',
      prefix: 'v0=',
      content: 'v0:{timestamp}:{body}',
      timestamp: 'header:X-Slack-Request-Timestamp',
    });
    const body =
      'token=xyzz0WbapA4vBCDEFasx0q6G&team_id=T1DC2JH3J&team_domain=testteamnow&channel_id=G8PSS9T3V&channel_name=foobar' +
      '&user_id=U2CERLKJA&user_name=roadrunner&command=%2Fwebhook-collect&text=&response_url=https%3A%2F%2Fhooks.slack.com' +
      '%2Fcommands%2FT1DC2JH3J%2F397700885554%2F96rGlfmibIGlgcZRskXaIFfN&trigger_id=398738663015.47445629121.803a0bc887a14d10d2c447fce8b6703c';
    const judge = (timestamp: string, at: number) =>
      isGenuine(
        slack,
        request(body, {
          'X-Slack-Signature': 'v0=a2114d57b48eac39b9ad189dd8316235a7b4a8d21a10bd27519666489c69b503',
          'X-Slack-Request-Timestamp': timestamp,
        }),
        { value: named({ secret: '8f742231b10e8888abcd99yyyzzz85a5' }), now: at * 1000 },
      );
    expect(judge('1531420618', 1531420618)).toBe(true);
    expect(judge('1531420618', 1531420618 + 300)).toBe(true);
    expect(judge('1531420618', 1531420618 + 301)).toBe(false);
    expect(judge('1531420618', 1531420618 - 301)).toBe(false);
    expect(judge('1531420619', 1531420618)).toBe(false);
    for (const timestamp of ['', 'now', '1531420618.0', '-1531420618', '99999999999999'])
      expect(judge(timestamp, 1531420618)).toBe(false);
  });

  test('Square: our address and the body', () => {
    const square = scheme({
      type: 'hmac',
      header: 'X-Square-HmacSha256-Signature',
      content: '{url}{body}',
      encoding: 'base64',
    });
    const judge = (url: string) =>
      isGenuine(
        square,
        request(
          '{"hello":"world"}',
          { 'X-Square-HmacSha256-Signature': '2kRE5qRU2tR+tBGlDwMEw2avJ7QM4ikPYD/PJ3bd9Og=' },
          url,
        ),
        { value: named({ secret: 'asdf1234' }), now: NOW },
      );
    expect(judge('https://example.com/webhook')).toBe(true);
    expect(judge('https://example.com/webhook?x=1')).toBe(false);
  });

  test('Standard Webhooks: the example of the specification', () => {
    const judge = (id: string) =>
      isGenuine(
        scheme({ type: 'standard' }),
        request('{"test": 2432232314}', {
          'webhook-id': id,
          'webhook-timestamp': '1614265330',
          'webhook-signature': 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=',
        }),
        { value: named({ secret: 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw' }), now: 1614265330_000 },
      );
    expect(judge('msg_p5jXN8AQM9LWM0D4loKWxJek')).toBe(true);
    expect(judge('msg_p5jXN8AQM9LWM0D4loKWxJel')).toBe(false);
  });
});

/** Signers of each scheme, written independently of the verifier. */
const SIGNERS: [name: string, verify: object, sign: (body: Buffer) => Record<string, string>][] = [
  [
    'Standard Webhooks, by its own library',
    { type: 'standard', key: 'whsec_czNjcmV0czNjcmV0czNjcmV0' },
    (body) => {
      const signature = new Webhook('whsec_czNjcmV0czNjcmV0czNjcmV0').sign(
        'msg_1',
        new Date(NOW),
        body.toString(),
      );
      return {
        'webhook-id': 'msg_1',
        'webhook-timestamp': String(NOW / 1000),
        // There are several signatures while the secret is rotated.
        'webhook-signature': `v1a,other v1,AAAA ${signature}`,
      };
    },
  ],
  [
    'a list of time and signatures',
    {
      type: 'hmac',
      header: 'X-Sig',
      list: { signature: 'v1', timestamp: 't' },
      content: '{timestamp}.{body}',
    },
    (body) => {
      const signed = createHmac('sha256', 's3cret')
        .update(`${NOW / 1000}.`)
        .update(body)
        .digest('hex');
      return { 'X-Sig': `t=${NOW / 1000}, v1=${'0'.repeat(64)}, v1=${signed}, v0=1` };
    },
  ],
  [
    'SHA-1, base64url and a key in hex',
    {
      type: 'hmac',
      header: 'X-Sig',
      algorithm: 'sha1',
      encoding: 'base64url',
      key: '0a0b0c',
      keyEncoding: 'hex',
    },
    (body) => ({
      'X-Sig': createHmac('sha1', Buffer.from('0a0b0c', 'hex')).update(body).digest('base64url'),
    }),
  ],
  [
    'SHA-512 over method, time in milliseconds and body twice',
    {
      type: 'hmac',
      header: 'X-Sig',
      algorithm: 'sha512',
      content: '{method}\n{timestamp}\n{body}\n{body}',
      timestamp: 'header:X-Time',
    },
    (body) => {
      const content = Buffer.concat([Buffer.from(`POST\n${NOW}\n`), body, Buffer.from('\n'), body]);
      return { 'X-Time': String(NOW), 'X-Sig': createHmac('sha512', 's3cret').update(content).digest('hex') };
    },
  ],
];

describe.each(SIGNERS)('%s', (_, verify, sign) => {
  test('a scheme accepts every signed body, and rejects it after a change of one bit', () => {
    fc.assert(
      fc.property(
        fc.oneof(fc.string({ unit: 'binary', maxLength: 200 }), fc.constant('Grüße\r\n🌍'), fc.constant('')),
        fc.nat(),
        (text, pick) => {
          const body = Buffer.from(text, 'utf8');
          const headers = sign(body);
          expect(isGenuine(scheme(verify), request(body, headers), { value: key, now: NOW })).toBe(true);
          if (body.length === 0) return;
          const other = Buffer.from(body);
          const at = pick % other.length;
          other[at] = (other[at] ?? 0) ^ (1 << (pick % 8));
          expect(isGenuine(scheme(verify), request(other, headers), { value: key, now: NOW })).toBe(false);
        },
      ),
      { numRuns: IS_FULL ? 300 : 60 },
    );
  });

  test('a scheme rejects a request without its headers', () => {
    const body = Buffer.from('{}');
    const headers = sign(body);
    for (const name of Object.keys(headers)) {
      const { [name]: _left, ...rest } = headers;
      expect(isGenuine(scheme(verify), request(body, rest), { value: key, now: NOW })).toBe(false);
    }
  });
});

test('a shared secret in a header and Basic are compared', () => {
  const header = scheme({ type: 'header', header: 'X-Key', value: 'Bearer {secret}' });
  const judge = (given: string) =>
    isGenuine(header, request('{}', { 'X-Key': given }), { value: key, now: NOW });
  expect(['Bearer s3cret', 'Bearer s3creT', 'Bearer s3cret ', 's3cret', ''].map(judge)).toEqual([
    true,
    false,
    false,
    false,
    false,
  ]);
  const basic = scheme({ type: 'basic', username: 'hub' });
  const pair = (text: string) =>
    isGenuine(basic, request('{}', { Authorization: `Basic ${Buffer.from(text).toString('base64')}` }), {
      value: key,
      now: NOW,
    });
  expect([pair('hub:s3cret'), pair('hub:secret'), pair('hub'), pair('')]).toEqual([
    true,
    false,
    false,
    false,
  ]);
});

test('a webhook is rejected when the key is unknown or empty', () => {
  for (const verify of [
    { type: 'header', header: 'X-Key', value: '{secret}' },
    { type: 'header', header: 'X-Key', value: 'Bearer {secret}' },
    { type: 'hmac', header: 'X-Key', encoding: 'hex' },
    { type: 'standard' },
  ]) {
    for (const value of [named({}), named({ secret: '' })]) {
      const emptyKey = createHmac('sha256', '').update('{}').digest('hex');
      for (const given of ['', 'Bearer ', emptyKey])
        expect(isGenuine(scheme(verify), request('{}', { 'X-Key': given }), { value, now: NOW })).toBe(false);
    }
  }
});

test('a secret that decodes to nothing rejects what an empty key signed', () => {
  const signed = createHmac('sha256', '').update('m.1763629200.').update('{}').digest('base64');
  const plain = createHmac('sha256', '').update('{}').digest('hex');
  const headers = {
    'X-Key': plain,
    'webhook-id': 'm',
    'webhook-timestamp': '1763629200',
    'webhook-signature': `v1,${signed}`,
  };
  for (const [verify, secret] of [
    [{ type: 'hmac', header: 'X-Key' }, ''],
    [{ type: 'hmac', header: 'X-Key', keyEncoding: 'hex' }, '0xab12'],
    [{ type: 'hmac', header: 'X-Key', keyEncoding: 'base64' }, '***'],
    [{ type: 'standard' }, 'whsec_'],
    [{ type: 'standard' }, '='],
  ] as const)
    expect(
      isGenuine(scheme(verify), request('{}', headers), { value: named({ secret }), now: 1_763_629_200_000 }),
    ).toBe(false);
});

test('a blank secret verifies no header, form or password that repeats it', () => {
  const value = named({ secret: ' ' });
  const basicOf = `Basic ${Buffer.from('hub: ').toString('base64')}`;
  for (const verify of [
    { type: 'header', header: 'X-Key', value: 'Bearer {secret}' },
    { type: 'secret', at: 'body:token' },
    { type: 'basic', username: 'hub' },
  ])
    expect(
      isGenuine(scheme(verify), request('{"token":" "}', { 'X-Key': 'Bearer  ', Authorization: basicOf }), {
        value,
        now: NOW,
      }),
    ).toBe(false);
});

test('values are read from headers, the query, and JSON or form bodies', () => {
  const found = request('{"a":{"b":7},"c":""}', { 'X-Topic': 'made' }, `${ADDRESS}?topic=asked`);
  expect(
    ['header:X-Topic', 'query:topic', 'body:a.b', 'body:c', 'body:none', 'header:none'].map((place) =>
      textAt(found, place),
    ),
  ).toEqual(['made', 'asked', '7', undefined, undefined, undefined]);
  const form = request('webhook_id=7', { 'Content-Type': 'application/x-www-form-urlencoded' });
  expect(textAt(form, 'body:webhook_id')).toBe('7');
  expect(request('no json').body).toBe(null);
});
