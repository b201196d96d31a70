import { existsSync, readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { dirname, join, sep } from 'node:path';
import { createInterface } from 'node:readline/promises';
import { text as textOf } from 'node:stream/consumers';
import { z } from 'zod';
import { recordExample, type Recording } from '../../author/example-record.ts';
import { readConfig } from '../../config.ts';
import { ConnectorFileError, hostingOf, type Connector } from '../../connectors/catalog.ts';
import { compileConnector } from '../../connectors/compile.ts';
import type { ActionExample } from '../../connectors/format/examples-format.ts';
import { itemText, withExample } from '../../author/examples-text.ts';
import { overlayOf } from '../../connectors/overlay.ts';
import { parseWithOverlay } from '../../connectors/parse.ts';
import { fileText } from '../../lib/http/body-text.ts';
import { systemClock } from '../../lib/clock.ts';
import { parseJson } from '../../lib/json.ts';
import { thrownMessage } from '../../lib/errors.ts';
import { createOutbound } from '../../outbound/outbound.ts';
import { createLog } from '../../log.ts';
import { CATALOG_FOLDER } from '../../package.ts';
import type { Environment } from '../../store/environments.ts';
import { fileOf, writeWhole } from './connector-folder.ts';
import { CommandError, UsageError } from '../faults.ts';

export interface RecordOptions {
  into: string | undefined;
  /** A file with the credential as JSON, or `-` for standard input. Its fields are those of an example. */
  credential: string | undefined;
  /** Id of a credential in the store of this environment, which takes the place of a file. */
  credentialId: string | undefined;
  environment: Environment;
  authentication: string | undefined;
  /** The input as JSON, or `@` and the path of a file. */
  input: string | undefined;
  /** Whether the action may change the account. */
  allowWrites: boolean;
  write: boolean;
}

/**
 * Runs `gatehouse connectors record <connector>.<action>`: makes one live call, prints its example without the values of
 * the account, and appends it to examples.yaml after a review.
 * @throws CommandError, GatehouseError
 */
export async function recordConnector(target: string, options: RecordOptions): Promise<number> {
  const [, connectorId = '', action = ''] = /^([a-z0-9-]+)\.([a-z0-9_]+)$/.exec(target) ?? [];
  if (action === '')
    throw new CommandError(`"${target}" is no <connector>.<action>, such as my-app.list_items`);
  if (connectorId === 'sandbox')
    throw new CommandError(
      'The sandbox exists inside a running Gatehouse alone, so none of its calls can be recorded. Use `gatehouse call` to try it.',
    );
  const file = fileOf(connectorId, options.into);
  const connector = connectorOf(connectorId, file);
  requireEffect(connector, { action, allowWrites: options.allowWrites });
  const input = inputFrom(options.input);
  const recording: Recording = { action, ...(await credentialOf(connector, options)), input };
  const example = await record(connector, recording);
  const examples = join(dirname(file), 'examples.yaml');
  const before = existsSync(examples) ? await readFile(examples, 'utf8') : '';
  const after = withExample(before, { path: examples, example });
  process.stdout.write(`+++ ${examples}\n${itemText(example).replaceAll(/^(?=.)/gm, '+ ')}`);
  if (!options.write && !(await isAccepted())) {
    process.stderr.write('Nothing was written. Read the example, then run the command again with --write.\n');
    return 0;
  }
  await writeWhole(examples, after);
  process.stderr.write(`${examples} is written, and its new example replays.\n`);
  return 0;
}

/**
 * Compiles the connector. A file that is not shipped counts as custom, so that a stored credential is sent only to the
 * origins that it is bound to.
 */
function connectorOf(id: string, file: string): Connector {
  const parsed = parseWithOverlay({ text: readFileSync(file, 'utf8'), file, id, overlay: overlayOf(file) });
  if (!parsed.definition) throw new ConnectorFileError(parsed.faults);
  const custom = !file.startsWith(CATALOG_FOLDER + sep);
  return compileConnector(parsed.definition, { ...hostingOf(parsed.definition, false, file), custom });
}

async function credentialOf(
  connector: Connector,
  { credential, credentialId, environment, authentication }: RecordOptions,
): Promise<Pick<Recording, 'authentication' | 'credential'>> {
  if (credentialId === undefined)
    return {
      ...(authentication === undefined ? {} : { authentication }),
      credential: await credentialFrom(credential),
    };
  if (credential !== undefined) throw new CommandError('Give --credential or --credential-id, not both.');
  const { storedCredential } = await import('./stored-credential.ts');
  return storedCredential(connector, { environment, credentialId });
}

/** @throws CommandError for an action that may change the account without consent. */
function requireEffect(
  connector: Connector,
  { action, allowWrites }: { action: string; allowWrites: boolean },
): void {
  const found = connector.actions.get(action);
  if (!found || found.effect === 'read' || allowWrites) return;
  throw new CommandError(
    `${action} may change the account (${found.effect}). To make the call: --allow-writes, with an account for tests.`,
  );
}

const credentialShape = z.record(z.string(), z.string());

/** Reads the credential from a file or standard input, so that it is not in lists of processes or the shell's history. */
async function credentialFrom(place: string | undefined): Promise<Record<string, string>> {
  if (place === undefined) return {};
  const text = place === '-' ? await textOf(process.stdin) : await readText(place);
  const parsed = credentialShape.safeParse(jsonOf(text, '--credential'));
  if (parsed.success) return parsed.data;
  throw new CommandError('--credential: must hold a JSON object of texts, such as {"token": "…"}');
}

function inputFrom(given = '{}'): Record<string, unknown> {
  const isFile = given.startsWith('@');
  const text = isFile ? fileText(readFileSync(given.slice(1))) : given;
  const Fault = isFile ? CommandError : UsageError;
  const parsed = z.record(z.string(), z.unknown()).safeParse(jsonOf(text, '--input', Fault));
  if (parsed.success) return parsed.data;
  throw new Fault('--input: must be a JSON object');
}

/** Parses JSON. The message of the parser is left out, because it would quote the text, which may be a secret. */
function jsonOf(text: string, option: string, Fault: typeof CommandError = CommandError): unknown {
  try {
    return parseJson(text);
  } catch {
    throw new Fault(`${option}: is not JSON`);
  }
}

async function readText(path: string): Promise<string> {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    throw new CommandError(`Cannot read ${path}: ${thrownMessage(error)}`);
  }
}

async function record(connector: Connector, recording: Recording): Promise<ActionExample> {
  const outbound = createOutbound(readConfig());
  try {
    return await recordExample(
      { outbound, clock: systemClock, log: createLog('silent') },
      connector,
      recording,
    );
  } finally {
    await outbound.close();
  }
}

/** Asks on a terminal; elsewhere the answer is no. */
async function isAccepted(): Promise<boolean> {
  if (!process.stdin.isTTY || !process.stdout.isTTY) return false;
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
  const answer = await terminal.question(
    'Does the example hold no real data, and should it be written? [y/N] ',
  );
  terminal.close();
  return answer.trim().toLowerCase() === 'y';
}
