import { existsSync } from 'node:fs';
import { readdir, readFile, stat } from 'node:fs/promises';
import { basename, dirname, join, resolve, sep } from 'node:path';
import { replayExample } from '../actions/example-replay.ts';
import { readConfig } from '../config.ts';
import { faultLine, hostingOf, SANDBOX_ID, type Connector } from '../connectors/catalog.ts';
import { customFaults } from '../connectors/custom-semantics.ts';
import { CATALOG_FOLDER } from '../package.ts';
import { compileConnector } from '../connectors/compile.ts';
import { checkCompiles } from '../connectors/compile-check.ts';
import { examplesFile, type ExamplesFile } from '../connectors/examples-format.ts';
import type { ConnectorFile } from '../connectors/format.ts';
import type { LineOf } from '../connectors/lines.ts';
import type { SemanticFault } from '../connectors/semantic-fault.ts';
import { overlayOf } from '../connectors/overlay.ts';
import { parseWithOverlay, parseYaml, withLine } from '../connectors/parse.ts';
import type { FileFault } from '../connectors/file-fault.ts';
import { replayHook } from '../sources/webhooks/replay-hook.ts';
import { systemClock } from '../lib/clock.ts';
import { thrownMessage, type Fault } from '../lib/errors.ts';
import { createLog } from '../log.ts';
import { replayUnified } from '../unified/replay-mapping.ts';
import { scoreOf, untriedActionsOf, usedFaults } from './connectors-score.ts';
import { CommandError } from './faults.ts';

const CONNECTOR = 'connector.yaml';

export interface Checked {
  connectorId: string | undefined;
  actions: number;
  examples: number;
  /** Number of played records of unified models, and of played webhooks. */
  records: number;
  webhooks: number;
  faults: FileFault[];
  /** Schemes with a value that no source confirms: authentication.1 (oauth2). No fault, because they may be right. */
  unverified: string[];
  /** Parts without an example: a model, a genuine webhook, a forged one. No fault either. */
  untried: string[];
  /** Actions that no example calls. */
  untriedActions: string[];
  /** 0 to 100; see scoreOf(). 0 where there is a fault. */
  score: number;
}

/**
 * Runs `gatehouse connectors check`: it checks the file (of a folder, its connector.yaml), then its examples. A folder
 * of such folders is checked one by one. Returns exit code 1 when there is a fault.
 */
export async function checkConnector(path: string, { json }: { json: boolean }): Promise<number> {
  const files = await filesAt(path);
  const all: (Checked & { ok: boolean })[] = [];
  for (const file of files) {
    const checked = await checkFile(file);
    const ok = checked.faults.length === 0;
    all.push({ ok, ...checked });
    if (!json) print(file, checked);
  }
  const ok = all.every((one) => one.ok);
  const [only, ...others] = all;
  if (json)
    process.stdout.write(`${JSON.stringify(only && others.length === 0 ? only : { ok, connectors: all })}\n`);
  else if (others.length > 0) {
    const good = all.filter((one) => one.ok).length;
    process.stdout.write(`${good} of ${all.length} connectors are good\n`);
  }
  return ok ? 0 : 1;
}

/**
 * Returns the file itself, that of a folder, or those of the folders in it.
 * @throws CommandError where there is none.
 */
async function filesAt(path: string): Promise<string[]> {
  const isFolder = await stat(path).then(
    (found) => found.isDirectory(),
    () => false,
  );
  if (!isFolder) return [path];
  const own = join(path, CONNECTOR);
  if (existsSync(own)) return [own];
  const files = (await readdir(path, { withFileTypes: true }))
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => join(path, name, CONNECTOR))
    .filter((file) => existsSync(file));
  if (files.length === 0)
    throw new CommandError(`There is no ${CONNECTOR} in ${path}, nor in a folder of it.`);
  return files.sort();
}

function print(file: string, checked: Checked): void {
  const { connectorId, actions, examples, records, webhooks, faults, unverified, untried } = checked;
  for (const fault of faults) process.stderr.write(`${faultLine(fault)}\n`);
  if (faults.length > 0) return;
  process.stdout.write(
    `${file}: ${connectorId} is good (${checked.score} of 100): ${actions} actions, ${examples} examples replayed` +
      `${records > 0 ? `, ${records} records mapped` : ''}${webhooks > 0 ? `, ${webhooks} webhooks judged` : ''}\n`,
  );
  for (const path of unverified) process.stdout.write(`${file}: ${path}: is not verified by a source\n`);
  for (const path of untried) process.stdout.write(`${file}: ${path}: is tried by no example\n`);
  const { untriedActions: left } = checked;
  if (left.length > 0)
    process.stdout.write(`${file}: ${left.length} actions are tried by no example: ${left.join(', ')}\n`);
}

/**
 * Returns every fault of a connector file: of its format and semantics, of schemas, expressions and GraphQL
 * documents that do not compile, and of the examples next to it. A file called connector.yaml belongs to its folder.
 * @throws CommandError when the file cannot be read.
 */
export async function checkFile(file: string): Promise<Checked> {
  const text = await read(file);
  const folder = basename(file) === CONNECTOR ? basename(dirname(resolve(file))) : undefined;
  const parsed = parseWithOverlay({ text, file, id: folder, overlay: overlayOf(file) });
  if (!parsed.definition)
    return { connectorId: undefined, actions: 0, ...noReplays, faults: parsed.faults, unverified: [] };
  const { definition, lineOf } = parsed;
  const own = (fault: SemanticFault) => withLine({ file, ...fault }, lineOf);
  const faults: FileFault[] = [...checkCompiles(definition), ...folderFaults(file, definition)].map(own);
  const known = {
    connectorId: definition.id,
    actions: Object.values(definition.actions).filter((action) => !action.internal).length,
    unverified: definition.authentication.flatMap((scheme, index) =>
      'unverified' in scheme && scheme.unverified ? [`authentication.${index} (${scheme.type})`] : [],
    ),
  };
  if (faults.length > 0) return { ...known, ...noReplays, faults };

  const path = join(dirname(file), 'examples.yaml');
  const recorded = await readExamples(path);
  if ('faults' in recorded) return { ...known, ...noReplays, faults: recorded.faults };
  const { examples, lineOf: exampleLine } = recorded;
  faults.push(...usedFaults(definition, examples).map(own));
  const connector = compileConnector(definition, hostingOf(definition, false, file));
  for (const fault of await replayAll(connector, examples))
    faults.push(withLine({ file: path, ...fault }, exampleLine));
  const untriedActions = untriedActionsOf(definition, examples);
  return {
    ...known,
    ...replayedIn(examples),
    untried: untriedOf(definition, examples),
    untriedActions,
    faults,
    score: faults.length > 0 ? 0 : scoreOf(definition, examples),
  };
}

/** Returns the faults of a file as a custom connector, if it is in the folder of such connectors. */
function folderFaults(file: string, definition: ConnectorFile): SemanticFault[] {
  const folder = resolve(readConfig().connectorsFolder);
  if (!resolve(file).startsWith(folder + sep)) return [];
  const isTaken = definition.id === SANDBOX_ID || existsSync(join(CATALOG_FOLDER, definition.id));
  const taken = { path: 'id', rule: `"${definition.id}" is the id of a shipped connector` };
  return [...customFaults(definition), ...(isTaken ? [taken] : [])];
}

const noReplays = { examples: 0, records: 0, webhooks: 0, untried: [], untriedActions: [], score: 0 };

/** Returns the differences between each example and its replay. */
async function replayAll(connector: Connector, examples: ExamplesFile): Promise<SemanticFault[]> {
  const context = { clock: systemClock, log: createLog('silent') };
  const faults: SemanticFault[] = [];
  const note = (name: string, found: Fault[]) =>
    faults.push(...found.map(({ field, rule }) => ({ path: `${name}.${field}`, rule })));
  for (const [index, example] of examples.examples.entries())
    note(`examples.${index} (${example.action})`, await replayExample(context, connector, example));
  for (const [index, example] of examples.unified.entries())
    note(`unified.${index} (${example.scope})`, await replayUnified(connector, example));
  for (const [index, example] of examples.webhooks.entries())
    note(`webhooks.${index}`, await replayHook(connector, example));
  return faults;
}

function replayedIn({ examples, unified, webhooks }: ExamplesFile) {
  return { examples: examples.length, records: unified.length, webhooks: webhooks.length };
}

/** Returns the models without a recorded record, and a verification without a genuine or without a forged webhook. */
function untriedOf({ unified, webhooks }: ConnectorFile, examples: ExamplesFile): string[] {
  const scopes = new Set(examples.unified.map(({ scope }) => `${scope}`));
  const models = Object.keys(unified).filter((scope) => !scopes.has(scope));
  const judged = new Set(examples.webhooks.map(({ expect }) => expect.genuine));
  return [
    ...models.map((scope) => `unified.${scope}`),
    ...(webhooks && !judged.has(true) ? ['webhooks, a good one'] : []),
    ...(webhooks && !judged.has(false) ? ['webhooks, a forged one'] : []),
  ];
}

async function readExamples(
  path: string,
): Promise<{ examples: ExamplesFile; lineOf: LineOf } | { faults: FileFault[] }> {
  let text: string;
  try {
    text = await readFile(path, 'utf8');
  } catch {
    return { examples: { examples: [], unified: [], webhooks: [] }, lineOf: () => undefined };
  }
  const yaml = parseYaml(text, path);
  if ('faults' in yaml) return { faults: yaml.faults };
  const { lineOf } = yaml;
  const parsed = examplesFile.safeParse(yaml.value);
  if (parsed.success) return { examples: parsed.data, lineOf };
  const faults = parsed.error.issues.map((issue) => ({ path: issue.path.join('.'), rule: issue.message }));
  return { faults: faults.map((fault) => withLine({ file: path, ...fault }, lineOf)) };
}

async function read(file: string): Promise<string> {
  try {
    return await readFile(file, 'utf8');
  } catch (error) {
    throw new CommandError(`Cannot read ${file}: ${thrownMessage(error)}`);
  }
}
