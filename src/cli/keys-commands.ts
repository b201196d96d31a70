import type { Command } from 'commander';
import type { CreateOptions } from './keys.ts';

/** Adds `gatehouse keys` and its commands. Each command loads its code when it is called. */
export function addKeys(program: Command, done: (code: number) => void): void {
  const keys = program
    .command('keys')
    .description('API keys: those of the two environments, and named ones with fewer scopes.')
    .addHelpText('after', KEYS_HELP);
  keys
    .command('list')
    .description('List the API keys with their scopes and last use, never the keys.')
    .option('--environment <environment>', 'development or production (default: both)')
    .option('--json', 'print the keys as JSON')
    .addHelpText('after', LIST_HELP)
    .action(async (options: { environment?: string; json?: boolean }, command: Command) => {
      const { isEnvironment, list } = await import('./keys.ts');
      const { environment, json } = options;
      if (environment !== undefined && !isEnvironment(environment))
        command.error('error: --environment must be development or production');
      done(await list(environment, { json: json === true }));
    });
  keys
    .command('create')
    .description('Create a named API key with some scopes.')
    .requiredOption('--name <name>', 'name of the key, unique in the environment')
    .requiredOption('--scopes <scopes>', 'scopes with commas between them, such as servers:read,mcp:use')
    .option('--expires-days <days>', 'days until it expires (default: it does not expire)')
    .option('--environment <environment>', 'development or production', 'development')
    .addHelpText('after', CREATE_HELP)
    .action(async (options: CreateOptions, command: Command) => {
      const { create, readCreateOptions } = await import('./keys.ts');
      const checked = readCreateOptions(options);
      if (typeof checked === 'string') command.error(`error: ${checked}`);
      else done(await create(checked));
    });
  keys
    .command('rotate')
    .description(
      'Create a new secret for an API key, and end the old one at once or after --overlap-seconds.',
    )
    .argument('<environment|keyId>', 'development, production, or the id of a named key')
    .option('--overlap-seconds <seconds>', 'time for which the old secret of a named key stays valid', '0')
    .addHelpText('after', ROTATE_HELP)
    .action(async (target: string, options: { overlapSeconds: string }, command: Command) => {
      const { isEnvironment, rotate, rotateNamed } = await import('./keys.ts');
      const seconds = Number(options.overlapSeconds);
      if (!/^\d{1,7}$/.test(options.overlapSeconds) || seconds > 30 * 24 * 60 * 60)
        command.error('error: --overlap-seconds must be a whole number from 0 to 2592000');
      if (isEnvironment(target)) {
        if (seconds > 0) command.error('error: --overlap-seconds goes with the id of a named key');
        done(await rotate(target));
      } else if (target.startsWith('key_')) done(await rotateNamed(target, seconds));
      else
        command.error(
          `error: the argument must be development or production, not '${target}', or the id of a named key`,
        );
    });
  keys
    .command('revoke')
    .description('Revoke a named API key.')
    .argument('<keyId>', 'id of the key, as `keys list` prints it')
    .addHelpText('after', REVOKE_HELP)
    .action(async (keyId: string) => {
      const { revoke } = await import('./keys.ts');
      done(await revoke(keyId));
    });
}

const KEYS_HELP = `
Examples:
  $ gatehouse keys list
  $ gatehouse keys create --name deploy --scopes servers:read,servers:write
  $ gatehouse keys rotate production`;

const LIST_HELP = `
Reads the store of a Gatehouse that was started before. Revoked keys are not listed.

Examples:
  $ gatehouse keys list
  $ gatehouse keys list --environment production --json`;

const CREATE_HELP = `
The key is printed on standard output, once. An unknown scope prints the list of scopes. A key with servers:write makes and
changes MCP servers, also what they allow; only one with servers:token sees their access tokens.

Examples:
  $ gatehouse keys create --name deploy --scopes servers:read,servers:write
  $ gatehouse keys create --name ci --scopes connectors:write --expires-days 90 --environment production`;

const ROTATE_HELP = `
The new key is printed on standard output, once. Callers with the old key get 401 within a second, or after
--overlap-seconds.

Examples:
  $ gatehouse keys rotate development
  $ gatehouse keys rotate production > /run/secrets/gatehouse-key
  $ gatehouse keys rotate key_4mTq8Zc1VbN6xKp2RwLd7F --overlap-seconds 3600`;

const REVOKE_HELP = `
Callers with the key get 401 within a second.

Examples:
  $ gatehouse keys revoke key_4mTq8Zc1VbN6xKp2RwLd7F`;
