import { gzipSync } from 'node:zlib';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { STORE_KINDS } from '../support/stores.ts';
import { openApp, type TestedApp } from './app.ts';

/* Bytes of webhooks and records of polls: charsets, encodings, numbers beyond 2^53, and characters that no text has. */

const ID = '9007199254740993';
const content = z.looseObject({ remoteId: z.string(), raw: z.looseObject({}) });

describe.each(STORE_KINDS)('on %s', (kind) => {
  let app: TestedApp;
  beforeEach(async () => {
    app = await openApp(kind);
  });
  afterEach(() => app[Symbol.asyncDispose]());

  const bodies = async (connectionId: string) =>
    (await app.events(connectionId)).map((one) => content.parse(one));

  /** Sends a webhook of the topic `made`, and returns the status of the answer. */
  async function send(body: Buffer | string, headers: Record<string, string> = {}): Promise<number> {
    const hook = app.hooks.findLast(({ topic }) => topic === 'made');
    const answer = await fetch(hook?.url ?? '', {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-secret': hook?.secret ?? '', ...headers },
      body,
    });
    return answer.status;
  }

  /** Returns a webhook as text. `id` stands in it as it is written here. */
  const made = (id: string, more = '') =>
    JSON.stringify({ what: 'made', order: app.order('ID') }).replace('"ID"', id + more);

  test('records with invalid characters stop no poll, and are published once', async () => {
    const connectionId = await app.listen('searching', { polled: true });
    app.orders.push(
      app.order('a'),
      app.order('x\0y'),
      app.order('half \ud83d', undefined, { place: 'a\0b' }),
      app.order('b'),
    );
    await app.polls(connectionId, 2, 60_000);
    app.orders.push(app.order('c'));
    await app.polls(connectionId, 2, 60_000);
    const published = await app.published(connectionId);
    const ids = ['a', 'b', 'c', 'half \ufffd', 'x\ufffdy'];
    expect(published.toSorted()).toEqual(ids.map((id) => `created ${id}`));
    const half = (await bodies(connectionId)).find(({ remoteId }) => remoteId.startsWith('half'));
    expect(half?.raw).toMatchObject({ id: 'half \ufffd', place: 'a\ufffdb' });
  });

  test('records whose ids differ beyond 2^53 are published apart', async () => {
    const connectionId = await app.listen('timeless', { polled: true });
    const at = new Date(app.clock.now()).toISOString();
    app.instead = (url, res) => {
      if (url.pathname !== '/orders') return false;
      const orders = [0n, 1n, 2n].map((more) => `{"id":${9007199254740992n + more},"created_at":"${at}"}`);
      res
        .writeHead(200, { 'content-type': 'application/json' })
        .end(`\ufeff{"orders":[${orders.join(',')}]}`);
      return true;
    };
    await app.polls(connectionId, 2, 60_000);
    expect((await app.published(connectionId)).toSorted()).toEqual([
      'created 9007199254740992',
      'created 9007199254740993',
      'created 9007199254740994',
    ]);
    expect((await bodies(connectionId)).map(({ raw }) => raw['id'])).toContain(ID);
  });

  test('webhooks in other forms of bytes are published as they were meant', async () => {
    const connectionId = await app.listen('numbered');
    const sent: [string, Buffer, Record<string, string>][] = [
      [ID, Buffer.from(made(ID)), {}],
      ['mark', Buffer.from(`\ufeff${made('"mark"')}`), {}],
      [
        'größe',
        Buffer.from(made('"größe"'), 'latin1'),
        { 'content-type': 'application/json; charset=iso-8859-1' },
      ],
      [
        'weit',
        Buffer.from(`\ufeff${made('"weit"')}`, 'utf16le'),
        { 'content-type': 'application/json; charset=utf-16' },
      ],
      ['packed', gzipSync(made('"packed"')), { 'content-encoding': 'gzip' }],
      ['n\ufffdl', Buffer.from(made('"n\\u0000l"')), {}],
    ];
    for (const [id, body, headers] of sent) expect([id, await send(body, headers)]).toEqual([id, 200]);
    await app.look('inbox');
    const ids = (await bodies(connectionId)).map(({ remoteId }) => remoteId);
    expect(ids.toSorted()).toEqual(sent.map(([id]) => id).toSorted());
  });

  test('genuine webhooks that cannot be read are refused and logged', async () => {
    const connectionId = await app.listen('sequential');
    const many = `[${Array(600_000).fill('{}').join(',')}]`;
    const unreadable: [number, Buffer | string, Record<string, string>][] = [
      [400, 'this is no JSON', {}],
      [400, '['.repeat(1000), {}],
      [400, made('"a"'), { 'content-encoding': 'gzip' }],
      [415, made('"a"'), { 'content-encoding': 'compress' }],
      [415, made('"a"'), { 'content-type': 'application/json; charset=klingon' }],
      [413, many, {}],
      [413, gzipSync(Buffer.alloc(11_000_000, ' ')), { 'content-encoding': 'gzip' }],
    ];
    for (const [status, body, headers] of unreadable) {
      const before = app.service.logged.length;
      expect(await send(body, headers)).toBe(status);
      expect(app.service.logged.slice(before).join('')).toContain('webhook refused, its body cannot be read');
    }
    // The signature is checked first, so a stranger learns nothing and fills no log.
    const before = app.service.logged.length;
    expect(await send('this is no JSON', { 'x-secret': 'wrong' })).toBe(401);
    expect(app.service.logged.slice(before).join('')).not.toContain('cannot be read');
    expect(await app.events(connectionId)).toEqual([]);
  });
});
