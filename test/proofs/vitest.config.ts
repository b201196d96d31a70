import { defineConfig } from 'vitest/config';
import { PATIENCE_MS } from '../support/until.ts';

/* Kills of processes that run workflows: `npm run proof:workflows`. */
export default defineConfig({
  test: {
    include: ['test/proofs/*.test.ts'],
    globalSetup: ['test/support/global-setup.ts'],
    testTimeout: 2 * PATIENCE_MS,
    hookTimeout: 2 * PATIENCE_MS,
    expect: { poll: { timeout: PATIENCE_MS } },
    pool: 'forks',
  },
});
