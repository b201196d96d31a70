import { randomUUID } from 'node:crypto';
import { readConfig } from '../config.ts';
import { rotateApiKey } from '../identity/api-keys.ts';
import { recordAudit } from '../runtime/audit.ts';
import { openStarted } from './started.ts';
import { ENVIRONMENTS, type Environment } from '../store/environments.ts';

export function isEnvironment(text: string): text is Environment {
  return ENVIRONMENTS.some((environment) => environment === text);
}

/**
 * Runs `gatehouse keys rotate`. It prints only the new key on standard output.
 * @throws CommandError before the first start, which makes the keys of both environments and shows them.
 */
export async function rotate(environment: Environment): Promise<number> {
  const context = await openStarted(readConfig());
  try {
    const key = await rotateApiKey(context, environment);
    const requestId = randomUUID();
    await recordAudit(context, {
      environment,
      requestId,
      caller: 'cli',
      operation: 'rotateKey',
      target: undefined,
      status: 200,
    });
    process.stdout.write(`${key}\n`);
    process.stderr.write(
      `The ${environment} API key is new; the old one has ended. It is not shown again.\n`,
    );
    return 0;
  } finally {
    await context.close();
  }
}
