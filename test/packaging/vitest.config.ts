import { defineConfig } from 'vitest/config';

/* Proofs of what is shipped. They pack, install from the registry and start other programs. */
export default defineConfig({
  test: {
    include: ['test/packaging/*.proof.ts'],
    testTimeout: 600_000,
    hookTimeout: 600_000,
    fileParallelism: false,
  },
});
