import type { Command } from 'commander';
import { TARGET_HELP, withService, withTarget } from './service-options.ts';
import type { ServiceTarget } from './service.ts';
import type { FileOptions } from './settings/settings-commands.ts';

type Options = FileOptions & ServiceTarget;

/** Adds `gatehouse config`. */
export function addConfig(program: Command, done: (code: number) => void): void {
  const config = program
    .command('config')
    .description('Settings of an environment as a file without secrets: export, compare, apply.')
    .addHelpText('after', CONFIG_HELP);
  withTarget(config.command('export'))
    .description('Write settings, connectors, servers, workflows and subscriptions to a YAML file.')
    .argument('<file>', 'file to write; - is standard output')
    .option('--json', 'write JSON')
    .addHelpText('after', EXPORT_HELP)
    .action(async (file: string, options: Options) => {
      const { exportSettings } = await import('./settings/settings-commands.ts');
      done(await withService(options, (service) => exportSettings(service, file, options)));
    });
  withTarget(config.command('plan'))
    .description('Print how an environment differs from a file.')
    .argument('<file>', 'file to read; - is standard input')
    .option('--prune', 'also remove records that the file does not have')
    .option('--json', 'print the differences as JSON')
    .addHelpText('after', PLAN_HELP)
    .action(async (file: string, options: Options) => {
      const { planFile } = await import('./settings/settings-commands.ts');
      done(await withService(options, (service) => planFile(service, file, options)));
    });
  withTarget(config.command('apply'))
    .description('Make an environment equal to a file.')
    .argument('<file>', 'file to read; - is standard input')
    .option('--prune', 'also remove records that the file does not have')
    .option('--dry-run', 'print the differences as plan does, with its exit codes, and change nothing')
    .option('--json', 'print the differences and the outcome as JSON')
    .addHelpText('after', APPLY_HELP)
    .action(async (file: string, options: Options) => {
      const { applyFile } = await import('./settings/settings-commands.ts');
      done(await withService(options, (service) => applyFile(service, file, options)));
    });
}

const CONFIG_HELP = `${TARGET_HELP}

Examples:
  $ gatehouse config export settings.yaml
  $ gatehouse config plan settings.yaml --environment production
  $ GATEHOUSE_URL=https://gatehouse.example.com GATEHOUSE_KEY=gh_prod_… gatehouse config apply settings.yaml`;

const EXPORT_HELP = `
Equal settings make an equal file, so it can be kept in git. Users are named by username, and ids are left out.
${TARGET_HELP}

Examples:
  $ gatehouse config export settings.yaml
  $ gatehouse config export - --environment production`;

const PLAN_HELP = `
Exit code 0: no difference. Exit code 3: differences. A part that the file leaves out is not compared.
${TARGET_HELP}

Examples:
  $ gatehouse config plan settings.yaml
  $ gatehouse config plan settings.yaml --environment production --prune --json`;

const APPLY_HELP = `
Stops at the first refusal, and reports what was done. A second run does the rest, and none when nothing differs.
${TARGET_HELP}

Examples:
  $ gatehouse config apply settings.yaml
  $ gatehouse config apply settings.yaml --environment production --dry-run`;
