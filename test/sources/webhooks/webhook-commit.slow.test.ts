import { sql } from 'kysely';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { SECOND } from '../../../src/lib/clock.ts';
import { STORE_KINDS } from '../../support/stores.ts';
import { openApp, type TestedApp } from '../app.ts';

/*
 * Webhooks that hold their record are published in the commit that stores them. The loops of these services
 * do not run.
 */

describe.each(STORE_KINDS)('webhooks on %s', (kind) => {
  let app: TestedApp;

  beforeEach(async () => {
    app = await openApp(kind);
  });
  afterEach(() => app[Symbol.asyncDispose]());

  const waiting = async (): Promise<number> => {
    const { db } = app.service.context;
    const rows = await db.selectFrom('inbox').select('inbox_id').where('processed_at', 'is', null).execute();
    return rows.length;
  };

  test('a webhook that holds its record is published before it is answered', async () => {
    const connectionId = await app.listen('numbered');
    expect(await app.announce('made', app.order('1'))).toBe(200);
    expect(await app.published(connectionId)).toEqual(['created 1']);
    app.clock.advance(SECOND);
    expect(await app.announce('changed', app.order('1', app.clock.now(), { total: '2.00' }))).toBe(200);
    app.clock.advance(SECOND);
    expect(await app.announce('gone', { id: '1' })).toBe(200);
    expect(await app.published(connectionId)).toEqual(['created 1', 'updated 1', 'deleted 1']);
    expect(await waiting()).toBe(0);
  });

  test('one webhook that arrives many times at once is published once', async () => {
    const connectionId = await app.listen('numbered');
    const order = app.order('1');
    const statuses = await Promise.all(Array.from({ length: 20 }, () => app.announce('made', order)));
    expect(new Set(statuses)).toEqual(new Set([200]));
    expect(await app.published(connectionId)).toEqual(['created 1']);
  });

  test('webhooks of two apps that arrive together reach only their own sources', async () => {
    const one = await app.listen('numbered');
    const toOne = app.hooks.map(({ url, secret, topic }) => ({ url, secret, topic }));
    const other = await app.listen('sequential');
    const post = (hook: { url: string; secret: string } | undefined, id: string) =>
      fetch(hook?.url ?? '', {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'x-secret': hook?.secret ?? '' },
        body: JSON.stringify({ what: 'made', order: app.order(id) }),
      });
    const ids = Array.from({ length: 30 }, (_, n) => `o${n}`);
    const first = toOne.find(({ topic }) => topic === 'made');
    const second = app.hooks.findLast(({ topic }) => topic === 'made');
    await Promise.all(ids.flatMap((id) => [post(first, `a_${id}`), post(second, `b_${id}`)]));
    const all = (prefix: string) => new Set(ids.map((id) => `created ${prefix}_${id}`));
    expect(new Set(await app.published(one))).toEqual(all('a'));
    expect(new Set(await app.published(other))).toEqual(all('b'));
  });

  test('a webhook does not overtake one that waits to be read at the app', async () => {
    const connectionId = await app.listen('telling');
    app.orders = [app.order('1')];
    expect(await app.announce('made', { id: '1' })).toBe(200);
    expect(await app.announce('told', app.order('2'))).toBe(200);
    expect([await app.published(connectionId), await waiting()]).toEqual([[], 2]);
    await app.look('inbox');
    expect(new Set(await app.published(connectionId))).toEqual(new Set(['created 1', 'created 2']));
    app.clock.advance(SECOND);
    expect(await app.announce('told', app.order('3'))).toBe(200);
    expect((await app.published(connectionId)).at(-1)).toBe('created 3');
    expect(await waiting()).toBe(0);
  });

  test('a webhook whose record does not fit the model is stored and waits', async () => {
    const connectionId = await app.listen('numbered');
    expect(await app.announce('made', { id: '1', total: 'not an amount' })).toBe(200);
    expect([await app.published(connectionId), await waiting()]).toEqual([[], 1]);
  });

  test('a webhook whose events the store refuses is stored and tried again', async () => {
    const { db } = app.service.context;
    const connectionId = await app.listen('numbered');
    const refuse =
      kind === 'sqlite'
        ? sql`create trigger refuse before insert on events begin select raise(abort, 'refused'); end`
        : sql`alter table events add constraint refuse check (event_id = '') not valid`;
    await refuse.execute(db);
    expect(await app.announce('made', app.order('1'))).toBe(200);
    expect([await app.published(connectionId), await waiting()]).toEqual([[], 1]);
    await (
      kind === 'sqlite' ? sql`drop trigger refuse` : sql`alter table events drop constraint refuse`
    ).execute(db);
    await app.look('inbox');
    expect(await app.published(connectionId)).toEqual(['created 1']);
  });

  test("records with the operator's own fields are published later, with the fields", async () => {
    const connectionId = await app.listen('numbered');
    await app.service.call('PUT', '/api/field-mappings', {
      body: { scope: 'commerce/orders', fields: { doubled: '$number(total) * 2' } },
    });
    expect(await app.announce('made', app.order('1', app.clock.now(), { total: '2.50' }))).toBe(200);
    expect(await waiting()).toBe(1);
    await app.look('inbox');
    expect(await app.events(connectionId)).toMatchObject([{ remoteId: '1', custom: { doubled: 5 } }]);
  });

  test('an address is unknown as soon as the last subscription is deleted', async () => {
    const connectionId = await app.connect('numbered');
    const subscriptionId = await app.subscribe(connectionId);
    await app.look('jobs');
    await app.poll(connectionId);
    expect(await app.announce('made', app.order('1'))).toBe(200);
    await app.service.call('DELETE', `/webhooks/${subscriptionId}`);
    expect(await app.announce('made', app.order('2'))).toBe(404);
    expect(await app.published(connectionId)).toEqual(['created 1']);
  });
});
