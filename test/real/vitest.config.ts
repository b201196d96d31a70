import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['test/real/**/*.test.ts'],
    globalSetup: ['test/support/global-setup.ts'],
    testTimeout: 60_000,
    // The first run installs the third party from npm.
    hookTimeout: 14 * 60_000,
    pool: 'forks',
  },
});
