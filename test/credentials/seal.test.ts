import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { until } from '../support/until.ts';
import { startShop, type Shop } from '../support/shop.ts';
import { STORE_KINDS } from '../support/stores.ts';
import { GOOD_KEY } from '../support/third-party.ts';

describe.each(STORE_KINDS)('seals on %s', (kind) => {
  let shop: Shop;
  beforeAll(async () => {
    shop = await startShop({ kind });
  });
  afterAll(() => shop[Symbol.asyncDispose]());

  const change = (set: { connector_id?: string; type?: string; sealed?: string }) =>
    shop.service.context.db.updateTable('credentials').set(set).execute();
  const list = () =>
    shop.call('POST', '/connectors/linked/actions/list_things/execute', {
      body: { input: {}, credentialId: shop.credentialId },
    });

  test('a credential whose row names another connector does not open', async () => {
    await change({ connector_id: 'linked' });
    shop.party.seen.length = 0;
    expect(await list()).toMatchObject({ status: 500 });
    expect(shop.party.seen).toEqual([]);
    await change({ connector_id: 'shop' });
    await until(async () => (await shop.execute('get_me')).status === 200);
  });

  test('a credential of another type than the sealed one does not open', async () => {
    const values = JSON.stringify({ apiKey: GOOD_KEY, origin: shop.party.origin });
    const row = `credential|development|${shop.userId}|${shop.credentialId}`;
    await change({ sealed: shop.service.context.keys.seal(values, `${row}|shop|bearer|`) });
    await expect.poll(async () => (await shop.execute('get_me')).status).toBe(500);
  });
});
