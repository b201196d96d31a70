import { expect, test } from 'vitest';
import { PROOFS } from './all.ts';
import { sizesOf } from './proof.ts';

/* Each proof of `npm run proof:events` in its short form. */

test.each(PROOFS.map((proof) => [proof.name, proof] as const))(
  '%s',
  { timeout: 180_000 },
  async (_, proof) => {
    expect(await proof.run(sizesOf(proof, 'short', {}))).toBeTypeOf('string');
  },
);
