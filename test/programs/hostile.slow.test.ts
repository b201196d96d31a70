import type { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { valueAt, type Json } from '../../src/lib/json.ts';
import { connectClient, rpc, shop } from '../support/mcp.ts';
import { startService, type Service } from '../support/service.ts';

/* Programs that attack their sandbox. */
describe('hostile programs', () => {
  let service: Service;
  let one: Awaited<ReturnType<typeof shop>>;
  let client: Client;
  beforeAll(async () => {
    service = await startService();
    one = await shop(service);
    client = await connectClient(one.accessUrl);
  });
  afterAll(async () => {
    await client?.close();
    await service?.stop();
  });

  const run = async (code: string) => {
    const { structuredContent } = await client.callTool({ name: 'run_code_svc', arguments: { code } });
    return (path: string): Json | undefined => valueAt(JSON.parse(JSON.stringify(structuredContent)), path);
  };
  const reason = async (code: string) => String((await run(code))('error.details.reason'));

  test('the globals of Node.js, of the network and of code from text are absent', async () => {
    const answer = await run(`
      const names = ['process', 'require', 'module', 'Buffer', 'fetch', 'XMLHttpRequest', 'WebSocket', 'WebAssembly',
        'setTimeout', 'setInterval', 'setImmediate', 'performance', 'crypto', 'Worker', 'SharedArrayBuffer', 'Atomics'];
      return { there: names.filter((name) => typeof globalThis[name] !== 'undefined'), eval: typeof eval };`);
    expect(answer('value')).toEqual({ there: [], eval: 'undefined' });
  });

  test.each([
    'this.constructor.constructor("return process")()',
    '(async () => {}).constructor("return process")()',
    'Reflect.construct(Function, ["return process"])()',
    'sandbox.constructor.constructor("return process")()',
    'host.request.constructor("return process")()',
    'await import("node:fs")',
    'Object.prototype.toString = () => "x"',
    'Promise.prototype.then = () => {}',
    'JSON.parse = () => ({})',
  ])('an attempt to leave the sandbox fails: %s', async (attempt) => {
    const answer = await run(`'use strict';\n${attempt}; return 'escaped'`);
    expect(answer('error.code')).toBe('program_failed');
  });

  test('a program leaves nothing behind for the next one of its user', async () => {
    await run('globalThis.kept = 1; Error.prototype.kept = 1; return 1');
    const answer = await run('return [typeof kept, typeof new Error().kept]');
    expect(answer('value')).toEqual(['undefined', 'undefined']);
  });

  test('an endless loop is ended in words', async () => {
    expect(await reason('while (true) {}')).toContain('computes too much');
  });

  test.each([
    'await new Promise(() => {}); return 1',
    'await Promise.race([])',
    'await { then() {} }',
    'for await (const one of { [Symbol.asyncIterator]: () => ({ next: () => new Promise(() => {}) }) }) {}',
    'return Promise.all([sandbox.get_product({ productId: "prd_101" }), new Promise(() => {})])',
    'let go; const lost = new Promise((done) => (go = done)); go = 1; await sandbox.list_orders({}); await lost',
    'sandbox.list_orders({}); await new Promise(() => {})',
  ])('a program that waits for something that never comes ends in words: %s', async (code) => {
    const answer = await run(`console.log('before'); ${code}`);
    expect(answer('error')).toMatchObject({
      code: 'program_failed',
      message: expect.stringContaining('waits for something that never comes'),
      details: { programId: expect.stringMatching(/^prog_/), logs: ['before'] },
    });
    expect(answer('error.details.calls')).toHaveLength(code.includes('sandbox') ? 1 : 0);
  });

  test.each([
    ['a promise that a call settles', 'await new Promise((done) => sandbox.list_orders({}).then(done))'],
    ['long chains of promises', 'for (let n = 0; n < 20_000; n += 1) await null'],
    [
      'a call that begins after another one',
      'let done; const all = new Promise((end) => (done = end));' +
        'sandbox.list_orders({}).then(() => sandbox.list_products({})).then(done); await all',
    ],
  ])('a program may wait for %s', async (_, code) => {
    expect((await run(`${code}; return 'done'`))('value')).toBe('done');
  });

  test('code that passes the frame by makes no more than 256 calls', async () => {
    const sent = 'host.request("search", JSON.stringify({ query: "orders" }))';
    expect(await reason(`for (let n = 0; n < 300; n += 1) ${sent}.catch(() => {}); return 1`)).toMatch(
      /more than 256 calls|put await before each call/,
    );
  });

  test('memory beyond its limit is refused in words', async () => {
    const answer = await run('const all = []; for (;;) all.push("x".repeat(1e6) + all.length)');
    expect(JSON.stringify(answer('error'))).toMatch(/out of memory|MiB of memory/);
  });

  test('a call that is not awaited fails the program in words', async () => {
    expect(await reason('sandbox.slow({ milliseconds: 5000 }); return 1')).toContain(
      'put await before each call',
    );
  });

  test('code that is not valid JavaScript is refused with the reason', async () => {
    expect(await reason('return (')).toContain('not valid JavaScript');
  });

  test('calls beyond 256 are refused, and the program may go on', async () => {
    const answer = await run(`
      const codes = new Set();
      for (let n = 0; n < 260; n += 1)
        try { await gatehouse.describe('sandbox.get_order') } catch (error) { codes.add(error.code) }
      return [...codes];`);
    expect(answer('value')).toEqual(['limit_reached']);
  });

  test('a log without end is cut', async () => {
    const answer = await run('for (let n = 0; n < 5000; n += 1) console.log("line " + n); return 1');
    expect(answer('logs')).toHaveLength(501);
  });

  test('a value that JSON cannot express is refused in words', async () => {
    const answer = await run('const a = {}; a.a = a; return a');
    expect(String(answer('error.details.message'))).toContain('circular');
  });

  test('prototypes of parameters reach no object of the service', async () => {
    const answer = await run(`
      const parameters = JSON.parse('{"customerId": "cus_1001", "__proto__": {"polluted": 1}}');
      try { await sandbox.get_customer(parameters) } catch (error) { return error.code }
      return 'ran';`);
    expect(['ran', 'invalid_request']).toContain(answer('value'));
    expect(Reflect.get({}, 'polluted')).toBeUndefined();
  });

  test('a thousand programs at once are refused in words, or run', async () => {
    const answers = await Promise.all(
      Array.from({ length: 1000 }, () =>
        rpc(one.accessUrl, 'tools/call', { name: 'run_code_svc', arguments: { code: 'return 1' } }),
      ),
    );
    const outcomes = answers.map((answer) => answer.at('result.structuredContent'));
    const ran = outcomes.filter((outcome) => valueAt(outcome, 'value') === 1);
    const refused = outcomes.filter((outcome) => valueAt(outcome, 'error.code') === 'unavailable');
    expect(ran.length).toBeGreaterThanOrEqual(20);
    expect(ran.length + refused.length).toBe(1000);
    expect(String(valueAt(refused[0], 'error.message'))).toContain('Nothing of this one was run');
  });

  test('a client that goes away ends its program', async () => {
    const gone = new AbortController();
    const endless = rpc(
      one.accessUrl,
      'tools/call',
      {
        name: 'run_code_svc',
        arguments: { code: 'for (;;) await sandbox.slow({ milliseconds: 200 })' },
      },
      { signal: gone.signal },
    );
    const calls = async () => {
      await service.context.executions.flush();
      const list = await service.call('GET', '/api/executions?actionId=slow&limit=50');
      const found = list.at('data');
      return Array.isArray(found) ? found.length : 0;
    };
    await expect.poll(calls).toBeGreaterThan(0);
    gone.abort();
    await expect(endless).rejects.toThrow('abort');
    // A program of the same user begins only in a place that is free.
    expect((await run('return 2'))('value')).toBe(2);
  });
});
