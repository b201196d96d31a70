import { afterEach, describe, expect, test } from 'vitest';
import { DAY, HOUR, MINUTE } from '../../../src/lib/clock.ts';
import { openApp, type ConnectorName, type TestedApp } from '../app.ts';
import { STORE_KINDS } from '../../support/stores.ts';

/* Registrations of webhooks that expire. */

const TOPICS = 3;
const closing: (() => PromiseLike<unknown>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).toReversed()) await close();
});

describe.each(STORE_KINDS)('registrations that expire, over %s', (kind) => {
  /** Opens the app with a registered source. */
  async function listen(connectorId: ConnectorName): Promise<{ app: TestedApp; connectionId: string }> {
    const app = await openApp(kind);
    closing.push(() => app[Symbol.asyncDispose]());
    await app.warn();
    const connectionId = await app.listen(connectorId);
    expect((await app.source(connectionId)).hook_state).toBe('registered');
    app.clearCalls();
    return { app, connectionId };
  }
  const hookCalls = ({ calls }: TestedApp) => calls.filter((call) => call.includes('/hooks'));

  test('expiring registrations are renewed before they expire, and not earlier', async () => {
    const { app } = await listen('renewing');
    app.clock.advance(12 * HOUR);
    await app.look('jobs');
    expect(hookCalls(app)).toEqual([]);
    app.clock.advance(7 * HOUR);
    await app.look('jobs');
    expect(hookCalls(app)).toEqual(['PATCH /hooks/h1', 'PATCH /hooks/h2', 'PATCH /hooks/h3']);
    const until = new Date(app.clock.now() + DAY).toISOString();
    expect(app.hooks.map(({ expires }) => expires)).toEqual([until, until, until]);
    app.clearCalls();
    app.clock.advance(12 * HOUR);
    await app.look('jobs');
    expect(hookCalls(app)).toEqual([]);
    app.clock.advance(7 * HOUR);
    await app.look('jobs');
    expect(hookCalls(app)).toHaveLength(TOPICS);
  });

  test('a registration that the app lost is made again, and a poll closes the gap', async () => {
    const { app, connectionId } = await listen('renewing');
    app.dropHooks();
    app.orders = [app.order('o1')];
    app.clock.advance(19 * HOUR);
    await app.look('jobs');
    expect(app.hooks).toHaveLength(TOPICS);
    await app.poll(connectionId);
    expect(await app.published(connectionId)).toEqual(['created o1']);
    expect(await app.announce('made', app.order('o2'))).toBe(200);
    expect((await app.published(connectionId)).toSorted()).toEqual(['created o1', 'created o2']);
  });

  test('an expiring registration is replaced where the app cannot renew it', async () => {
    const { app, connectionId } = await listen('replacing');
    app.clock.advance(19 * HOUR);
    await app.look('jobs');
    expect(hookCalls(app).slice(0, 2)).toEqual(['POST /hooks', 'DELETE /hooks/h1?resource=of_h1']);
    expect(app.hooks.map(({ id }) => id)).toEqual(['h4', 'h5', 'h6']);
    expect(await app.announce('made', app.order('o1'))).toBe(200);
    expect(await app.published(connectionId)).toEqual(['created o1']);
    app.clearCalls();
    app.clock.advance(HOUR);
    await app.look('jobs');
    expect(hookCalls(app)).toEqual([]);
  });

  test('a failed renewal is reported once and tried again more and more often', async () => {
    const { app, connectionId } = await listen('renewing');
    app.instead = (url, res, { method }) => {
      if (!url.pathname.startsWith('/hooks') || method !== 'PATCH') return false;
      app.send(res, 500, {});
      return true;
    };
    app.clock.advance(19 * HOUR);
    const tries: number[] = [];
    for (let minutes = 0; minutes < 4 * 60; minutes += 5) {
      const before = hookCalls(app).length;
      await app.look('jobs');
      if (hookCalls(app).length > before) tries.push(minutes);
      app.clock.advance(5 * MINUTE);
    }
    expect(tries.length).toBeGreaterThan(3);
    expect(tries.length).toBeLessThan(12);
    expect(await app.warnings()).toMatchObject([
      { connectorId: 'renewing', reason: expect.stringContaining('not renewed') },
    ]);
    app.recover();
    app.clock.advance(HOUR);
    await app.look('jobs');
    expect((await app.source(connectionId)).hook_state).toBe('registered');
    expect(await app.warnings()).toHaveLength(1);
  });

  test('an expired registration lets the source be polled until there is another one', async () => {
    const { app, connectionId } = await listen('replacing');
    app.refuse(503, '/hooks');
    app.clock.advance(19 * HOUR);
    await app.look('jobs');
    app.clock.advance(6 * HOUR);
    await app.look('jobs');
    expect((await app.source(connectionId)).hook_state).toBe('wanted');
    app.orders = [app.order('o1')];
    await app.polls(connectionId, 1, 10 * MINUTE);
    expect(await app.published(connectionId)).toEqual(['created o1']);
    app.recover();
    app.clock.advance(HOUR);
    await app.look('jobs');
    expect((await app.source(connectionId)).hook_state).toBe('registered');
    expect(await app.warnings()).toHaveLength(1);
  });
});
