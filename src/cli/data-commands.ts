import type { Command } from 'commander';
import type { CallOptions } from './call-command.ts';
import type { Filters, Kind } from './record-kinds.ts';
import { TARGET_HELP, withService, withTarget } from './service-options.ts';
import type { Service, Target } from './service.ts';
import type { LogOptions, RunOptions } from './run-commands.ts';

type Done = (code: number) => void;

interface ListFlags extends Target {
  limit: string;
  json?: boolean;
}

const MOST_RECORDS = 10_000;

/** Adds the commands of daily work. Each loads its code when it is called. */
export function addData(program: Command, done: Done): void {
  addServers(program, done);
  addUsers(program, done);
  addCredentials(program, done);
  addExecutions(program, done);
  addWorkflows(program, done);
  withTarget(program.command('call'))
    .description('Run an action for a user, and print its result.')
    .argument('<connector.action>', 'the action: sandbox.list_orders')
    .requiredOption('--user <userId|username>', 'end user whose account is used')
    .option('--input <json>', 'input of the action (default: {})')
    .option('--input-file <file>', 'file with the input; - reads standard input')
    .option('--credential <credentialId>', "account (default: the user's only one, or the default)")
    .option('--json', 'print the whole answer as JSON')
    .addHelpText('after', CALL_HELP)
    .action(async (action: string, options: CallOptions & Target, command: Command) => {
      if (!/^[a-z0-9-]+\.[a-z0-9_]+$/.test(action))
        command.error(`error: the action must be <connector>.<action>, such as sandbox.list_orders`);
      if (options.input !== undefined && options.inputFile !== undefined)
        command.error('error: --input and --input-file exclude each other');
      const { callAction } = await import('./call-command.ts');
      done(await withService(options, (service) => callAction(service, action, options)));
    });
  withTarget(program.command('connect'))
    .description('Print the link by which a person connects an account of an app for a user.')
    .argument('<user>', 'userId or username')
    .argument('<connector>', 'id of the connector')
    .option('--json', 'print the link with its expiry as JSON')
    .addHelpText('after', CONNECT_HELP)
    .action(async (user: string, connectorId: string, options: Target & { json?: boolean }) => {
      const { connectAccount } = await import('./connect-command.ts');
      const json = options.json === true;
      done(await withService(options, (service) => connectAccount(service, { user, connectorId, json })));
    });
}

function addServers(program: Command, done: Done): void {
  const servers = program
    .command('servers')
    .description('MCP servers: list, show, switch on and off.')
    .addHelpText('after', SERVERS_HELP);
  listCommand(servers, { words: 'List the MCP servers.', done, kind: async () => (await records()).SERVERS });
  getCommand(servers, { words: '<serverId|name>', done, kind: async () => (await records()).SERVERS });
  for (const [word, enabled] of [
    ['enable', true],
    ['disable', false],
  ] as const)
    withTarget(servers.command(word))
      .description(
        `${enabled ? 'Let clients use the server again' : 'Refuse all clients of the server'} within a second.`,
      )
      .argument('<serverId|name>')
      .option('--json', 'print the server as JSON')
      .action(async (named: string, options: Target & { json?: boolean }) => {
        const { idOf, SERVERS, showRecord } = await records();
        done(
          await withService(options, async (service) => {
            const path = `/api/servers/${encodeURIComponent(await idOf(service, SERVERS, named))}`;
            return showRecord(service, { method: 'PUT', path, body: { enabled } }, options);
          }),
        );
      });
}

function addUsers(program: Command, done: Done): void {
  const users = program
    .command('users')
    .description('End users: list, show, create.')
    .addHelpText('after', USERS_HELP);
  listCommand(users, {
    words: 'List the end users, oldest first.',
    done,
    kind: async () => (await records()).USERS,
  });
  getCommand(users, { words: '<userId|username>', done, kind: async () => (await records()).USERS });
  withTarget(users.command('create'))
    .description('Create an end user.')
    .argument('<username>')
    .option('--json', 'print the user as JSON')
    .action(async (username: string, options: Target & { json?: boolean }) => {
      const { showRecord } = await records();
      const request = { method: 'POST', path: '/users', body: { username } } as const;
      done(await withService(options, (service) => showRecord(service, request, options)));
    });
}

function addCredentials(program: Command, done: Done): void {
  const credentials = program
    .command('credentials')
    .description('Accounts of a user at apps: list, show, check. Secrets are never printed.')
    .addHelpText('after', CREDENTIALS_HELP);
  const kind = async () => (await records()).CREDENTIALS;
  listCommand(credentials, { words: 'List the accounts of a user.', done, kind })
    .requiredOption('--user <userId|username>', 'end user')
    .option('--connector <connectorId>', 'only accounts of this app');
  for (const [word, description] of [
    ['get', 'Show an account.'],
    ['check', 'Ask the app whether the account still works, and show it.'],
  ] as const)
    withTarget(credentials.command(word))
      .description(description)
      .argument('<credentialId>')
      .requiredOption('--user <userId|username>', 'end user of the account')
      .option('--json', 'print the account as JSON')
      .action(async (id: string, options: Target & { user: string; json?: boolean }) => {
        const { CREDENTIALS, idOf, showRecord, USERS } = await records();
        done(
          await withService(options, async (service) => {
            const userId = await idOf(service, USERS, options.user);
            const path = `${CREDENTIALS.path({ userId })}/${encodeURIComponent(id)}`;
            const request =
              word === 'get'
                ? { path, userId }
                : ({ method: 'POST', path: `${path}/check`, userId } as const);
            return showRecord(service, request, options);
          }),
        );
      });
}

function addExecutions(program: Command, done: Done): void {
  const executions = program
    .command('executions')
    .description('Calls of actions: list, follow, show.')
    .addHelpText('after', EXECUTIONS_HELP);
  withTarget(executions.command('list'))
    .description('List the calls, newest first.')
    .option('--follow', 'print new calls as they come, until Ctrl+C')
    .option('--server <serverId|name>', 'only calls through this MCP server')
    .option('--user <userId|username>', 'only calls for this user')
    .option('--connector <connectorId>', 'only calls of this app')
    .option('--action <actionId>', 'only calls of this action')
    .option('--outcome <outcome>', 'succeeded, failed or denied')
    .option('--limit <n>', 'number of calls', '50')
    .option('--json', 'print JSON; with --follow a line for each call')
    .action(async (options: ExecutionFlags, command: Command) => {
      const limit = limitOf(options, command);
      const { EXECUTIONS, listRecords } = await records();
      done(
        await withService(options, async (service) => {
          const filters = await executionFilters(service, options);
          const json = options.json === true;
          if (options.follow !== true) return listRecords(service, EXECUTIONS, { filters, limit, json });
          const { followExecutions } = await import('./executions-follow.ts');
          return followExecutions(service, { filters, json });
        }),
      );
    });
  getCommand(executions, { words: '<executionId>', done, kind: async () => (await records()).EXECUTIONS });
}

interface ExecutionFlags extends ListFlags {
  follow?: boolean;
  server?: string;
  user?: string;
  connector?: string;
  action?: string;
  outcome?: string;
}

async function executionFilters(service: Service, options: ExecutionFlags): Promise<Filters> {
  const { idOf, SERVERS, USERS } = await records();
  const { server, user, connector, action, outcome } = options;
  return {
    serverId: server === undefined ? undefined : await idOf(service, SERVERS, server),
    userId: user === undefined ? undefined : await idOf(service, USERS, user),
    connectorId: connector,
    actionId: action,
    outcome,
  };
}

function addWorkflows(program: Command, done: Done): void {
  const workflows = program
    .command('workflows')
    .description('Workflows: list, show, run, read the runs.')
    .addHelpText('after', WORKFLOWS_HELP);
  listCommand(workflows, {
    words: 'List the workflows.',
    done,
    kind: async () => (await records()).WORKFLOWS,
  });
  getCommand(workflows, { words: '<workflowId|name>', done, kind: async () => (await records()).WORKFLOWS });
  withTarget(workflows.command('run'))
    .description('Start a run for a user who has installed the workflow, and print its id.')
    .argument('<workflowId|name>')
    .requiredOption('--user <userId|username>', 'end user who has installed it')
    .option('--input <json>', 'input of the run')
    .option('--input-file <file>', 'file with the input; - reads standard input')
    .option('--json', 'print the answer as JSON')
    .action(async (workflow: string, options: RunOptions & Target) => {
      const { runWorkflow } = await import('./run-commands.ts');
      done(await withService(options, (service) => runWorkflow(service, workflow, options)));
    });
  withTarget(workflows.command('logs'))
    .description('List the newest runs, or the steps of one.')
    .argument('<workflowId|name>')
    .option('--run <runId>', 'show the steps of this run')
    .option('--user <userId|username>', 'only runs for this user')
    .option('--limit <n>', 'number of runs', '20')
    .option('--json', 'print JSON')
    .action(async (workflow: string, options: Omit<LogOptions, 'limit'> & ListFlags, command: Command) => {
      const { workflowLogs } = await import('./run-commands.ts');
      const limit = limitOf(options, command);
      done(await withService(options, (service) => workflowLogs(service, workflow, { ...options, limit })));
    });
}

/** A command of a kind of records. */
interface RecordCommand {
  /** Describes a list, or names the argument of `get`. */
  words: string;
  done: Done;
  kind: () => Promise<Kind>;
}

function listCommand(parent: Command, { words, done, kind }: RecordCommand): Command {
  return withTarget(parent.command('list'))
    .description(words)
    .option('--limit <n>', 'number of records', '50')
    .option('--json', 'print the records as JSON')
    .action(async (options: ListFlags & { user?: string; connector?: string }, command: Command) => {
      const limit = limitOf(options, command);
      const { idOf, listRecords, USERS } = await records();
      done(
        await withService(options, async (service) => {
          const { user, connector, json } = options;
          const userId = user === undefined ? undefined : await idOf(service, USERS, user);
          const filters = { userId, connectorId: connector };
          return listRecords(service, await kind(), { filters, limit, json: json === true });
        }),
      );
    });
}

function getCommand(parent: Command, { words, done, kind }: RecordCommand): void {
  withTarget(parent.command('get'))
    .description('Show one.')
    .argument(words)
    .option('--json', 'print it as JSON')
    .action(async (named: string, options: Target & { json?: boolean }) => {
      const { idOf, showRecord } = await records();
      done(
        await withService(options, async (service) => {
          const one = await kind();
          const path = `${one.path({})}/${encodeURIComponent(await idOf(service, one, named))}`;
          return showRecord(service, { path }, options);
        }),
      );
    });
}

function limitOf({ limit }: { limit: string }, command: Command): number {
  const wanted = Number(limit);
  if (!Number.isInteger(wanted) || wanted < 1 || wanted > MOST_RECORDS)
    command.error(`error: --limit must be a whole number from 1 to ${MOST_RECORDS}`);
  return wanted;
}

const records = () => import('./record-kinds.ts');

const SERVERS_HELP = `${TARGET_HELP}

Examples:
  $ gatehouse servers list
  $ gatehouse servers disable Sandbox
  $ GATEHOUSE_URL=https://gatehouse.example.com GATEHOUSE_KEY=gh_prod_… gatehouse servers list --json`;

const USERS_HELP = `${TARGET_HELP}

Examples:
  $ gatehouse users list
  $ gatehouse users create alice
  $ gatehouse users get alice`;

const CREDENTIALS_HELP = `${TARGET_HELP}

Examples:
  $ gatehouse credentials list --user alice
  $ gatehouse credentials check cred_7Ab… --user alice`;

const EXECUTIONS_HELP = `${TARGET_HELP}

Examples:
  $ gatehouse executions list --outcome failed
  $ gatehouse executions list --follow --server Sandbox
  $ gatehouse executions get exe_5Rt…`;

const WORKFLOWS_HELP = `${TARGET_HELP}

Examples:
  $ gatehouse workflows list
  $ gatehouse workflows run "Order to chat" --user alice --input '{"orderId": "1001"}'
  $ gatehouse workflows logs "Order to chat" --run run_3Kd…`;

const CALL_HELP = `${TARGET_HELP}

Examples:
  $ gatehouse call sandbox.list_orders --user demo --input '{"limit": 3}'
  $ gatehouse call slack.send_message --user alice --input-file message.json --credential cred_7Ab…`;

const CONNECT_HELP = `${TARGET_HELP}

Examples:
  $ gatehouse connect alice github`;
