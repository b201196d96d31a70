import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { GatehouseError } from '../../src/lib/errors.ts';
import { callUpstream } from '../../src/upstream/call.ts';
import type { Progress, UpstreamCall } from '../../src/upstream/upstream-call.ts';
import { interpretAnswer } from '../../src/upstream/response.ts';
import { createThrottle } from '../../src/upstream/throttle.ts';
import { manualClock } from '../support/clock.ts';
import { until } from '../support/until.ts';
import {
  callOf,
  json,
  openUpstream,
  startUpstream,
  type FileParts,
  type Upstream,
} from '../support/upstream.ts';

const CANARY = 'canary_9f8e7d6c5b4a';
const HEAD = 'variables: {origin: {title: Origin, format: origin, example: https://a}}';

describe('a call', () => {
  let upstream: Upstream;
  let context: ReturnType<typeof openUpstream>;

  beforeAll(async () => {
    upstream = await startUpstream();
  });
  afterAll(() => upstream[Symbol.asyncDispose]());
  beforeEach(() => {
    context = openUpstream();
    upstream.count = 0;
    upstream.closed = 0;
    upstream.handler = (_req, res) => json(res, 200, {});
    return () => context.close();
  });

  const call = (
    parts: Partial<FileParts> & { more?: string } = {},
    given: Parameters<typeof callOf>[1] = {},
  ): UpstreamCall =>
    callOf(
      { baseUrl: '{origin}', action: 'request: GET /a', ...parts, head: `${HEAD}\n${parts.head ?? ''}` },
      { values: { token: CANARY, origin: upstream.origin }, ...given },
    );
  const send = async (one: UpstreamCall) =>
    (await interpretAnswer(one, await callUpstream(context, one))).value;
  const failure = async (work: Promise<unknown>): Promise<GatehouseError> => {
    const error: unknown = await work.then(
      () => undefined,
      (thrown: unknown) => thrown,
    );
    if (!(error instanceof GatehouseError)) throw new Error(`expected a refusal, got ${String(error)}`);
    expect(JSON.stringify([error.message, error.details, error.headers])).not.toContain(CANARY);
    return error;
  };

  test.each([
    ['GET /a', '', 3],
    ['PUT /a', '', 3],
    ['DELETE /a', '', 3],
    ['POST /a', '', 1],
    ['PATCH /a', '', 1],
    ['POST /a', '\nidempotent: true', 3],
    ['GET /a', '\nidempotent: false', 1],
  ])('a call of %s%s that gets a 503 is sent %i times at most', async (request, more, times) => {
    upstream.handler = (_req, res) => json(res, 503, {});
    await failure(send(call({ action: `request: ${request}${more}` })));
    expect(upstream.count).toBe(times);
  });

  test('a call for a file returns its content, as text where it is text', async () => {
    const file = { action: 'request: GET /a\nresponse: {body: file}' };
    upstream.handler = (_req, res) => res.writeHead(200, { 'content-type': 'text/html' }).end('<p>é</p>');
    expect(await send(call(file))).toEqual({ mediaType: 'text/html', size: 9, text: '<p>é</p>' });
    upstream.handler = (_req, res) => res.end(Buffer.from([0xff, 0x00]));
    expect(await send(call(file))).toEqual({
      mediaType: 'application/octet-stream',
      size: 2,
      base64: '/wA=',
    });
    upstream.handler = (_req, res) => json(res, 404, { message: 'gone' });
    expect((await failure(send(call(file)))).code).toBe('upstream_rejected');
  });

  test('a call finds a value under a name with a dot in it, and text in base64', async () => {
    upstream.handler = (_req, res) => json(res, 200, { '@odata.value': { raw: 'R3LDvMOfZQ' } });
    const action = `request: GET /a
response: {data: '@odata\\.value', map: '{"text": $textFromBase64(raw), "none": $textFromBase64(missing)}'}`;
    expect(await send(call({ action }))).toEqual({ text: 'Grüße' });
  });

  test('a call repeats a write with the same key where the app knows the key', async () => {
    const keys: unknown[] = [];
    upstream.handler = (req, res, count) => {
      keys.push(req.headers['idempotency-key']);
      if (count < 3) req.socket.resetAndDestroy();
      else json(res, 200, { done: true });
    };
    const parts = { head: 'idempotencyHeader: Idempotency-Key', action: 'request: POST /a' };
    expect(await send(call(parts, { idempotencyKey: 'k1' }))).toEqual({ done: true });
    expect(keys).toEqual(['k1', 'k1', 'k1']);
    await failure(
      send(
        call(
          { ...parts, head: '' },
          { idempotencyKey: 'k1', values: { token: CANARY, origin: 'http://127.0.0.1:1' } },
        ),
      ),
    );
  });

  test.each([400, 401, 404, 500, 501])('an answer with status %i is final', async (status) => {
    upstream.handler = (_req, res) => json(res, status, {});
    await failure(send(call()));
    expect(upstream.count).toBe(1);
  });

  test('a call waits as long as a 429 says, as do other calls of the credential', async () => {
    const at: number[] = [];
    upstream.handler = (_req, res, count) => {
      at.push(performance.now());
      if (count === 1) json(res, 429, {}, { 'retry-after': '2' });
      else json(res, 200, { count });
    };
    const first = send(call());
    await until(() => upstream.closed === 1);
    const other = call({}, { credentialId: 'cred_2', values: { token: CANARY, origin: upstream.origin } });
    expect(await send(other)).toEqual({ count: 2 });
    await Promise.all([first, send(call())]);
    expect(at.length).toBe(4);
    expect((at[2] ?? 0) - (at[0] ?? 0)).toBeGreaterThanOrEqual(1950);
  });

  test('a call does not wait beyond its deadline, and reports the wait', async () => {
    upstream.handler = (_req, res) => json(res, 429, {}, { 'retry-after': '999999999' });
    const error = await failure(send(call()));
    expect([error.code, upstream.count]).toEqual(['upstream_rate_limited', 1]);
    // The credential is held, but at most for an hour.
    const held = await failure(send(call()));
    expect([held.code, upstream.count]).toEqual(['upstream_rate_limited', 1]);
    expect(Number(held.headers['Retry-After'])).toBeLessThanOrEqual(3600);
  });

  test('calls stop retries to a third party that is down for all credentials', async () => {
    upstream.handler = (_req, res) => json(res, 503, {}, { 'retry-after': '0' });
    for (let i = 0; i < 40; i++) await failure(send(call()));
    expect(upstream.count).toBeLessThan(40 + 10 + 10);
  });

  test('a call ends at the action’s deadline', async () => {
    upstream.handler = () => {};
    const error = await failure(send(call({ action: 'request: GET /a\ntimeoutSeconds: 1' })));
    expect([error.code, upstream.count]).toEqual(['upstream_timeout', 1]);
  });

  test.each<[string, string, string, string]>([
    ['a page', 'text/html', '<html>hello</html>', 'not_json'],
    ['broken JSON', 'application/json', '{"a": ', 'not_json'],
    ['JSON too deep', 'application/json', '['.repeat(10_000) + ']'.repeat(10_000), 'too_deep'],
  ])('%s in a success is a failure of the third party', async (_what, type, text, reason) => {
    upstream.handler = (_req, res) => res.writeHead(200, { 'content-type': type }).end(text);
    const error = await failure(send(call()));
    expect([error.code, error.details?.['reason']]).toEqual(['upstream_failed', reason]);
  });

  test('a call returns null for an empty answer, plain text as text, and drops __proto__', async () => {
    upstream.handler = (_req, res) => res.writeHead(200).end();
    expect(await send(call())).toBe(null);
    upstream.handler = (_req, res) => res.writeHead(200, { 'content-type': 'text/csv' }).end('a,b');
    expect(await send(call())).toBe('a,b');
    upstream.handler = (_req, res) => res.end('{"a": 1, "__proto__": {"admin": true}}');
    expect(await send(call())).toEqual({ a: 1 });
  });

  test('a call never returns a secret, whatever the third party does', async () => {
    const forms = [
      CANARY,
      Buffer.from(CANARY).toString('base64'),
      Buffer.from(CANARY).toString('hex'),
      encodeURIComponent(CANARY),
    ];
    for (const status of [200, 302, 400, 401, 403, 429, 500, 503]) {
      upstream.handler = (_req, res) =>
        void res
          .writeHead(status, { 'retry-after': '0', location: `http://x:${CANARY}@y/`, 'x-a': CANARY })
          .end(`said ${forms.join(' ')}`);
      const one = call({ action: 'request: POST /a' });
      await failure(send(one));
    }
    upstream.handler = (req) => req.socket.end(`HTTP/1.1 ${CANARY}\r\n\r\n`);
    await failure(send(call()));
    for (const form of forms) expect(context.logged.join('\n')).not.toContain(form);
  });

  describe('answered with events', () => {
    const events = { action: 'request: POST /a\nresponse: {stream: events}' };
    const stream = (text: string, end = true) => {
      upstream.handler = (_req, res) => {
        res.writeHead(200, { 'content-type': 'text/event-stream' }).write(text);
        if (end) res.end();
      };
    };

    test('a call answered with events reports progress and returns the result', async () => {
      stream(
        'event: progress\ndata: {"progress": 1, "total": 2, "message": "half"}\n\nevent: progress\ndata: {"x": 1}\n\nevent: result\ndata: {"done": "é"}\n\n',
        false,
      );
      const heard: Progress[] = [];
      const one = call(events, {
        onProgress: (progress) => heard.push(progress),
        values: { token: CANARY, origin: upstream.origin },
      });
      expect(await send(one)).toEqual({ done: 'é' });
      expect(heard).toEqual([{ progress: 1, total: 2, message: 'half' }]);
    });

    test.each([
      ['without a result', 'event: progress\ndata: {"progress": 1}\n\n'],
      ['that are no JSON', `event: result\ndata: {${CANARY}\n\n`],
    ])('a stream of events %s is a failure of the third party', async (_what, text) => {
      stream(text);
      expect((await failure(send(call(events)))).code).toBe('upstream_failed');
    });

    test('a call answered with millions of values is refused before it is parsed', async () => {
      stream(`event: result\ndata: [${Array(600_000).fill('{}').join(',')}]\n\n`);
      expect((await failure(send(call(events)))).code).toBe('upstream_too_large');
    });

    test('a call that may be answered with events may also return plain JSON', async () => {
      upstream.handler = (_req, res) => json(res, 200, { plain: true });
      expect(await send(call(events))).toEqual({ plain: true });
    });
  });

  describe('that is cancelled', () => {
    const cancelled = async (
      one: (signal: AbortSignal) => UpstreamCall,
      ready: () => boolean = () => upstream.count > 0,
    ) => {
      const gone = new AbortController();
      const sent = failure(send(one(gone.signal)));
      await until(ready);
      gone.abort();
      expect((await sent).details?.['reason']).toBe('cancelled');
    };
    const good = () => ({ values: { token: CANARY, origin: upstream.origin } });

    test('a cancelled call closes the connection', async () => {
      upstream.handler = () => {};
      await cancelled((signal) => call({}, { signal, ...good() }));
      await until(() => upstream.closed === 1);
      expect(upstream.count).toBe(1);
    });

    test('a call cancelled before its repetition is not repeated', async () => {
      upstream.handler = (_req, res) => json(res, 503, {}, { 'retry-after': '10' });
      await cancelled(
        (signal) => call({}, { signal, ...good() }),
        () => upstream.closed > 0,
      );
      expect(upstream.count).toBe(1);
    });

    test('a call cancelled in a queue leaves the queue', async () => {
      upstream.handler = () => {};
      const limited = { head: 'rateLimit: {requests: 100, perSeconds: 1, concurrency: 1}' };
      const gone = new AbortController();
      const first = failure(send(call(limited, { signal: gone.signal, ...good() })));
      await until(() => upstream.count > 0);
      await cancelled((signal) => call(limited, { signal, ...good() }));
      gone.abort();
      await first;
      upstream.handler = (_req, res) => json(res, 200, { free: true });
      expect(await send(call(limited))).toEqual({ free: true });
    });
  });

  describe('to an app with a limit', () => {
    test('a call to an app with a limit waits for its window, per credential', async () => {
      const begun = performance.now();
      const limited = { head: 'rateLimit: {requests: 3, perSeconds: 2}' };
      upstream.handler = (_req, res, count) => json(res, 200, { count });
      const values = { token: CANARY, origin: upstream.origin };
      const own = Array.from({ length: 4 }, () => send(call(limited)));
      await until(() => upstream.count === 3);
      expect(await send(call(limited, { credentialId: 'cred_9', values }))).toEqual({ count: 4 });
      await Promise.all(own);
      expect(performance.now() - begun).toBeGreaterThanOrEqual(1950);
      expect(upstream.count).toBe(5);
    });

    test('a call is rejected at once when the wait for a limit is too long', async () => {
      const limited = { head: 'rateLimit: {requests: 1, perSeconds: 3600}' };
      await send(call(limited));
      const error = await failure(send(call(limited)));
      expect([error.code, upstream.count]).toEqual(['upstream_rate_limited', 1]);
      expect(Number(error.headers['Retry-After'])).toBeGreaterThan(3500);
    });

    test('calls to an app with a limit never run more at a time than the limit', async () => {
      let running = 0;
      let most = 0;
      upstream.handler = (_req, res) => {
        most = Math.max(most, ++running);
        setTimeout(() => {
          running--;
          json(res, 200, {});
        }, 5);
      };
      const limited = { head: 'rateLimit: {requests: 10, perSeconds: 0.2, concurrency: 3}' };
      await Promise.all(Array.from({ length: 40 }, () => send(call(limited))));
      expect([upstream.count, most]).toEqual([40, 3]);
    });
  });
});

test('a throttle keeps a bounded number of credentials', async () => {
  const clock = manualClock();
  const throttle = createThrottle(clock);
  const one = callOf({ head: 'rateLimit: {requests: 1, perSeconds: 60}', action: 'request: GET /a' });
  const of = (credentialId: string): UpstreamCall => ({
    ...one,
    credential: one.credential ? { ...one.credential, credentialId } : undefined,
  });
  const deadline = clock.now() + 1000;
  for (let i = 0; i < 10_500; i++) (await throttle.enter(of(`cred_${i}`), deadline))();
  // The newest credential is stored, and the oldest was removed.
  await expect(throttle.enter(of('cred_10499'), deadline)).rejects.toMatchObject({
    code: 'upstream_rate_limited',
  });
  (await throttle.enter(of('cred_0'), deadline))();
});
