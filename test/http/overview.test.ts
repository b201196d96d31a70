import { afterAll, beforeAll, expect, test } from 'vitest';
import { MINUTE } from '../../src/lib/clock.ts';
import { manualClock } from '../support/clock.ts';
import { notesFile } from '../support/custom.ts';
import { shop } from '../support/mcp.ts';
import { startService, type Service } from '../support/service.ts';

/* The things that GET /api/overview counts for attention, and the list of subscriptions that it leads to. */

const clock = manualClock();
let service: Service;
beforeAll(async () => {
  service = await startService({ clock });
});
afterAll(() => service.stop());

const overview = async (path: string) => (await service.call('GET', '/api/overview')).at(path);

test('a receiver that fails for 15 minutes is counted and found by its state', async () => {
  const [one, other] = [await shop(service), await shop(service)];
  const ids = [];
  for (const { credentialId } of [one, other]) {
    const made = await service.call('POST', `/2023-03/one/webhooks?connectionId=${credentialId}`, {
      body: { address: 'https://127.0.0.1:9/never', scope: 'commerce/orders', events: ['created'] },
    });
    ids.push(made.text('subscriptionId'));
  }
  const [failing = '', well = ''] = ids;
  const set = (values: object) =>
    service.context.db
      .updateTable('subscriptions')
      .set(values)
      .where('subscription_id', '=', failing)
      .execute();
  await set({ failing_since: clock.now() });
  expect(await overview('subscriptions')).toEqual({ active: 2, disabled: 0, failing: 0 });
  clock.advance(15 * MINUTE);
  expect(await overview('subscriptions')).toEqual({ active: 2, disabled: 0, failing: 1 });

  const found = async (query: string) => {
    const { body } = await service.call('GET', `/2023-03/one/webhooks?${query}`);
    return Object(body).data.map((row: { subscriptionId: string }) => row.subscriptionId);
  };
  expect(await found('state=failing')).toEqual([failing]);
  expect((await found('state=active')).toSorted()).toEqual([failing, well].toSorted());
  expect(await found(`userId=${other.userId}`)).toEqual([well]);
  expect(await found(`userId=${other.userId}&state=failing`)).toEqual([]);
  await set({ status: 'disabled' });
  expect(await overview('subscriptions')).toEqual({ active: 1, disabled: 1, failing: 0 });
  expect(await found('state=disabled')).toEqual([failing]);
});

test('a list of subscriptions for one user refuses another userId', async () => {
  const { userId } = await shop(service);
  const answer = await service.call('GET', '/2023-03/one/webhooks?userId=usr_other', {
    headers: { 'x-svc-userid': userId },
  });
  expect([answer.status, answer.at('details.faults.0.field')]).toEqual([400, 'userId']);
});

test('a new connector waits for approval only while a server pins tools', async () => {
  await service.call('GET', '/api/tools/changes');
  const definition = notesFile('https://notes.example.com');
  await service.call('POST', '/api/connectors', { body: { definition } });
  expect(await overview('connectors.changed')).toBe(0);
  await shop(service, { pinTools: true });
  expect(await overview('connectors.changed')).toBe(1);
});
