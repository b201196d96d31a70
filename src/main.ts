import { Command, CommanderError } from 'commander';
import { addAudit } from './cli/audit-commands.ts';
import { addBackup } from './cli/backup-commands.ts';
import { addCompletion } from './cli/completion-commands.ts';
import { addConfig } from './cli/config-commands.ts';
import { addData } from './cli/data-commands.ts';
import { faultLines, UsageError } from './cli/faults.ts';
import { addImport, collect } from './cli/connectors/import-command.ts';
import { addKeys } from './cli/keys-commands.ts';
import { addMasterKey } from './cli/master-key-commands.ts';
import { version } from './cli/version.ts';

/** Exit codes: 0 done, 1 failed, 2 wrong usage. */
const FAILED = 1;
const WRONG_USAGE = 2;

/**
 * Runs the command line and returns the exit code. Results go to standard output, messages for people to standard
 * error. Each command is loaded when it is called, because `stdio` must answer fast.
 */
export async function main(argv: string[]): Promise<number> {
  let code = 0;
  // A reader that closes early (`| head`) is not an error.
  process.stdout.on('error', (error) => {
    if (!('code' in error) || error.code !== 'EPIPE') throw error;
  });
  const program = buildProgram((done) => {
    code = done;
  }, argv[0] ?? 'serve');
  try {
    await program.parseAsync(argv, { from: 'user' });
    return code;
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : WRONG_USAGE;
    for (const line of faultLines(error)) process.stderr.write(`gatehouse: ${line}\n`);
    return error instanceof UsageError ? WRONG_USAGE : FAILED;
  }
}

/**
 * Builds the command line. `done` receives the exit code of the command that ran. For a `command` that serves, the other
 * commands are left out, because building their options takes a fiftieth of a start.
 */
export function buildProgram(done: (code: number) => void, command?: string): Command {
  const program = new Command('gatehouse')
    .description('Self-hosted integration service: gives AI agents controlled access to third-party apps.')
    .version(version())
    .showHelpAfterError('Run with --help for usage.')
    .addHelpText('after', PROGRAM_HELP)
    // exitOverride() affects only commands that are added after it.
    .exitOverride();

  program
    // Options without a command are those of serve. A word that is no command is refused with the nearest one.
    .command('serve', { isDefault: command === 'serve' || command?.startsWith('-') === true })
    .description('Serve MCP, REST and the documentation on one port. The default command.')
    .addHelpText('after', SERVE_HELP)
    .showHelpAfterError('Settings are environment variables, such as PORT=8080. Run with --help for usage.')
    .action(async () => {
      const { serve } = await import('./cli/serve.ts');
      done(await serve());
    });

  program
    .command('stdio')
    .description(
      'Serve one MCP server on standard input and output, for a client that starts its servers as programs.',
    )
    .option('--server <serverId|name>', 'MCP server, read directly from the store')
    .option('--user <userId|username>', 'end user of the calls (default: the owner of the server)')
    .option('--environment <environment>', 'development or production (default: development)')
    .option('--url <accessUrl>', 'access URL of a remote Gatehouse to bridge to')
    .option('--header <name:value>', 'header of each request to --url; may be repeated', collect, [])
    .addHelpText('after', STDIO_HELP)
    .action(async (options, command: Command) => {
      const { readStdioOptions, stdio } = await import('./cli/stdio-command.ts');
      const checked = readStdioOptions(options);
      if (typeof checked === 'string') command.error(`error: ${checked}`);
      else done(await stdio(checked));
    });

  if (command === 'serve' || command === 'stdio') return program;

  addKeys(program, done);
  addMasterKey(program, done);
  addAudit(program, done);

  program
    .command('migrate')
    .description('Migrate the database to this release. serve also does it at start.')
    .option('--json', 'print the migrations that ran as JSON')
    .addHelpText('after', MIGRATE_HELP)
    .action(async ({ json }: { json?: boolean }) => {
      const { migrateStore } = await import('./cli/migrate-command.ts');
      done(await migrateStore({ json: json === true }));
    });

  program
    .command('listen')
    .description('Print events as they happen, and forward them to a program under development.')
    .option('--forward <url>', 'URL that receives each delivery, signed as for a subscriber')
    .option(
      '--connection <connectionId>',
      'connection whose events are printed, even if no subscription covers them',
    )
    .option('--scope <scope>', 'kind of records, such as commerce/orders; needs --connection')
    .option('--environment <environment>', 'development or production (default: development)')
    .option('--secret <whsec_…>', 'signing secret of deliveries (default: a new one each time)')
    .option('--json', 'print each event as a line of JSON')
    .addHelpText('after', LISTEN_HELP)
    .action(async (options, command: Command) => {
      const { listen, readListenOptions } = await import('./cli/listen.ts');
      const checked = readListenOptions(options);
      if (typeof checked === 'string') command.error(`error: ${checked}`);
      else done(await listen(checked));
    });

  addData(program, done);
  addConnectors(program, done);
  addConfig(program, done);
  addBackup(program, done);

  program
    .command('doctor')
    .description('Check for problems that prevent starting or calling, and suggest fixes. Changes nothing.')
    .option('--json', 'print the findings as JSON')
    .addHelpText('after', DOCTOR_HELP)
    .action(async ({ json }: { json?: boolean }) => {
      const { doctor } = await import('./cli/doctor/doctor.ts');
      done(await doctor({ json: json === true }));
    });
  addCompletion(program, done);
  return program;
}

function addConnectors(program: Command, done: (code: number) => void): void {
  const connectors = program
    .command('connectors')
    .description('Connectors and their files.')
    .addHelpText('after', CONNECTORS_HELP);
  connectors
    .command('list')
    .description('List the connectors, and whether each is shipped, in the folder or in the store.')
    .option('--environment <environment>', 'development or production', 'development')
    .option('--json', 'print the connectors as JSON')
    .addHelpText('after', LIST_HELP)
    .action(async (options: { environment: string; json?: boolean }, command: Command) => {
      const { isEnvironment } = await import('./cli/keys.ts');
      const { environment, json } = options;
      if (!isEnvironment(environment))
        command.error('error: --environment must be development or production');
      const { listConnectors } = await import('./cli/connectors/connectors-list.ts');
      done(await listConnectors(environment, { json: json === true }));
    });
  connectors
    .command('new')
    .description('Write a connector file with two actions to complete, or make one from an OpenAPI document.')
    .argument('<id>', 'id of the connector: a-z, 0-9 and -')
    .option('--into <folder>', 'folder of connectors (default: GATEHOUSE_CONNECTORS)')
    .option('--openapi <file>', 'OpenAPI document whose operations become the actions')
    .option('--tag <tag>', 'only operations with this tag; may be repeated', collect)
    .option('--path <path>', 'only this path; * stands for any characters; may be repeated', collect)
    .option('--method <method>', 'only this method; may be repeated', collect)
    .addHelpText('after', NEW_HELP)
    .action(async (id: string, { into, openapi, tag, path, method }: NewFlags) => {
      const { newConnector } = await import('./cli/connectors/connectors-new.ts');
      const include = { tags: tag, paths: path, methods: method };
      done(await newConnector(id, { into, openapi, include }));
    });
  connectors
    .command('check')
    .description('Check a connector file, and replay the examples.yaml next to it.')
    .argument('<file>', 'path of a connector.yaml, or of its folder, or the id of a connector')
    .option('--openapi <document>', 'compare the file with the OpenAPI document of the app')
    .option('--json', 'print the findings as JSON')
    .addHelpText('after', CHECK_HELP)
    .action(async (file: string, { openapi, json }: { openapi?: string; json?: boolean }) => {
      const { checkConnector } = await import('./cli/connectors/connectors-check.ts');
      done(await checkConnector(file, { openapi, json: json === true }));
    });
  addRecord(connectors, done);
  addImport(connectors, done);
}

function addRecord(connectors: Command, done: (code: number) => void): void {
  connectors
    .command('record')
    .description('Make a live call, and show it as an example without the values of the account.')
    .argument('<connector.action>', 'the action: my-app.list_items')
    .option('--into <folder>', 'folder of connectors (default: GATEHOUSE_CONNECTORS)')
    .option('--credential <file>', 'JSON file with the fields of the credential; - reads standard input')
    .option('--credential-id <id>', 'credential of the store instead of a file')
    .option('--environment <environment>', 'environment of that credential', 'development')
    .option('--authentication <type>', 'scheme of the credential, where several have its fields')
    .option('--input <json>', 'input of the action as JSON, or @ and the path of a file', '{}')
    .option('--allow-writes', 'also call an action that may change the account')
    .option('--write', 'append the example to examples.yaml without asking')
    .addHelpText('after', RECORD_HELP)
    .action(async (target: string, options: RecordFlags, command: Command) => {
      const { isEnvironment } = await import('./cli/keys.ts');
      const { into, credential, credentialId, environment, authentication, input, allowWrites, write } =
        options;
      if (!isEnvironment(environment))
        command.error('error: --environment must be development or production');
      const { recordConnector } = await import('./cli/connectors/connectors-record.ts');
      done(
        await recordConnector(target, {
          into,
          credential,
          credentialId,
          environment,
          authentication,
          input,
          allowWrites: allowWrites === true,
          write: write === true,
        }),
      );
    });
}

interface NewFlags {
  into?: string;
  openapi?: string;
  tag?: string[];
  path?: string[];
  method?: string[];
}

interface RecordFlags {
  into?: string;
  credential?: string;
  credentialId?: string;
  environment: string;
  authentication?: string;
  input?: string;
  allowWrites?: boolean;
  write?: boolean;
}

const PROGRAM_HELP = `
Exit codes: 0 done, 1 failed, 2 wrong usage. Configuration is by environment variables: see docs/configuration.md.

Examples:
  $ gatehouse                                  serve on http://127.0.0.1:3000
  $ PORT=8080 gatehouse serve                  serve on another port
  $ gatehouse stdio --server Sandbox           one MCP server for a client that starts it
  $ gatehouse doctor                           find problems`;

const SERVE_HELP = `
The first start creates the API keys and shows them once: on a terminal, else in GATEHOUSE_HOME/first-keys.
SIGTERM and SIGINT let running requests finish (20 s at most); a second signal ends at once.

Examples:
  $ gatehouse serve
  $ PORT=8080 GATEHOUSE_HOME=/var/lib/gatehouse gatehouse serve
  $ HOST=0.0.0.0 GATEHOUSE_PUBLIC_URL=https://gatehouse.example.com gatehouse serve`;

const STDIO_HELP = `
Standard output carries only the protocol; messages for people go to standard error.

Examples:
  $ gatehouse stdio --server Sandbox
  $ gatehouse stdio --server srv_4fK2… --user alice --environment production
  $ gatehouse stdio --url https://gatehouse.example.com/mcp/srv_4fK2…/gh_mcp_…
  $ gatehouse stdio --url https://gatehouse.example.com/mcp/srv_4fK2… \\
      --header 'Authorization: Bearer gh_prod_…' --header 'x-svc-userid: usr_7Ab…'`;

const MIGRATE_HELP = `
Examples:
  $ gatehouse migrate
  $ DATABASE_URL=postgres://gatehouse@db/gatehouse gatehouse migrate --json`;

const LISTEN_HELP = `
Reads the store that a running \`gatehouse serve\` uses. Without --connection it prints subscribed events, test events
(POST /webhooks/{subscriptionId}/test) and events for the operator. Each event is forwarded once, whatever the answer.

Examples:
  $ gatehouse listen --forward http://localhost:8080/webhooks
  $ gatehouse listen --connection cred_7Ab… --scope commerce/orders --forward http://localhost:8080/webhooks
  $ gatehouse listen --json`;

const CONNECTORS_HELP = `
Examples:
  $ gatehouse connectors list
  $ gatehouse connectors new my-app
  $ gatehouse connectors check ~/.gatehouse/connectors/my-app`;

const LIST_HELP = `
Reads the store of a Gatehouse that was started before, and the folder GATEHOUSE_CONNECTORS.

Examples:
  $ gatehouse connectors list
  $ gatehouse connectors list --environment production --json`;

const NEW_HELP = `
A running Gatehouse uses the file when it is in its folder GATEHOUSE_CONNECTORS, without a restart.

Examples:
  $ gatehouse connectors new my-app
  $ gatehouse connectors new my-app --into connectors
  $ gatehouse connectors new crm --openapi api.json --tag contacts`;

const CHECK_HELP = `
--openapi compares paths, parameters, values, required members, scopes and answers. A difference that you accept has a
comment at the end of its line, or above it: # openapi: the document of 2021 does not have it yet

Examples:
  $ gatehouse connectors check data/connectors/sandbox/connector.yaml
  $ gatehouse connectors check my-app/connector.yaml --json
  $ gatehouse connectors check my-app --openapi openapi.yaml`;

const RECORD_HELP = `
Replaces ids, names, texts, amounts, dates, addresses and keys; equal values stay equal, and lengths and formats stay.
Words that the connector file compares stay, and so do numbers below 1,000. Read the example before it is written: a
one-word status of the app is shown as it is.
--credential-id reads the store of GATEHOUSE_HOME or DATABASE_URL, and renews tokens that are due.

Examples:
  $ gatehouse connectors record my-app.list_items --credential key.json --input '{"limit": 2}'
  $ pass show my-app | gatehouse connectors record my-app.get_item --credential - --input '{"itemId": "i1"}' --write
  $ gatehouse connectors record my-app.list_items --credential-id cred_7Ab…`;

const DOCTOR_HELP = `
Exit code 1 when something fails; warnings do not count.

Examples:
  $ gatehouse doctor
  $ gatehouse doctor --json`;
