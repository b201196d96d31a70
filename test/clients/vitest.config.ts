import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['test/clients/*.test.ts'],
    testTimeout: 120_000,
    // The first run installs the clients from npm.
    hookTimeout: 8 * 60_000,
    pool: 'forks',
  },
});
