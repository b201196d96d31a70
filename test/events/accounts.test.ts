import { expect, test } from 'vitest';
import { DAY, MINUTE } from '../../src/lib/clock.ts';
import { openApp, type TestedApp } from './app.ts';

/* What becomes of a source whose connection leads to another account. */

test('a registration under way when another account takes the place is made anew there, and heard', async () => {
  await using app = await openApp();
  const connectionId = await app.connect('numbered');
  await app.subscribe(connectionId);
  let answer: (() => void) | undefined;
  app.instead = (url, res, req) => {
    if (answer || url.pathname !== '/hooks' || req.method !== 'GET') return false;
    answer = () => app.send(res, 200, { hooks: [] });
    return true;
  };
  const registering = app.look('jobs');
  await expect.poll(() => answer !== undefined).toBe(true);
  app.clock.advance(1);
  await takePlace(app, connectionId);
  answer?.();
  await registering;
  await app.look('jobs');
  await app.look('jobs');
  expect(await app.source(connectionId)).toMatchObject({ kind: 'native', hook_state: 'registered' });
  expect(await app.announce('made', app.order('o1'))).toBe(200);
});

test('a source whose webhooks lead nowhere is heard again after the daily look', async () => {
  await using app = await openApp();
  const connectionId = await app.connect('numbered');
  await app.subscribe(connectionId);
  await app.look('jobs');
  await app.service.context.db.updateTable('sources').set({ hook_hash: null }).execute();
  expect(await app.announce('made', app.order('o1'))).toBe(404);
  app.clock.advance(DAY + MINUTE);
  await app.look('jobs');
  expect(await app.announce('made', app.order('o1'))).toBe(200);
});

/** A key of another account replaces the one that is there. */
async function takePlace(app: TestedApp, connectionId: string): Promise<void> {
  app.account = 'acct_2';
  const replaced = await app.replaceKey(connectionId, 'y');
  expect(replaced.at('account.id')).toBe('acct_2');
}
