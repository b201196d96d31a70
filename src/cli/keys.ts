import { readConfig } from '../config.ts';
import { openContext } from '../context.ts';
import { rotateApiKey } from '../identity/api-keys.ts';
import { createLog } from '../log.ts';
import { ENVIRONMENTS, type Environment } from '../store/schema.ts';

export function isEnvironment(text: string): text is Environment {
  return ENVIRONMENTS.some((environment) => environment === text);
}

/** `gatehouse keys rotate`: prints the new key on standard output, and nothing else there. */
export async function rotate(environment: Environment): Promise<number> {
  const config = readConfig();
  const context = await openContext(config, { log: createLog(config.logLevel, process.stderr) });
  try {
    const key = await rotateApiKey(context, environment);
    process.stdout.write(`${key}\n`);
    process.stderr.write(
      `The ${environment} API key is new; the old one has ended. It is not shown again.\n`,
    );
    return 0;
  } finally {
    await context.close();
  }
}
