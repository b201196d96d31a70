import { isDeepStrictEqual } from 'node:util';
import fc from 'fast-check';
import { delays, depths, openWorld, skews, stepsOf, styles } from '../sources/polling/world.ts';
import { claim, type Proof } from './proof.ts';

/**
 * Shops with the faults that polling meets: late records, equal times, drifting pages, deletions, and clocks up to ten
 * minutes off. They refuse requests (also a page within a list, or all pages beyond a number) and break connections. The
 * first poll may fail, days may pass without a poll, and a process may die under a lease. Gatehouse's own clock may be
 * hours or weeks ahead for a moment.
 */
export const adversary: Proof = {
  name: 'adversary',
  sizes: { PROOF_SHOPS: { full: 2000, short: 25 } },
  async run(size) {
    await using world = await openWorld();
    let orders = 0;
    const shops = size('PROOF_SHOPS');
    await fc.assert(
      fc.asyncProperty(
        styles,
        skews,
        stepsOf,
        delays,
        depths,
        async (style, skew, steps, downFor, deepest) => {
          const { published, expected } = await world.play(style, skew, steps, { downFor, deepest });
          orders += expected.length;
          claim(
            isDeepStrictEqual(published, expected),
            `published ${published.join(' ') || 'none'}, should be ${expected.join(' ') || 'none'}`,
          );
        },
      ),
      { numRuns: shops },
    );
    const naive = await fc.check(
      fc.asyncProperty(styles, stepsOf, async (style, steps) => {
        const { published, expected } = await world.playWatermark(style, steps);
        return isDeepStrictEqual(published, expected);
      }),
      // One failure is the proof. Its smallest form is of no use.
      { numRuns: 100, endOnFailure: true },
    );
    claim(naive.failed, 'a poller that keeps the largest time it saw fails in the same shops');
    return `${shops} shops, ${orders} orders, 0 missed, 0 doubled; a watermark fails after ${naive.numRuns}`;
  },
};
