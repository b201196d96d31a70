import type { Command } from 'commander';
import type { Service, ServiceTarget } from './service.ts';

/** Adds the options that choose a Gatehouse. */
export function withTarget(command: Command): Command {
  return command
    .option('--url <url>', 'remote Gatehouse (default: GATEHOUSE_URL, else the store of this machine)')
    .option('--key <key>', 'API key of that Gatehouse (default: GATEHOUSE_KEY)')
    .option('--environment <environment>', 'environment of the local store (default: development)');
}

/** Opens the Gatehouse of the options for one command. */
export async function withService(
  target: ServiceTarget,
  work: (service: Service) => Promise<number>,
): Promise<number> {
  const { openService } = await import('./service.ts');
  await using service = await openService(target);
  return await work(service);
}

export const TARGET_HELP = `
Works with the store of this machine, or with a remote Gatehouse: GATEHOUSE_URL and GATEHOUSE_KEY, or --url and --key.`;

/** Returns the text of a help with examples of the command. */
export function examplesHelp(...commands: string[]): string {
  return `\nExamples:\n${commands.map((command) => `  $ gatehouse ${command}`).join('\n')}`;
}
