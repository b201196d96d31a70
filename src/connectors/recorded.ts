import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import type * as YamlModule from 'yaml';
import { isJsonObject, parseJson, type JsonObject } from '../lib/json.ts';

/*
 * Inputs of the recorded calls in examples.yaml. A whole file takes up to 290 ms to parse, mostly for the answers. So
 * the text of each input is cut out, and only that is parsed.
 */

/** The input of a recorded call that the app accepted. */
export interface RecordedInput {
  readonly actionId: string;
  /** Its text in the file, which contains the name of every given parameter. */
  readonly text: string;
  /** Returns the input, parsed at the first call; undefined when the text points to another part of its file. */
  input(): JsonObject | undefined;
}

const require = createRequire(import.meta.url);

/** Returns the recorded inputs next to a connector file, read at their first use. */
export function recordedBeside(connectorPath: string): () => readonly RecordedInput[] {
  let read: readonly RecordedInput[] | undefined;
  return () => (read ??= inputsIn(textOf(join(dirname(connectorPath), 'examples.yaml'))));
}

/** Returns the text of a file; empty when it is missing, because a connector need not have examples. */
function textOf(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}

function inputsIn(text: string): RecordedInput[] {
  const lines = text.split('\n');
  const starts = lines.flatMap((line, at) => (/^\s*- action: /.test(line) ? [at] : []));
  return starts.flatMap((start, at) => recordedIn(lines.slice(start, starts[at + 1])));
}

/** Returns the input in the lines of one recorded call. A refused call has none. */
function recordedIn([first = '', ...lines]: string[]): RecordedInput[] {
  const [, dash = '', actionId = ''] = /^(\s*- )action: *["']?(\w+)/.exec(first) ?? [];
  const margin = ' '.repeat(dash.length);
  const isMember = (line: string) => line.startsWith(margin) && /^\w/.test(line.slice(dash.length));
  const member = (name: string) => lines.findIndex((line) => line.startsWith(`${margin}${name}:`));
  if (member('error') >= 0) return [];
  const start = member('input');
  const rest = lines.slice(start + 1);
  const end = rest.findIndex((line) => isMember(line));
  const own = start < 0 ? [] : [lines[start] ?? '', ...(end < 0 ? rest : rest.slice(0, end))];
  const text = own.map((line) => line.slice(dash.length)).join('\n');
  let input: { value: JsonObject | undefined } | undefined;
  return [{ actionId, text, input: () => (input ??= { value: parsed(text) }).value }];
}

function parsed(text: string): JsonObject | undefined {
  if (text === '') return {};
  const { parse }: typeof YamlModule = require('yaml');
  try {
    const { input } = Object(parse(text, { logLevel: 'silent' }));
    const json = parseJson(JSON.stringify(input ?? {}));
    return isJsonObject(json) ? json : undefined;
  } catch {
    return undefined;
  }
}
