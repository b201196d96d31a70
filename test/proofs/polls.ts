import { setTimeout as sleep } from 'node:timers/promises';
import { MINUTE } from '../../src/lib/clock.ts';
import { openLives, toldIn, type Lives } from './lives.ts';
import { claim, type Proof } from './proof.ts';

/** Longer than a lease of a source, so that the next life finds the source free. */
const APART_MS = 6 * MINUTE;
const NEW_A_LIFE = 5;
/** Time from the answer of the list to the end of the commit. */
const COMMIT_WITHIN_MS = 250;

/** A shop is polled. The service is killed between the answer of the list and the end of the commit, or just after. */
export const polls: Proof = {
  name: 'polls',
  sizes: { PROOF_POLL_KILLS: { full: 500, short: 5 } },
  async run(size) {
    await using lives = await openLives('polled-shop');
    const { provider } = lives;
    await lives.begin(0);
    await until(async () => (await cursor(lives)) !== null);
    await lives.kill();
    const kills = size('PROOF_POLL_KILLS');
    let before = 0;
    for (let life = 1; life <= kills; life++) {
      provider.aheadMs = life * APART_MS;
      for (let n = 0; n < NEW_A_LIFE; n++) provider.create();
      const listed = new Promise<void>((resolve) => (provider.listed = resolve));
      const was = await cursor(lives);
      await lives.begin(provider.aheadMs);
      await listed;
      await sleep(Math.random() * COMMIT_WITHIN_MS);
      await lives.kill();
      if ((await cursor(lives)) === was) before += 1;
    }
    provider.listed = undefined;
    await lives.begin((kills + 1) * APART_MS);
    await until(async () => (await toldIn(lives)).size >= provider.orders.size);
    // One more poll, which could report a record twice.
    const was = await cursor(lives);
    await until(async () => (await cursor(lives)) !== was);
    const told = await toldIn(lives);
    const lost = [...provider.orders.keys()].filter((id) => !told.has(id)).length;
    const doubled = [...told.values()].filter((times) => times > 1).length;
    const phantoms = [...told.keys()].filter((id) => !provider.orders.has(id)).length;
    claim(lost + doubled + phantoms === 0, `${lost} lost, ${doubled} doubled, ${phantoms} made up`);
    // A few lives are too few to measure a rate.
    const isAround = before > kills / 2 && before < kills;
    claim(kills < 100 || isAround, `${before} of ${kills} kills came before the commit: not around it`);
    return `${kills} kills (${before} before the commit), ${provider.orders.size} orders created, each told once`;
  },
};

async function cursor({ context }: Lives): Promise<number | null> {
  const row = await context.db.selectFrom('sources').select('cursor_until').executeTakeFirst();
  return row?.cursor_until ?? null;
}

async function until(holds: () => Promise<boolean>): Promise<void> {
  const end = Date.now() + 2 * MINUTE;
  while (!(await holds())) {
    claim(Date.now() < end, 'the polls stand still');
    await sleep(20);
  }
}
