import { readFileSync } from 'node:fs';
import { buffer } from 'node:stream/consumers';
import { fileText } from '../lib/http/body-text.ts';
import { asObject, isJsonObject, parseJson, type JsonObject } from '../lib/json.ts';
import { writtenOut } from '../lib/hidden-characters.ts';
import { thrownMessage } from '../lib/errors.ts';
import { CommandError, UsageError } from './faults.ts';
import { idOf, USERS } from './record-kinds.ts';
import type { Service } from './service.ts';
import { textOf } from './table.ts';

/** The options that hold the input of a command. */
export interface InputOptions {
  input?: string;
  inputFile?: string;
}

export interface CallOptions {
  user: string;
  credential?: string;
  json?: boolean;
}

/** Runs `gatehouse call`: runs an action for a user, and prints its result. */
export async function callAction(
  service: Service,
  { action, input }: { action: string; input: JsonObject },
  { user, credential, json }: CallOptions,
): Promise<number> {
  const [connectorId = '', actionId = ''] = action.split('.');
  const answer = asObject(
    await service.request({
      method: 'POST',
      path: `/connectors/${connectorId}/actions/${actionId}/execute`,
      userId: await idOf(service, USERS, user),
      body: { input, ...(credential === undefined ? {} : { credentialId: credential }) },
    }),
  );
  if (json) process.stdout.write(`${JSON.stringify(answer)}\n`);
  else {
    // Text of an app must not change the terminal.
    process.stdout.write(`${JSON.stringify(writtenOut(answer['data'] ?? null), undefined, 2)}\n`);
    const { nextOffset } = asObject(answer['pagination']);
    if (nextOffset !== undefined)
      process.stderr.write(`There are more: --input with "offset": ${textOf(nextOffset)} reads on.\n`);
  }
  return 0;
}

/**
 * Returns the input of a command: JSON of an option, of a file, or of standard input (`-`).
 * @throws UsageError for a wrong option; CommandError for a wrong file.
 */
export async function inputOf({ input, inputFile }: InputOptions): Promise<JsonObject> {
  if (input !== undefined) {
    if (inputFile !== undefined) throw new UsageError('--input and --input-file exclude each other.');
    return objectOf(input, '--input', UsageError);
  }
  if (inputFile === undefined) return {};
  if (inputFile === '-') return objectOf(fileText(await buffer(process.stdin)), 'standard input');
  try {
    return objectOf(fileText(readFileSync(inputFile)), inputFile);
  } catch (error) {
    if (error instanceof CommandError) throw error;
    throw new CommandError(`${inputFile} cannot be read: ${thrownMessage(error)}`);
  }
}

function objectOf(content: string, where: string, Fault: typeof CommandError = CommandError): JsonObject {
  try {
    const value = parseJson(content);
    if (isJsonObject(value)) return value;
  } catch (error) {
    throw new Fault(`${where} is not JSON: ${thrownMessage(error)}`);
  }
  throw new Fault(`${where} must be a JSON object, such as {"limit": 5}.`);
}
