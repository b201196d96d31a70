import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { startReceiver, verified, type Received, type Receiver } from '../support/receiver.ts';
import { startService, type Service } from '../support/service.ts';
import { makeCertificate, type Certificate } from '../support/certificate.ts';
import { install, UNREACHABLE } from './install.ts';
import { startMedusa, type Medusa } from './medusa.ts';
import { startParseServer, type ParseServer } from './parse-server.ts';

/*
 * Changes in real third parties arrive at an HTTPS receiver, signed, in the unified model. Medusa is polled; Parse
 * Server sends webhooks with a shared secret in a header.
 */

const SIXTY_SECONDS = 60_000;

let certificate: Certificate;
let service: Service;
let receiver: Receiver;
let userId: string;

const folders = { medusa: await install('medusa'), parseServer: await install('parse-server') };

beforeAll(async () => {
  certificate = makeCertificate();
  receiver = await startReceiver(certificate);
  service = await startService({
    env: { GATEHOUSE_CA_FILE: certificate.file, GATEHOUSE_POLL_INTERVAL: '1' },
  });
  userId = (await service.call('POST', '/users', { body: { username: 'ada' } })).text('userId');
});
afterAll(async () => {
  await service?.stop();
  await receiver?.[Symbol.asyncDispose]();
  certificate?.[Symbol.dispose]();
});

async function connect(connectorId: string, data: object, owner = userId): Promise<string> {
  const made = await service.call('POST', `/users/${owner}/credentials`, {
    headers: { 'x-svc-userid': owner },
    body: { connectorId, data },
  });
  if (made.status !== 201) throw new Error(JSON.stringify(made.body));
  return made.text('credentialId');
}

async function subscribe(connectionId: string, scope: string, more: object = {}) {
  const made = await service.call('POST', `/2023-03/one/webhooks?connectionId=${connectionId}`, {
    body: { address: receiver.url, scope, ...more },
  });
  if (made.status !== 201) throw new Error(JSON.stringify(made.body));
  return { id: made.text('subscriptionId'), secret: made.text('secret'), source: made.at('source') };
}

/** Returns the deliveries of a subscription so far, each verified by its signature. */
function receivedBy({ id, secret }: { id: string; secret: string }) {
  return receiver.received
    .filter(({ headers }) => headers['x-svc-subscription-id'] === id)
    .map((one: Received) => ({
      event: one.headers['x-svc-event'],
      scope: one.headers['x-svc-scope'],
      sequence: one.headers['x-svc-sequence'],
      body: z.record(z.string(), z.unknown()).parse(verified(secret, one)),
    }));
}

async function until<T>(look: () => T | undefined | Promise<T | undefined>): Promise<T> {
  const end = Date.now() + SIXTY_SECONDS - 5000;
  for (;;) {
    const found = await look();
    if (found !== undefined) return found;
    if (Date.now() > end) throw new Error('It did not come to pass.');
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

/**
 * Waits for this number of deliveries, of one record or of all. A record from the two seconds before a subscription may
 * arrive too, because times at the app can be that coarse.
 */
const arrived = (subscription: { id: string; secret: string }, count: number, remoteId?: string) =>
  until(() => {
    const all = receivedBy(subscription).filter(
      ({ body }) => body['remoteId'] === (remoteId ?? body['remoteId']),
    );
    return all.length >= count ? all : undefined;
  });

/** Waits for the first poll of a source, which records the existing records; later records are new. */
const begun = (connectionId: string, scope: string) =>
  until(async () => {
    const row = await service.context.db
      .selectFrom('sources')
      .select(['baseline_at', 'hook_state'])
      .where('credential_id', '=', connectionId)
      .where('scope', '=', scope)
      .executeTakeFirst();
    return row && row.baseline_at !== null && row.hook_state !== 'wanted' ? row : undefined;
  });

describe('Medusa, polled', () => {
  let medusa: Medusa;
  let connectionId: string;

  beforeAll(async () => {
    if (folders.medusa === undefined) return;
    medusa = await startMedusa(folders.medusa);
    connectionId = await connect('medusa', { backendUrl: medusa.url, apiKey: medusa.secretKey });
  });
  beforeEach(({ skip }) => skip(folders.medusa === undefined, UNREACHABLE));
  afterAll(() => medusa?.[Symbol.asyncDispose]());

  const act = async (actionId: string, input: object) => {
    const done = await service.call('POST', `/connectors/medusa/actions/${actionId}/execute`, {
      headers: { 'x-svc-userid': userId },
      body: { input },
    });
    if (done.status !== 200) throw new Error(JSON.stringify(done.body));
    return done;
  };

  test(
    'orders made in Medusa arrive by polling once each and in order',
    async () => {
      const subscription = await subscribe(connectionId, 'commerce/orders');
      expect(subscription.source).toBe('polling');
      await begun(connectionId, 'commerce/orders');
      const made: string[] = [];
      for (let quantity = 1; quantity <= 3; quantity++) {
        const draft = await act('create_draft_order', {
          region_id: medusa.regionId,
          email: `buyer${quantity}@example.test`,
          items: [{ variant_id: medusa.variantId, quantity }],
        });
        made.push(draft.text('data.id'));
        await act('convert_draft_order', { draftOrderId: draft.text('data.id') });
      }
      const deliveries = await arrived(subscription, 3);
      expect(deliveries.map(({ body }) => body['remoteId'])).toEqual(made);
      expect(deliveries.map(({ sequence }) => sequence)).toEqual(['1', '2', '3']);
      expect(deliveries[2]).toMatchObject({
        event: 'created',
        scope: 'commerce/orders',
        body: {
          orderStatus: 'open',
          currency: 'EUR',
          totalPrice: '30.00',
          customer: { email: 'buyer3@example.test' },
          lineItems: [{ title: 'Mug', quantity: 3, price: '10.00', currency: 'EUR' }],
          raw: { id: made[2], currency_code: 'eur' },
        },
      });
      const read = await service.call(
        'GET',
        `/2023-03/one/commerce/orders/${String(deliveries[2]?.body['id'])}?connectionId=${connectionId}`,
      );
      expect(read.at('totalPrice')).toBe('30.00');
    },
    SIXTY_SECONDS,
  );

  test(
    'the three models of Medusa are read, and one record of each',
    async () => {
      for (const scope of ['commerce/customers', 'commerce/orders', 'commerce/products']) {
        const list = await service.call('GET', `/2023-03/one/${scope}?connectionId=${connectionId}&limit=2`);
        expect([scope, list.status]).toEqual([scope, 200]);
        const id = list.text('data.0.id');
        const one = await service.call('GET', `/2023-03/one/${scope}/${id}?connectionId=${connectionId}`);
        expect([one.text('remoteId'), one.text('updatedAt')]).toEqual([
          list.text('data.0.remoteId'),
          list.text('data.0.updatedAt'),
        ]);
      }
      const product = await service.call(
        'GET',
        `/2023-03/one/commerce/products?connectionId=${connectionId}`,
      );
      expect(product.at('data.0')).toMatchObject({
        productName: 'Mug',
        productStatus: 'active',
        currency: 'EUR',
        price: '10.00',
        variants: [{ remoteId: medusa.variantId, title: 'S', price: '10.00' }],
      });
    },
    SIXTY_SECONDS,
  );

  test(
    'a customer that is changed in Medusa arrives as an update',
    async () => {
      const subscription = await subscribe(connectionId, 'commerce/customers', {
        events: ['created', 'updated'],
      });
      await begun(connectionId, 'commerce/customers');
      const customer = await act('create_customer', { email: 'ada@example.test', first_name: 'Ada' });
      await arrived(subscription, 1, customer.text('data.id'));
      await act('update_customer', { customerId: customer.text('data.id'), last_name: 'Lovelace' });
      const deliveries = await arrived(subscription, 2, customer.text('data.id'));
      expect(deliveries.map(({ event, body }) => [event, body['firstName'], body['lastName']])).toEqual([
        ['created', 'Ada', null],
        ['updated', 'Ada', 'Lovelace'],
      ]);
    },
    SIXTY_SECONDS,
  );
});

describe('Parse Server, by its own webhooks', () => {
  let parse: ParseServer;
  let connectionId: string;
  let subscription: { id: string; secret: string; source: unknown };
  const triggers = async () =>
    z
      .array(z.object({ className: z.string(), triggerName: z.string(), url: z.string() }))
      .parse(await parse.administer('GET', '/hooks/triggers'));

  beforeAll(async () => {
    if (folders.parseServer === undefined) return;
    parse = await startParseServer(folders.parseServer);
    const { url: serverUrl, applicationId, restApiKey, masterKey, webhookKey } = parse;
    connectionId = await connect('parse-server', {
      serverUrl,
      applicationId,
      restApiKey,
      masterKey,
      webhookKey,
    });
    await parse.create('Order', { number: 1, total: 10, currency: 'EUR' });
  });
  beforeEach(({ skip }) => skip(folders.parseServer === undefined, UNREACHABLE));
  afterAll(() => parse?.[Symbol.asyncDispose]());

  test(
    'a subscription registers a webhook for each trigger of Parse Server',
    async () => {
      subscription = await subscribe(connectionId, 'commerce/orders', {
        events: ['created', 'updated', 'deleted'],
      });
      expect(subscription.source).toBe('native');
      await begun(connectionId, 'commerce/orders');
      const registered = await triggers();
      expect(registered.map(({ className, triggerName }) => `${className} ${triggerName}`).sort()).toEqual([
        'Order afterDelete',
        'Order afterSave',
      ]);
      expect(registered[0]?.url).toMatch(new RegExp(`^${service.url}/hooks/parse-server/.{20,}$`));
    },
    SIXTY_SECONDS,
  );

  test(
    'an object made, changed and removed in Parse Server arrives three times, signed',
    async () => {
      const objectId = await parse.create('Order', {
        number: 2,
        total: 12.5,
        currency: 'eur',
        status: 'open',
        email: 'ada@example.test',
        items: [{ title: 'Mug', quantity: 2, price: 6.25 }],
      });
      await arrived(subscription, 1, objectId);
      await parse.call('PUT', `/classes/Order/${objectId}`, { status: 'completed' });
      await arrived(subscription, 2, objectId);
      await parse.call('DELETE', `/classes/Order/${objectId}`);
      const [made, changed, removed] = await arrived(subscription, 3, objectId);
      expect(made).toMatchObject({
        event: 'created',
        scope: 'commerce/orders',
        body: {
          remoteId: objectId,
          orderNumber: '2',
          orderStatus: 'open',
          currency: 'EUR',
          totalPrice: '12.50',
          customer: { email: 'ada@example.test' },
          lineItems: [{ title: 'Mug', quantity: 2, price: '6.25', currency: 'EUR' }],
        },
      });
      expect([changed?.event, changed?.body['orderStatus']]).toEqual(['updated', 'completed']);
      expect(removed?.event).toBe('deleted');
      const first = Number(made?.sequence);
      expect([changed?.sequence, removed?.sequence]).toEqual([String(first + 1), String(first + 2)]);
      expect(removed?.body).toEqual({
        id: made?.body['id'],
        remoteId: objectId,
        deletedAt: expect.stringMatching(/Z$/),
      });
    },
    SIXTY_SECONDS,
  );

  test(
    'the daily reconciliation finds no unreported record',
    async () => {
      const before = receivedBy(subscription).length;
      await parse.create('Order', { number: 3, total: 1, currency: 'EUR' });
      await arrived(subscription, before + 1);
      await service.context.db
        .updateTable('sources')
        .set({ next_poll_at: 0, next_reconcile_at: 1 })
        .where('credential_id', '=', connectionId)
        .execute();
      service.context.sources.wake();
      await until(async () => {
        const due = await service.context.db
          .selectFrom('sources')
          .select('source_id')
          .where('credential_id', '=', connectionId)
          .where('next_reconcile_at', '=', 1)
          .executeTakeFirst();
        return due ? undefined : true;
      });
      expect(receivedBy(subscription)).toHaveLength(before + 1);
    },
    SIXTY_SECONDS,
  );

  test('a webhook without the shared secret is refused, and its keys are not stored', async () => {
    const [trigger] = await triggers();
    const body = JSON.stringify({ triggerName: 'afterSave', object: { objectId: 'forged0000' } });
    for (const headers of [{}, { 'x-parse-webhook-key': 'wrong' }, { 'x-parse-webhook-key': '' }]) {
      const answer = await fetch(trigger?.url ?? '', {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...headers },
        body,
      });
      expect(answer.status).toBe(401);
    }
    const kept = await service.context.db.selectFrom('inbox').select('body').execute();
    expect(kept.length).toBeGreaterThan(0);
    const text = JSON.stringify(kept) + service.logged.join('');
    for (const key of [parse.restApiKey, parse.masterKey, parse.webhookKey]) expect(text).not.toContain(key);
    expect(text).not.toContain('forged0000');
  });

  test(
    'Parse Server without webhook keys is polled, and its objects still arrive',
    async () => {
      const { url: serverUrl, applicationId, restApiKey } = parse;
      // Another user, because one user has one credential for one account.
      const owner = (await service.call('POST', '/users', { body: { username: 'bea' } })).text('userId');
      const second = await connect('parse-server', { serverUrl, applicationId, restApiKey }, owner);
      const polled = await subscribe(second, 'commerce/products');
      expect(polled.source).toBe('polling');
      await begun(second, 'commerce/products');
      const objectId = await parse.create('Product', {
        title: 'Mug',
        sku: 'MUG-1',
        price: 12.5,
        currency: 'EUR',
      });
      const [delivery] = await arrived(polled, 1);
      expect(delivery).toMatchObject({
        event: 'created',
        body: { remoteId: objectId, productName: 'Mug', sku: 'MUG-1', price: '12.50', currency: 'EUR' },
      });

      // With the keys, the next subscription makes the source native for all.
      const { masterKey, webhookKey } = parse;
      const given = await service.call('PUT', `/users/${owner}/credentials/${second}`, {
        headers: { 'x-svc-userid': owner },
        body: { data: { masterKey, webhookKey } },
      });
      expect(given.status).toBe(200);
      const native = await subscribe(second, 'commerce/products', { address: `${receiver.url}/second` });
      expect(native.source).toBe('native');
      await until(async () => ((await triggers()).length === 4 ? true : undefined));
      const next = await parse.create('Product', { title: 'Cup', price: 9 });
      const [, cup] = await arrived(polled, 2);
      expect([cup?.body['remoteId'], (await arrived(native, 1))[0]?.body['remoteId']]).toEqual([next, next]);
      for (const { id } of [polled, native]) await service.call('DELETE', `/webhooks/${id}`);
    },
    SIXTY_SECONDS,
  );

  test(
    'the end of the subscription removes the webhooks in Parse Server',
    async () => {
      const ended = await service.call('DELETE', `/webhooks/${subscription.id}`);
      expect(ended.status).toBe(200);
      await until(async () => ((await triggers()).length === 0 ? true : undefined));
    },
    SIXTY_SECONDS,
  );
});
