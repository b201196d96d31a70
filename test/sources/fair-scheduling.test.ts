import { expect, test } from 'vitest';
import { createSources } from '../../src/sources/loops.ts';
import { MINUTE } from '../../src/lib/clock.ts';
import { openApp, type TestedApp } from './app.ts';

/* Slots for jobs, shared by all users and apps. */

/** Holds calls to a path of the app with the token `slow`, until the test releases them. */
function hold(app: TestedApp, path: string, answer: object): { count(): number; release(): void } {
  const held: (() => void)[] = [];
  app.instead = (url, res, req) => {
    if (url.pathname !== path || req.headers.authorization !== 'Bearer slow') return false;
    held.push(() => app.send(res, 200, answer));
    return true;
  };
  return {
    count: () => held.length,
    release() {
      app.instead = () => false;
      for (const letGo of held.splice(0)) letGo();
    },
  };
}

const backfill = (app: TestedApp, connectionId: string, n = 0): Promise<string> =>
  app.subscribe(connectionId, ['created'], { address: `https://127.0.0.1:9/${n}`, backfill: true });

test('registrations at an app that hangs do not delay those at another app', async () => {
  await using app = await openApp();
  const slow: string[] = [];
  for (let n = 0; n < 9; n++) slow.push(await app.connect('numbered', { token: 'slow' }));
  const well = await app.connect('sequential');
  const held = hold(app, '/hooks', { hooks: [] });
  for (const connectionId of slow) await app.subscribe(connectionId, ['created']);
  const sources = createSources();
  sources.start(app.service.context);
  try {
    await expect.poll(held.count).toBeGreaterThanOrEqual(4);
    await app.subscribe(well, ['created']);
    await expect.poll(async () => (await app.source(well)).hook_state).toBe('registered');
  } finally {
    held.release();
    await sources.close();
  }
});

test('backfills of a user whose apps hang do not delay those of another user', async () => {
  await using app = await openApp();
  const { service } = app;
  const slow = [
    await app.connect('numbered', { token: 'slow' }),
    await app.connect('sequential', { token: 'slow' }),
  ];
  const userId = (await service.call('POST', '/users', { body: { username: 'bob' } })).text('userId');
  const well = await service.call('POST', `/users/${userId}/credentials`, {
    headers: { 'x-svc-userid': userId },
    body: { connectorId: 'timeless', data: { token: 'well', origin: app.origin } },
  });
  for (const connectionId of [...slow, well.text('credentialId')])
    await app.subscribe(connectionId, ['created']);
  await app.look();
  app.clock.advance(MINUTE);
  const held = hold(app, '/orders', { orders: [], more: false });
  for (const connectionId of slow) for (let n = 0; n < 4; n++) await backfill(app, connectionId, n);
  const sources = createSources();
  sources.start(service.context);
  try {
    await expect.poll(held.count).toBeGreaterThanOrEqual(6);
    const subscriptionId = await backfill(app, well.text('credentialId'));
    await expect
      .poll(async () => (await service.call('GET', `/webhooks/${subscriptionId}`)).at('backfill'))
      .toBe('done');
  } finally {
    held.release();
    await sources.close();
  }
});
