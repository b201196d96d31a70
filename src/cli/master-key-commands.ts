import type { Command } from 'commander';
import { examplesHelp } from './service-options.ts';

const NOTES = `
Keys in a file: \`rotate\` adds the new key as the first line, and processes read the file again within a second. Keys in
GATEHOUSE_MASTER_KEY: set "<new>,<old>" for each process first. Keys that Vault wraps: \`rotate\` has Vault wrap them with the
newest version of its key. The next call continues a stopped rotation.
\`gatehouse doctor\` counts the rows of each key. docs/master-key.md describes several machines.`;

const GROUP_HELP = `${NOTES}

Examples:
  $ gatehouse master-key rotate
  $ gatehouse master-key retire
  $ GATEHOUSE_MASTER_KEY=vault:transit/gatehouse gatehouse master-key move --from ~/.gatehouse/master.key`;

const ROTATE_HELP = `${NOTES}
${examplesHelp('master-key rotate', 'master-key rotate --one-machine --json')}`;

const RETIRE_HELP = `
Make a backup first. Earlier backups need the keys that were valid then.
${examplesHelp('master-key retire', 'master-key retire --json')}`;

const MOVE_HELP = `
GATEHOUSE_MASTER_KEY names the key of Vault, in both directions. The keys stay the same, so running processes are not disturbed.

Examples:
  $ GATEHOUSE_MASTER_KEY=vault:transit/gatehouse gatehouse master-key move --from ~/.gatehouse/master.key
  $ GATEHOUSE_MASTER_KEY=vault:transit/gatehouse gatehouse master-key move --to new-master.key`;

/** Adds `master-key rotate`, `master-key retire` and `master-key move`. */
export function addMasterKey(program: Command, done: (code: number) => void): void {
  const masterKey = program
    .command('master-key')
    .description('The master key, which seals credentials and other secrets in the store.')
    .addHelpText('after', GROUP_HELP);
  masterKey
    .command('rotate')
    .description(
      'Make a new master key, and seal the rows of earlier keys with it. The service keeps running.',
    )
    .option('--one-machine', 'for PostgreSQL: confirms that no process on another machine uses the database')
    .option('--json', 'print the result as JSON')
    .addHelpText('after', ROTATE_HELP)
    .action(async ({ oneMachine, json }: { oneMachine?: boolean; json?: boolean }) => {
      const { rotateMasterKey } = await import('./master-key.ts');
      done(await rotateMasterKey({ oneMachine: oneMachine === true, json: json === true }));
    });
  masterKey
    .command('retire')
    .description('Remove the master keys that no longer seal any row.')
    .option('--json', 'print the result as JSON')
    .addHelpText('after', RETIRE_HELP)
    .action(async ({ json }: { json?: boolean }) => {
      const { retireMasterKeys } = await import('./master-key.ts');
      done(await retireMasterKeys({ json: json === true }));
    });
  masterKey
    .command('move')
    .description('Move the master keys of the store from a file to Vault or OpenBao, or back.')
    .option('--from <file>', 'key file whose keys Vault wraps')
    .option('--to <file>', 'new file for the keys that Vault wrapped')
    .option('--json', 'print the result as JSON')
    .addHelpText('after', MOVE_HELP)
    .action(async ({ json, ...files }: { from?: string; to?: string; json?: boolean }) => {
      const { moveMasterKeys } = await import('./master-key-move.ts');
      done(await moveMasterKeys({ ...files, json: json === true }));
    });
}
