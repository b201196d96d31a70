import type { Command } from 'commander';
import type { CallOptions, InputOptions } from './call-command.ts';
import {
  getCommand,
  listCommand,
  pageWanted,
  records,
  SHOW_TOKEN,
  withPage,
  type Argument,
  type ListFlags,
} from './record-commands.ts';
import type { Filters } from './record-kinds.ts';
import { examplesHelp, TARGET_HELP, withService, withTarget } from './service-options.ts';
import type { Service, ServiceTarget } from './service.ts';
import type { LogOptions, RunOptions } from './run-commands.ts';

type Done = (code: number) => void;

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
    .option('--credential <credentialId>', "id of the account (default: the user's only or default account)")
    .option('--json', 'print the whole answer as JSON')
    .addHelpText('after', CALL_HELP)
    .action(async (action: string, options: CallOptions & InputOptions & ServiceTarget, command: Command) => {
      if (!/^[a-z0-9-]+\.[a-z0-9_]+$/.test(action))
        command.error(`error: the action must be <connector>.<action>, such as sandbox.list_orders`);
      const { callAction, inputOf } = await import('./call-command.ts');
      const input = await inputOf(options);
      done(await withService(options, (service) => callAction(service, { action, input }, options)));
    });
  withTarget(program.command('connect'))
    .description('Print the link by which a person connects an account of an app for a user.')
    .argument('<user>', 'userId or username')
    .argument('<connector>', 'id of the connector')
    .option('--json', 'print the link with its expiry as JSON')
    .addHelpText('after', CONNECT_HELP)
    .action(async (user: string, connectorId: string, options: ServiceTarget & { json?: boolean }) => {
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
  const kind = async () => (await records()).SERVERS;
  listCommand(servers, {
    description: 'List the MCP servers.',
    examples: ['servers list', 'servers list --limit 5 --offset 5 --json'],
    done,
    kind,
    hasToken: true,
    pagedBy: 'offset',
  });
  getCommand(servers, {
    description: 'Show an MCP server.',
    argument: SERVER,
    examples: ['servers get Sandbox', 'servers get srv_4fK2… --show-token'],
    done,
    kind,
    hasToken: true,
  });
  for (const [word, enabled] of [
    ['enable', true],
    ['disable', false],
  ] as const)
    withTarget(servers.command(word))
      .description(
        `${enabled ? 'Let clients use the server again' : 'Refuse all clients of the server'} within a second.`,
      )
      .argument(...SERVER)
      .option('--json', 'print the server as JSON')
      .option(...SHOW_TOKEN)
      .addHelpText('after', examplesHelp(`servers ${word} Sandbox`, `servers ${word} srv_4fK2… --json`))
      .action(async (named: string, options: ServiceTarget & { json?: boolean; showToken?: boolean }) => {
        const { idOf, SERVERS, showRecord, tokenQuery } = await records();
        done(
          await withService(options, async (service) => {
            const path = `/api/servers/${encodeURIComponent(await idOf(service, SERVERS, named))}`;
            const query = tokenQuery(SERVERS, options.showToken);
            return showRecord(service, { method: 'PUT', path, query, body: { enabled } }, options);
          }),
        );
      });
}

function addUsers(program: Command, done: Done): void {
  const users = program
    .command('users')
    .description('End users: list, show, create.')
    .addHelpText('after', USERS_HELP);
  const kind = async () => (await records()).USERS;
  listCommand(users, {
    description: 'List the end users, oldest first.',
    examples: ['users list', 'users list --environment production --json'],
    done,
    kind,
  });
  getCommand(users, {
    description: 'Show an end user.',
    argument: ['<userId|username>', 'id of the user, or the username'],
    examples: ['users get alice', 'users get usr_7Ab… --json'],
    done,
    kind,
  });
  withTarget(users.command('create'))
    .description('Create an end user.')
    .argument('<username>', 'name by which your application knows the user')
    .option('--json', 'print the user as JSON')
    .addHelpText(
      'after',
      examplesHelp('users create alice', 'users create bob --environment production --json'),
    )
    .action(async (username: string, options: ServiceTarget & { json?: boolean }) => {
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
  listCommand(credentials, {
    description: 'List the accounts of a user.',
    examples: ['credentials list --user alice', 'credentials list --user alice --connector sandbox --json'],
    done,
    kind,
  })
    .requiredOption('--user <userId|username>', 'end user')
    .option('--connector <connectorId>', 'only accounts of this app');
  for (const [word, description] of [
    ['get', 'Show an account.'],
    ['check', 'Ask the app whether the account still works, and show it.'],
  ] as const)
    withTarget(credentials.command(word))
      .description(description)
      .argument('<credentialId>', 'id of the account, as `credentials list` prints it')
      .requiredOption('--user <userId|username>', 'end user of the account')
      .option('--json', 'print the account as JSON')
      .addHelpText('after', examplesHelp(`credentials ${word} cred_7Ab… --user alice`))
      .action(async (id: string, options: ServiceTarget & { user: string; json?: boolean }) => {
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
  withPage(withTarget(executions.command('list')), { what: 'calls' })
    .description('List the calls, newest first.')
    .option('--follow', 'print new calls as they come, until Ctrl+C')
    .option('--server <serverId|name>', 'only calls through this MCP server')
    .option('--user <userId|username>', 'only calls for this user')
    .option('--connector <connectorId>', 'only calls of this app')
    .option('--action <actionId>', 'only calls of this action')
    .option('--outcome <outcome>', 'succeeded, failed or denied')
    .option('--json', 'print JSON; with --follow a line for each call')
    .addHelpText(
      'after',
      examplesHelp(
        'executions list --outcome failed',
        'executions list --user alice --connector sandbox --limit 5 --json',
        'executions list --follow --server Sandbox',
      ),
    )
    .action(async (options: ExecutionFlags, command: Command) => {
      const page = pageWanted(options, command);
      const { EXECUTIONS, listRecords } = await records();
      done(
        await withService(options, async (service) => {
          const filters = await executionFilters(service, options);
          const json = options.json === true;
          if (options.follow !== true) return listRecords(service, EXECUTIONS, { filters, page, json });
          const { followExecutions } = await import('./executions-follow.ts');
          return followExecutions(service, { filters, json });
        }),
      );
    });
  getCommand(executions, {
    description: 'Show a call.',
    argument: ['<executionId>', 'id of the call, as `executions list` prints it'],
    examples: ['executions get exe_5Rt…', 'executions get exe_5Rt… --json'],
    done,
    kind: async () => (await records()).EXECUTIONS,
  });
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
  const kind = async () => (await records()).WORKFLOWS;
  listCommand(workflows, {
    description: 'List the workflows.',
    examples: ['workflows list', 'workflows list --json'],
    done,
    kind,
  });
  getCommand(workflows, {
    description: 'Show a workflow with its definition.',
    argument: WORKFLOW,
    examples: ['workflows get "Order to chat"', 'workflows get wf_2Pq… --json'],
    done,
    kind,
  });
  withTarget(workflows.command('run'))
    .description('Start a run for a user who has installed the workflow, and print its id.')
    .argument(...WORKFLOW)
    .requiredOption('--user <userId|username>', 'end user who has installed it')
    .option('--input <json>', 'input of the run')
    .option('--input-file <file>', 'file with the input; - reads standard input')
    .option('--json', 'print the answer as JSON')
    .addHelpText(
      'after',
      examplesHelp(
        `workflows run "Order to chat" --user alice --input '{"orderId": "1001"}'`,
        'workflows run "Order to chat" --user alice --input-file order.json --json',
      ),
    )
    .action(async (workflow: string, options: RunOptions & InputOptions & ServiceTarget) => {
      const { inputOf } = await import('./call-command.ts');
      const { runWorkflow } = await import('./run-commands.ts');
      const input = await inputOf(options);
      done(await withService(options, (service) => runWorkflow(service, { workflow, input }, options)));
    });
  withPage(withTarget(workflows.command('logs')), { what: 'runs', limit: '20' })
    .description('List the newest runs, or the steps of one.')
    .argument(...WORKFLOW)
    .option('--run <runId>', 'show the steps of this run')
    .option('--user <userId|username>', 'only runs for this user')
    .option('--json', 'print JSON')
    .addHelpText(
      'after',
      examplesHelp(
        'workflows logs "Order to chat" --user alice',
        'workflows logs "Order to chat" --run run_3Kd…',
      ),
    )
    .action(async (workflow: string, options: Omit<LogOptions, 'page'> & ListFlags, command: Command) => {
      const { workflowLogs } = await import('./run-commands.ts');
      const page = pageWanted(options, command);
      done(await withService(options, (service) => workflowLogs(service, workflow, { ...options, page })));
    });
}

const SERVER: Argument = ['<serverId|name>', 'id of the server, or its name'];
const WORKFLOW: Argument = ['<workflowId|name>', 'id of the workflow, or its name'];

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
  $ gatehouse call sandbox.create_order --user alice --input-file order.json --credential cred_7Ab…`;

const CONNECT_HELP = `${TARGET_HELP}

Examples:
  $ gatehouse connect alice github`;
