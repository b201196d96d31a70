import { ownScratch } from '../support/scratch.ts';
import { PROOFS } from './all.ts';
import { sizesOf } from './proof.ts';

/*
 * npm run proof:events [-- kills stalls …]: prints a line for each proof. Each line names the variables that set its size:
 * PROOF_KILLS=50 npm run proof:events -- kills. PROOF=short takes smaller ones.
 */
const wanted = process.argv.slice(2);
const unknown = wanted.filter((name) => !PROOFS.some((proof) => proof.name === name));
if (unknown.length > 0) {
  process.stderr.write(
    `There is no proof ${unknown.join(', ')}; there are: ${PROOFS.map(({ name }) => name).join(', ')}\n`,
  );
  process.exitCode = 2;
} else {
  ownScratch();
  for (const proof of PROOFS) {
    if (wanted.length > 0 && !wanted.includes(proof.name)) continue;
    const size = sizesOf(proof, process.env['PROOF'] === 'short' ? 'short' : 'full', process.env);
    const began = performance.now();
    const set = Object.keys(proof.sizes).map((name) => `${name}=${size(name)}`);
    const said = await proof.run(size).then(
      (figures) => `ok    ${proof.name}: ${figures}`,
      (error: unknown) => {
        process.exitCode = 1;
        return `FAIL  ${proof.name}: ${error instanceof Error ? error.message : String(error)}`;
      },
    );
    process.stdout.write(`${said} [${set.join(' ')}; ${Math.round((performance.now() - began) / 1000)} s]\n`);
  }
}
