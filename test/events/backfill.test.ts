import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { until } from '../support/events.ts';
import { startService } from '../support/service.ts';
import { json, startUpstream } from '../support/upstream.ts';
import { shopConnector } from './adversary.ts';

test('a backfill of a list that changes whenever it is read says that it may lack records', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'gatehouse-restless-'));
  const { id, text } = shopConnector({ paging: 'offset', order: 'none' });
  mkdirSync(join(folder, id));
  writeFileSync(join(folder, id, 'connector.yaml'), text);
  await using upstream = await startUpstream();
  // All from after listening began, so that none is sent.
  const at = new Date(Date.now() + 60_000).toISOString();
  let last = 0;
  upstream.handler = (req, res) => {
    const query = new URL(req.url ?? '', upstream.origin).searchParams;
    if (query.has('since')) return json(res, 200, { orders: [], more: false });
    const orders = [1, 2, 3].map(() => ({ id: ++last, created_at: at, updated_at: at }));
    json(res, 200, { orders, more: query.get('offset') === '0' });
  };
  await using service = await startService({ catalogFolder: folder, env: { GATEHOUSE_SANDBOX: '0' } });
  try {
    const userId = (await service.call('POST', '/users', { body: { username: 'ada' } })).text('userId');
    const made = await service.call('POST', `/users/${userId}/credentials`, {
      headers: { 'x-svc-userid': userId },
      body: { connectorId: id, data: { token: 'x', origin: upstream.origin } },
    });
    const answer = await service.call(
      'POST',
      `/2023-03/one/webhooks?connectionId=${made.text('connectionId')}`,
      { body: { address: 'https://127.0.0.1:9/never', scope: 'commerce/orders', backfill: true } },
    );
    const read = () => service.call('GET', `/webhooks/${answer.text('subscriptionId')}`);
    await until(async () => (await read()).at('backfill') === 'done');
    await until(async () => (await read()).at('reason') !== undefined);
    expect((await read()).body).toMatchObject({ status: 'active' });
    expect((await read()).text('reason')).toContain('kept changing');
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});
