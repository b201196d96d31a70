import { spawn } from 'node:child_process';
import { once } from 'node:events';

/*
 * npm run proofs [-- events clients …]: everything that is too long for the gate, one command after the other, with a line for
 * each. A release runs all of it. PROOF=short takes smaller sizes.
 */
const COMMANDS: Record<string, string> = {
  events: 'npm run proof:events',
  workflows: 'npm run proof:workflows',
  sampled: 'npm run proof:sampled',
  openapi: 'npm run proof:openapi',
  keys: 'npm run proof:keys',
  backup: 'npm run proof:backup',
  console: 'npm run proof:console',
  nonsense: 'npm run proof:nonsense',
  deploy: 'npm run proof:deploy',
  package: 'npm run proof:package',
  conformance: 'npm run conformance -- client',
  clients: 'npm run clients',
  real: 'npm run test:real',
};
const wanted = process.argv.slice(2);
const unknown = wanted.filter((name) => !Object.hasOwn(COMMANDS, name));
if (unknown.length > 0) {
  process.stderr.write(`There is no ${unknown.join(', ')}; there are: ${Object.keys(COMMANDS).join(', ')}\n`);
  process.exitCode = 2;
} else {
  const lines: string[] = [];
  for (const [name, command] of Object.entries(COMMANDS)) {
    if (wanted.length > 0 && !wanted.includes(name)) continue;
    const began = performance.now();
    // A test that needs what a machine may lack fails in place of being skipped.
    const child = spawn(command, { shell: true, stdio: 'inherit', env: { ...process.env, CI: 'true' } });
    const [code] = await once(child, 'close');
    if (code !== 0) process.exitCode = 1;
    const minutes = ((performance.now() - began) / 60_000).toFixed(1);
    lines.push(`${code === 0 ? 'ok  ' : 'FAIL'}  ${command}, ${minutes} min`);
  }
  process.stdout.write(`\n${lines.join('\n')}\n`);
}
