import { createHook } from 'node:async_hooks';
import { createServer } from 'node:net';
import { claim, type Proof } from './proof.ts';
import { HOSTILE, PUBLIC } from '../support/addresses.ts';
import { created, startEvents, subscribe, type EventsService } from '../support/events.ts';
import { until } from '../support/until.ts';
import { startReceiver, type Receiver } from '../support/receiver.ts';
import { Dispatcher } from '../../src/outbox/dispatcher.ts';
import { assertAddress } from '../../src/subscriptions/address.ts';
import { createOutbound } from '../../src/outbound/outbound.ts';
import type { Lookup } from '../../src/outbound/outbound-names.ts';

/** Records every connection that this process begins. */
function watchConnections(): { to: Set<string>; stop(): void } {
  const begun: object[] = [];
  const to = new Set<string>();
  const hook = createHook({
    init(_id, type, _trigger, resource) {
      // Undici sets the address on the socket right after creating it.
      if (type === 'TCPCONNECTWRAP') begun.push(resource);
    },
  }).enable();
  return {
    get to() {
      for (const one of begun.splice(0)) {
        if ('address' in one && 'port' in one) to.add(`${String(one.address)} ${String(one.port)}`);
      }
      return to;
    },
    stop: () => void hook.disable(),
  };
}

/** No connection to an internal address begins, in any spelling and from any feature. */
export const outward: Proof = {
  name: 'outward',
  sizes: {
    PROOF_ADDRESSES: { full: HOSTILE.length * 2, short: 60 },
    PROOF_REBINDS: { full: 1000, short: 30 },
  },
  async run(size) {
    const canary = createServer((socket) => void (canaries++, socket.destroy()));
    let canaries = 0;
    await new Promise<void>((resolve) => canary.listen(0, '::', resolve));
    const bound = canary.address();
    const port = typeof bound === 'object' && bound ? bound.port : 0;
    await using receiver = await startReceiver();
    const allowed = new URL(receiver.url);
    const service = await startEvents({
      env: {
        GATEHOUSE_ALLOW_PRIVATE_NETWORK: '0',
        GATEHOUSE_ALLOWED_NETWORKS: allowed.host,
        GATEHOUSE_RETRY_SCHEDULE: '86400',
        LOG_LEVEL: 'warn',
      },
    });
    const watch = watchConnections();
    try {
      const all = HOSTILE.flatMap((host) => [`https://${host}:${port}/hook`, `http://${host}:${port}/hook`]);
      const corpus = spread(all, size('PROOF_ADDRESSES'));
      const accepted: string[] = [];
      for (const address of corpus) {
        const answer = await service.call(
          'POST',
          `/2023-03/one/webhooks?connectionId=${service.connectionId}`,
          {
            body: { scope: 'commerce/orders', address },
          },
        );
        if (answer.status !== 400) accepted.push(address);
      }
      // Written directly into the store, as if the API had accepted them.
      const { subscriptionId } = await subscribe(service, { address: receiver.url });
      await created(service, ['first']);
      await receiver.arrived(1);
      const sent = await sendTo(
        service,
        subscriptionId,
        spread(HOSTILE, size('PROOF_ADDRESSES')).map((host) => `https://${host}:${port}/hook`),
      );
      const redirects = await redirected(service, receiver, port);
      const rebinds = await rebound(service, subscriptionId, size('PROOF_REBINDS'), port);
      const refusedPublic = await refusedOf(PUBLIC);

      const own = new Set([`127.0.0.1 ${new URL(service.url).port}`, `127.0.0.1 ${allowed.port}`]);
      claim(watch.to.has(`127.0.0.1 ${allowed.port}`), 'a connection that is begun is seen');
      const stray = [...watch.to].filter((peer) => !own.has(peer));
      const figures =
        `${corpus.length} addresses offered, ${accepted.length} accepted; ${sent} sent to all the same, ${redirects} redirects, ` +
        `${rebinds} names that turned inside after their check: ${stray.length} connections begun, ${canaries} arrived; ` +
        `${refusedPublic.length} of ${PUBLIC.length} public forms refused`;
      claim(accepted.length === 0, `addresses inside are refused (${figures}; ${accepted.join(' ')})`);
      claim(stray.length === 0 && canaries === 0, `no connection is begun (${figures}; ${stray.join(', ')})`);
      claim(refusedPublic.length === 0, `public addresses are not refused (${refusedPublic.join(' ')})`);
      return figures;
    } finally {
      watch.stop();
      await service.stop();
      await new Promise((resolve) => canary.close(resolve));
    }
  },
};

/** Returns `count` members from all parts of a list. */
function spread<T>(list: readonly T[], count: number): T[] {
  const step = Math.max(1, list.length / count);
  return list.filter((_, at) => Math.floor(at / step) !== Math.floor((at - 1) / step));
}

/** Delivers to each address and waits for the outcomes. */
async function sendTo(service: EventsService, subscriptionId: string, addresses: string[]): Promise<number> {
  const { context } = service;
  for (const [n, address] of addresses.entries()) {
    await context.db
      .updateTable('subscriptions')
      .set({ address })
      .where('subscription_id', '=', subscriptionId)
      .execute();
    context.dispatcher.changed(subscriptionId);
    await created(service, [`inside-${n}`], { wake: false });
    await service.call('POST', `/webhooks/${subscriptionId}/test`);
    await until(async () => (await attemptsOf(service, subscriptionId)) >= 2 * (n + 1) + 1);
  }
  return addresses.length * 2;
}

async function attemptsOf({ context }: EventsService, subscriptionId: string): Promise<number> {
  const row = await context.db
    .selectFrom('deliveries')
    .select((e) => e.fn.sum<number | null>('attempts').as('count'))
    .where('subscription_id', '=', subscriptionId)
    .executeTakeFirstOrThrow();
  return Number(row.count);
}

/** An allowed receiver redirects to a refused one. */
async function redirected(service: EventsService, receiver: Receiver, port: number): Promise<number> {
  const statuses = [301, 302, 303, 307, 308];
  const { subscriptionId } = await subscribe(service, { address: `${receiver.url}/elsewhere` });
  const location = `http://127.0.0.1:${port}/`;
  for (const [n, status] of statuses.entries()) {
    receiver.answer = (_, res) => res.writeHead(status, { location }).end();
    await service.call('POST', `/webhooks/${subscriptionId}/test`);
    await until(async () => (await attemptsOf(service, subscriptionId)) > n);
  }
  // Requests of actions may follow redirects, and each hop is checked again.
  for (const status of statuses) {
    receiver.answer = (_, res) => res.writeHead(status, { location }).end();
    const followed = service.context.outbound.request({
      method: 'GET',
      url: receiver.url,
      followRedirects: true,
    });
    const refused = await followed.then(
      () => false,
      () => true,
    );
    claim(refused, `a redirect with ${status} to the inside is refused`);
  }
  return 2 * statuses.length;
}

/** Names that resolve to a public address when they are checked and to an internal one when they are called. */
async function rebound(
  service: EventsService,
  subscriptionId: string,
  count: number,
  port: number,
): Promise<number> {
  const { context } = service;
  const asked = new Map<string, number>();
  const inside = ['127.0.0.1', '::1', '10.0.0.1', '169.254.169.254', '::ffff:127.0.0.1', '192.168.0.1'];
  const lookup: Lookup = (name, _options, callback) => {
    const times = asked.get(name) ?? 0;
    asked.set(name, times + 1);
    const bad = inside[asked.size % inside.length] ?? '';
    const addresses = times === 0 ? ['8.8.8.8'] : asked.size % 2 === 0 ? [bad] : ['8.8.8.8', bad];
    callback(
      null,
      addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 })),
    );
  };
  const outbound = createOutbound({ allowedNetworks: [], allowPrivateNetwork: false, lookup });
  const dispatcher = new Dispatcher(context, { outbound, scheduleMs: [86_400_000] });
  await context.dispatcher.close();
  dispatcher.start();
  const rebinding = { ...service, context: { ...context, dispatcher } };
  const before = await attemptsOf(service, subscriptionId);
  for (let n = 0; n < count; n++) {
    const address = `https://r${n}.example.com:${port}/`;
    await assertAddress({ outbound }, address, 'address');
    await context.db
      .updateTable('subscriptions')
      .set({ address })
      .where('subscription_id', '=', subscriptionId)
      .execute();
    dispatcher.changed(subscriptionId);
    await created(rebinding, [`rebound-${n}`]);
    await until(async () => (await attemptsOf(service, subscriptionId)) > before + n);
  }
  await dispatcher.close();
  await outbound.close();
  return count;
}

async function refusedOf(hosts: readonly string[]): Promise<string[]> {
  const lookup: Lookup = (_name, _options, callback) => callback(null, [{ address: '8.8.8.8', family: 4 }]);
  const outbound = createOutbound({ allowedNetworks: [], allowPrivateNetwork: false, lookup });
  const refused: string[] = [];
  for (const host of hosts)
    await assertAddress({ outbound }, `https://${host}/hook`, 'address').catch(() => refused.push(host));
  await outbound.close();
  return refused;
}
