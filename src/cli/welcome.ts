import { randomBytes } from 'node:crypto';
import { existsSync, rmSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { styleText } from 'node:util';
import type { Config } from '../config.ts';
import type { OpenContext } from '../context.ts';
import { ensureKeys, type NewKeys } from '../identity/api-keys.ts';
import { firstKeysFile } from '../identity/store-marker.ts';
import { publicError, thrownMessage } from '../lib/errors.ts';
import { packagePath } from '../package.ts';
import { ENVIRONMENTS } from '../store/environments.ts';
import { version } from './version.ts';
import { SANDBOX_ID } from '../connectors/catalog.ts';
import { createCredential } from '../credentials/credential-records.ts';
import { createUser } from '../identity/users.ts';
import { createServer } from '../servers/server-records.ts';
import { replaceFile } from '../lib/replace-file.ts';
import { CommandError } from './faults.ts';

/**
 * Prints the address. On the first start of an empty store it also creates the API keys and the demonstration, and
 * shows them once: on a terminal, else in `<home>/first-keys`. Only the path of that file is logged. That file is written before the
 * store holds the keys, so that a kill at any point leaves keys that can be found.
 * @throws GatehouseError for a preset key that is malformed; CommandError when the file cannot be written.
 */
export async function welcome(context: OpenContext, port: number): Promise<void> {
  const { config, log, publicUrl } = context;
  const keys = await ensureKeys(context, config.presetKeys, (made) =>
    writeFirstKeys(config, fileText(context, made)),
  );
  const isFirst = Object.keys(keys).length > 0;
  const file = firstKeysFile(config);
  const demonstration = await demonstrationFor(context, keys);
  if (process.stderr.isTTY) {
    const first = isFirst ? firstKeys(config, keys, { demonstration, strong: bold }) : '';
    process.stderr.write(`${greeting(context, bold)}${first}  Stop: Ctrl+C\n\n`);
    // The terminal has shown its content.
    if (isFirst) rmSync(file, { force: true });
  } else {
    const pages = {
      docs: `${publicUrl}/docs`,
      ...(config.console ? { console: `${publicUrl}/console` } : {}),
    };
    log.info({ url: publicUrl, port, ...pages }, 'listening');
    if (isFirst) writeFirstKeys(config, fileText(context, keys, demonstration));
  }
  if (!existsSync(file)) return;
  log.info({ file }, isFirst ? 'API keys and what to try first were written to this file, once' : REMINDER);
}

const REMINDER = 'the first API keys are still in this file; keep them elsewhere, then delete it';

function fileText(context: OpenContext, keys: NewKeys, demonstration?: Demonstration): string {
  const { config } = context;
  const keysAndTrial = firstKeys(config, keys, { demonstration, strong: plain });
  return `${greeting(context, plain)}${keysAndTrial}  Keep the keys elsewhere, then delete this file.\n`;
}

/** Makes the demonstration only together with both keys, because an operator who presets keys wants an empty store. */
async function demonstrationFor(context: OpenContext, keys: NewKeys): Promise<Demonstration | undefined> {
  if (!context.config.sandbox || !ENVIRONMENTS.every((environment) => keys[environment])) return undefined;
  try {
    return await createDemonstration(context);
  } catch (error) {
    // The keys must be shown without a demonstration too.
    context.log.warn({ code: publicError(error).code, err: error }, 'demonstration not created');
    return undefined;
  }
}

type Style = (text: string) => string;

function bold(text: string): string {
  return styleText('bold', text, { stream: process.stderr });
}

function plain(text: string): string {
  return text;
}

function greeting({ publicUrl, config }: OpenContext, strong: Style): string {
  const console = config.console
    ? `  The console is at ${strong(`${publicUrl}/console`)}: sign in with an API key\n`
    : '';
  return `
  ${strong('Gatehouse')} ${version()} is ready at ${strong(publicUrl)}
${console}  The documentation is at ${publicUrl}/docs

`;
}

/** Returns the text that is shown once: the keys, and where to paste them. */
function firstKeys(
  config: Config,
  keys: NewKeys,
  { demonstration, strong }: { demonstration: Demonstration | undefined; strong: Style },
): string {
  const lines = [strong('API keys, shown only once. Keep them: they give access to everything.')];
  for (const environment of ENVIRONMENTS) {
    if (keys[environment]) lines.push(`  ${environment.padEnd(12)} ${keys[environment]}`);
  }
  if (demonstration) lines.push('', ...demonstrationLines(config, demonstration, strong));
  return `${lines.map((line) => (line === '' ? '' : `  ${line}`)).join('\n')}\n\n`;
}

function demonstrationLines(
  config: Config,
  { accessUrl, serverName }: Demonstration,
  strong: Style,
): string[] {
  return [
    strong('To try it: an MCP server over a sandbox shop. Paste this URL into an MCP client'),
    `  ${accessUrl}`,
    '  Anyone with the URL can use the server: treat it like a password.',
    '',
    strong('Claude Desktop, in claude_desktop_config.json'),
    ...json(desktopConfig(config, { accessUrl, serverName })).map((line) => `  ${line}`),
    '',
    strong('curl: list its tools'),
    `  curl -s ${accessUrl} -H 'Content-Type: application/json' -d '{"jsonrpc":"2.0","id":"1","method":"tools/list"}'`,
    '',
    strong('MCP Inspector'),
    `  npx @modelcontextprotocol/inspector@2 --cli ${accessUrl} --transport http --method tools/list`,
  ];
}

/** Returns lines of JSON, with the items of a list on one line. */
function json(value: object): string[] {
  const text = JSON.stringify(value, null, 2);
  const compact = text.replaceAll(
    /\[\n([^\]]*?)\n\s*\]/g,
    (_, items: string) => `[${items.trim().replaceAll(/\n\s*/g, ' ')}]`,
  );
  return compact.split('\n');
}

/**
 * Returns the settings of Claude Desktop. It starts this Node.js with this program, and knows none of our variables.
 * When settings other than the home matter, it connects through the bridge instead of the store.
 */
function desktopConfig(
  config: Config,
  { accessUrl, serverName }: Pick<Demonstration, 'accessUrl' | 'serverName'>,
): object {
  const bin = packagePath('bin/gatehouse.js');
  const inHome =
    config.database.kind === 'sqlite' &&
    config.database.path === join(config.home, 'gatehouse.db') &&
    config.masterKeys === undefined &&
    config.keyVault === undefined &&
    config.masterKeyFile === undefined;
  const args = inHome ? ['stdio', '--server', serverName] : ['stdio', '--url', accessUrl];
  const isUsualHome = config.home === join(homedir(), '.gatehouse');
  return {
    mcpServers: {
      gatehouse: {
        command: process.execPath,
        args: [bin, ...args],
        ...(inHome && !isUsualHome ? { env: { GATEHOUSE_HOME: config.home } } : {}),
      },
    },
  };
}

/** Data that a new operator can try at once. */
interface Demonstration {
  userId: string;
  serverName: string;
  /** Contains the access token. */
  accessUrl: string;
}

const SERVER_NAME = 'Sandbox';

/** Creates a user, its sandbox credential and an MCP server for it. The app must be listening. */
async function createDemonstration(context: OpenContext): Promise<Demonstration> {
  const environment = 'development';
  const { userId } = await createUser(context, { environment, username: 'demo' });
  await createCredential(context, {
    environment,
    userId,
    connectorId: SANDBOX_ID,
    type: 'api_key',
    data: { apiKey: `sandbox_${randomBytes(12).toString('hex')}` },
  });
  const { server, accessToken } = await createServer(context, {
    environment,
    name: SERVER_NAME,
    description: 'A shop to try things with. Nothing leaves this machine.',
    ownerUserId: userId,
    bound: false,
    restrictions: { connectors: { mode: 'allowlist', allowedIds: [SANDBOX_ID] } },
  });
  return {
    userId,
    serverName: SERVER_NAME,
    accessUrl: `${context.publicUrl}/mcp/${server.serverId}/${accessToken}`,
  };
}

/**
 * Writes the file of the first keys. It replaces the file of an earlier store, whose keys are dead.
 * @throws CommandError when it cannot be written.
 */
function writeFirstKeys(config: Pick<Config, 'home'>, text: string): string {
  const file = firstKeysFile(config);
  try {
    replaceFile(file, text);
    return file;
  } catch (error) {
    const reason = thrownMessage(error);
    throw new CommandError(
      `The first API keys could not be written: ${reason}. Make GATEHOUSE_HOME writable, then start again.`,
    );
  }
}
