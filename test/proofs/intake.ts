import { setTimeout as sleep } from 'node:timers/promises';
import { MINUTE } from '../../src/lib/clock.ts';
import { openLives, toldIn, type Lives } from './lives.ts';
import { claim, type Proof } from './proof.ts';

const DRAIN_MS = 120_000;
/** Longer than a lease of a source, so that the next life finds the source free. */
const APART_MS = MINUTE;
const SENDERS = 4;

/**
 * A shop sends webhooks and repeats each until it is accepted, and the service is killed as it accepts them. Half of them
 * contain their order and are published in the commit that stores them. The others name an order, which is read first.
 */
export const intake: Proof = {
  name: 'intake',
  sizes: { PROOF_INTAKE_KILLS: { full: 500, short: 5 } },
  async run(size) {
    await using lives = await openLives('shop');
    const { provider } = lives;
    await lives.begin(0);
    await until(async () => provider.hook !== undefined && (await registered(lives)));
    const kills = size('PROOF_INTAKE_KILLS');
    let taken = 0;
    let killAt = Number.POSITIVE_INFINITY;
    let reached: (() => void) | undefined;
    const end = new AbortController();
    const to = () => `${lives.url}${new URL(provider.hook?.address ?? '').pathname}`;
    const senders = Array.from({ length: SENDERS }, async () => {
      while (!end.signal.aborted) {
        await provider.announce(provider.create(), to);
        if (++taken >= killAt) reached?.();
      }
    });
    let between = 0;
    for (let life = 0; life < kills; life++) {
      // Kills right after a webhook is accepted, mostly before it is interpreted.
      const met = new Promise<void>((resolve) => (reached = resolve));
      killAt = taken + 1 + Math.floor(Math.random() * 8);
      await met;
      killAt = Number.POSITIVE_INFINITY;
      await lives.kill();
      if ((await unread(lives)) > 0) between += 1;
      provider.aheadMs = (life + 1) * APART_MS;
      await lives.begin(provider.aheadMs);
    }
    end.abort();
    await Promise.all(senders);
    await until(async () => (await unread(lives)) === 0);
    const told = await toldIn(lives);
    const lost = [...provider.orders.keys()].filter((id) => !told.has(id)).length;
    const doubled = [...told.values()].filter((times) => times > 1).length;
    claim(lost === 0, `${lost} of ${provider.orders.size} webhooks were lost`);
    claim(doubled === 0, `${doubled} of ${provider.orders.size} webhooks were told twice`);
    // A few lives are too few to measure a rate.
    claim(
      kills < 100 || between > kills / 2,
      `only ${between} of ${kills} kills met a webhook that was not told`,
    );
    return `${kills} kills (${between} between a webhook and its events), ${provider.orders.size} webhooks, 0 lost, 0 doubled`;
  },
};

async function registered({ context }: Lives): Promise<boolean> {
  const row = await context.db.selectFrom('sources').select('hook_state').executeTakeFirst();
  return row?.hook_state === 'registered';
}

async function unread({ context }: Lives): Promise<number> {
  const rows = await context.db
    .selectFrom('inbox')
    .select('inbox_id')
    .where('processed_at', 'is', null)
    .execute();
  return rows.length;
}

async function until(holds: () => Promise<boolean>): Promise<void> {
  const end = Date.now() + DRAIN_MS;
  while (!(await holds())) {
    claim(Date.now() < end, `nothing moved for ${DRAIN_MS / 1000} s`);
    await sleep(20);
  }
}
