import { availableParallelism } from 'node:os';
import { defineConfig } from 'vitest/config';
import { PATIENCE_MS } from './test/support/until.ts';
import { writeToMemory } from './test/support/scratch.ts';

writeToMemory();

/** Files that take more than eight seconds in a run of all tests on two cores. `npm test` leaves them out. */
const SLOW = 'test/**/*.slow.test.ts';
/** Tests with a configuration of their own, or another project below. */
const OTHERS = ['test/clients/**', 'test/proofs/**', 'test/real/**', 'test/web/**', 'node_modules/**'];
const SETUP = ['test/support/built.ts', 'test/support/kept.ts', 'test/support/global-setup.ts'];

export default defineConfig({
  test: {
    testTimeout: 2 * PATIENCE_MS,
    hookTimeout: 2 * PATIENCE_MS,
    expect: { poll: { timeout: PATIENCE_MS } },
    pool: 'forks',
    // Most tests wait for a process, a socket or a clock: with a worker a core the machine would idle.
    maxWorkers: Math.max(6, availableParallelism()),
    // Some tests start processes and end them at a chosen moment, which a busy machine may miss. A failure is tried
    // once more, and the reporter names what was tried again.
    retry: process.env['CI'] ? 1 : 0,
    // A process loads and compiles our code once for all its files, which was a third of the work of a run.
    isolate: false,
    projects: [
      {
        extends: true,
        test: {
          name: 'node',
          include: ['test/**/*.test.ts'],
          exclude: [SLOW, ...OTHERS],
          globalSetup: SETUP,
        },
      },
      {
        extends: true,
        test: {
          name: 'slow',
          include: [SLOW],
          exclude: OTHERS,
          globalSetup: SETUP,
        },
      },
      {
        extends: true,
        test: {
          name: 'browser',
          include: ['test/web/*.test.ts'],
          globalSetup: ['test/support/chromium.ts'],
        },
      },
    ],
  },
});
