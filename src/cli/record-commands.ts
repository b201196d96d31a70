import type { Command } from 'commander';
import type { Kind } from './record-kinds.ts';
import { examplesHelp, withService, withTarget } from './service-options.ts';
import type { Target } from './service.ts';

type Done = (code: number) => void;

export interface ListFlags extends Target {
  limit: string;
  json?: boolean;
}

interface ListOptions {
  user?: string;
  connector?: string;
  showToken?: boolean;
}

const MOST_RECORDS = 10_000;

/** An argument of a command, with its meaning. */
export type Argument = readonly [name: string, meaning: string];

/** A command of a kind of records. */
interface RecordCommand {
  description: string;
  examples: string[];
  done: Done;
  kind: () => Promise<Kind>;
  /** Whether the records hold an access token, which --show-token prints. */
  hasToken?: true;
}

/** The option of commands whose records hold an access token. */
export const SHOW_TOKEN = [
  '--show-token',
  'print the access token too, which the audit log records (default: ***)',
] as const;

/** Adds `list` of a kind of records. */
export function listCommand(
  parent: Command,
  { description, examples, done, kind, hasToken }: RecordCommand,
): Command {
  const list = withTarget(parent.command('list'))
    .description(description)
    .addHelpText('after', examplesHelp(...examples))
    .option('--limit <n>', 'number of records', '50')
    .option('--json', 'print the records as JSON')
    .action(async (options: ListFlags & ListOptions, command: Command) => {
      const limit = limitOf(options, command);
      const { idOf, listRecords, USERS } = await records();
      done(
        await withService(options, async (service) => {
          const { user, connector, json, showToken } = options;
          const userId = user === undefined ? undefined : await idOf(service, USERS, user);
          const filters = { userId, connectorId: connector };
          return listRecords(service, await kind(), { filters, limit, json: json === true, showToken });
        }),
      );
    });
  return hasToken ? list.option(...SHOW_TOKEN) : list;
}

/** Adds `get` of a kind of records. */
export function getCommand(
  parent: Command,
  { description, argument, examples, done, kind, hasToken }: RecordCommand & { argument: Argument },
): void {
  const get = withTarget(parent.command('get'))
    .description(description)
    .argument(...argument)
    .addHelpText('after', examplesHelp(...examples))
    .option('--json', 'print it as JSON')
    .action(async (named: string, options: Target & { json?: boolean; showToken?: boolean }) => {
      const { idOf, showRecord, tokenQuery } = await records();
      done(
        await withService(options, async (service) => {
          const one = await kind();
          const path = `${one.path({})}/${encodeURIComponent(await idOf(service, one, named))}`;
          return showRecord(service, { path, query: tokenQuery(one, options.showToken) }, options);
        }),
      );
    });
  if (hasToken) get.option(...SHOW_TOKEN);
}

/** Returns the limit of a list, or ends the command. */
export function limitOf({ limit }: { limit: string }, command: Command): number {
  const wanted = Number(limit);
  if (!Number.isInteger(wanted) || wanted < 1 || wanted > MOST_RECORDS)
    command.error(`error: --limit must be a whole number from 1 to ${MOST_RECORDS}`);
  return wanted;
}

/** Loads the kinds when a command is called. */
export const records = () => import('./record-kinds.ts');
