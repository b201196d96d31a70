import { availableParallelism } from 'node:os';
import { defineConfig } from 'vitest/config';
import { writeToMemory } from './test/support/scratch.ts';

writeToMemory();

export default defineConfig({
  test: {
    // Ends what hangs. A machine that does other things as well takes several times what it takes alone.
    testTimeout: 60_000,
    hookTimeout: 120_000,
    expect: { poll: { timeout: 20_000 } },
    pool: 'forks',
    // Most tests wait for a process, a socket or a clock: with a worker a core the machine would idle.
    maxWorkers: Math.max(6, availableParallelism()),
    // A process loads and compiles our code once for all its files, which was a third of the work of a run.
    isolate: false,
    projects: [
      {
        extends: true,
        test: {
          name: 'node',
          include: ['test/**/*.test.ts'],
          exclude: ['test/clients/**', 'test/real/**', 'test/web/**', 'node_modules/**'],
          globalSetup: ['test/support/kept.ts', 'test/support/global-setup.ts'],
        },
      },
      {
        extends: true,
        test: {
          name: 'browser',
          include: ['test/web/*.test.ts'],
          // Very rarely a window stays open; not seen twice, not explained. The reporter tells what was tried again.
          retry: process.env['CI'] ? 1 : 0,
          globalSetup: ['test/support/chromium.ts'],
        },
      },
    ],
  },
});
