import type { Command } from 'commander';
import type { Kind, ListPart } from './record-kinds.ts';
import { examplesHelp, withService, withTarget } from './service-options.ts';
import type { ServiceTarget } from './service.ts';

type Done = (code: number) => void;

export interface PageFlags {
  limit: string;
  offset?: string;
  cursor?: string;
}

export interface ListFlags extends PageFlags, ServiceTarget {
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
  { description, examples, done, kind, hasToken, pagedBy }: RecordCommand & { pagedBy?: 'offset' },
): Command {
  const list = withPage(withTarget(parent.command('list')), { pagedBy })
    .description(description)
    .addHelpText('after', examplesHelp(...examples))
    .option('--json', 'print the records as JSON')
    .action(async (options: ListFlags & ListOptions, command: Command) => {
      const page = pageWanted(options, command);
      const { idOf, listRecords, USERS } = await records();
      done(
        await withService(options, async (service) => {
          const { user, connector, json, showToken } = options;
          const userId = user === undefined ? undefined : await idOf(service, USERS, user);
          const filters = { userId, connectorId: connector };
          return listRecords(service, await kind(), { filters, page, json: json === true, showToken });
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
    .action(async (named: string, options: ServiceTarget & { json?: boolean; showToken?: boolean }) => {
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

/** Adds the options that choose a page of a list. */
export function withPage(
  command: Command,
  {
    what = 'records',
    limit = '50',
    pagedBy,
  }: { what?: string; limit?: string; pagedBy?: 'offset' | undefined } = {},
): Command {
  const paged = command.option('--limit <n>', `number of ${what}`, limit);
  return pagedBy === 'offset'
    ? paged.option('--offset <n>', `number of ${what} to skip (default: 0)`)
    : paged.option('--cursor <cursor>', 'next page, by the cursor that the page before it printed');
}

/** Returns the page that the options choose, or ends the command. */
export function pageWanted({ limit, offset, cursor }: PageFlags, command: Command): ListPart {
  const wanted = Number(limit);
  if (!Number.isInteger(wanted) || wanted < 1 || wanted > MOST_RECORDS)
    command.error(`error: --limit must be a whole number from 1 to ${MOST_RECORDS}`);
  if (offset !== undefined && !/^\d{1,9}$/.test(offset))
    command.error('error: --offset must be a whole number from 0');
  return { limit: wanted, start: { offset, cursor } };
}

/** Loads the kinds when a command is called. */
export const records = () => import('./record-kinds.ts');
