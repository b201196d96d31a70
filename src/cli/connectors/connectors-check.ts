import { existsSync } from 'node:fs';
import { readdir, readFile, stat } from 'node:fs/promises';
import { basename, dirname, join, resolve, sep } from 'node:path';
import { replayExample } from '../../author/example-replay.ts';
import { readConfig } from '../../config.ts';
import { faultLine, hostingOf, SANDBOX_ID, type Connector } from '../../connectors/catalog.ts';
import { customFaults } from '../../connectors/semantics/custom-semantics.ts';
import { CATALOG_FOLDER } from '../../package.ts';
import { compileConnector } from '../../connectors/compile.ts';
import { checkCompiles } from '../../connectors/compile-check.ts';
import { examplesFile, type ExamplesFile } from '../../connectors/format/examples-format.ts';
import { descriptionFaults } from '../../author/description-check.ts';
import type { ConnectorFile } from '../../connectors/format/format.ts';
import type { LineOf } from '../../connectors/lines.ts';
import type { SemanticFault } from '../../connectors/semantics/semantic-fault.ts';
import { overlayOf } from '../../connectors/overlay.ts';
import { parseWithOverlay, parseYaml, withLine } from '../../connectors/parse.ts';
import type { FileFault } from '../../connectors/file-fault.ts';
import { replayHook } from '../../author/replay-hook.ts';
import { systemClock } from '../../lib/clock.ts';
import { thrownMessage, type Fault } from '../../lib/errors.ts';
import { createLog } from '../../log.ts';
import { mapMemberFaults } from '../../unified/map-members.ts';
import { replaySource, replayUnified } from '../../author/replay-mapping.ts';
import { replayWrite } from '../../author/replay-write.ts';
import { fileOf } from './connector-folder.ts';
import { compareFile, printComparison, type Compared } from './connectors-compare.ts';
import { missingPoints, scoreOf, untriedActionsOf, usedFaults } from '../../author/score.ts';
import { CommandError } from '../faults.ts';

const CONNECTOR = 'connector.yaml';

export interface Checked {
  connectorId: string | undefined;
  actions: number;
  examples: number;
  /** Number of played records of unified models and event sources, and of played webhooks. */
  records: number;
  webhooks: number;
  faults: FileFault[];
  /** Schemes with a value that no source confirms: authentication.1 (oauth2). It is no fault, because it may be right. */
  unverified: string[];
  /** Parts without an example: a model, an event source, a genuine webhook, a forged one. It is no fault. */
  untried: string[];
  /** Actions that no example calls. */
  untriedActions: string[];
  /** 0 to 100; see scoreOf(). 0 where there is a fault. */
  score: number;
  /** A line for each part of the score that is not whole. */
  missing: string[];
}

/**
 * Runs `gatehouse connectors check`. Checks a connector file and the examples next to it. `path` may be the file, its
 * folder, or a folder of such folders. `openapi` is the vendor's document to compare the file with. Returns exit code 1
 * when there is a fault or a difference.
 */
export async function checkConnector(
  path: string,
  { json, openapi }: { json: boolean; openapi?: string | undefined },
): Promise<number> {
  const files = await filesAt(path);
  if (openapi !== undefined && files.length > 1)
    throw new CommandError('--openapi compares one connector; name its folder.');
  const all: (Checked & { ok: boolean; openapi?: Compared })[] = [];
  for (const file of files) {
    const checked = await checkFile(file);
    const isGood = checked.faults.length === 0;
    if (!json) print(file, checked);
    // A file that cannot be read cannot be compared. A file with faulty examples can.
    const isRead = checked.connectorId !== undefined;
    const compared = openapi !== undefined && isRead ? await compareFile(file, openapi) : undefined;
    if (compared && !json) printComparison(file, compared);
    const ok = isGood && (compared?.differences.length ?? 0) === 0;
    all.push({ ok, ...checked, ...(compared ? { openapi: compared } : {}) });
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
 * Returns the files to check. `path` is a file, the folder of a file, a folder of such folders, or the id of a connector.
 * @throws CommandError where there is none.
 */
async function filesAt(path: string): Promise<string[]> {
  const isFolder = await stat(path).then(
    (found) => found.isDirectory(),
    () => false,
  );
  if (!isFolder)
    return [existsSync(path) || !/^[a-z0-9-]{1,32}$/.test(path) ? path : fileOf(path, undefined)];
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
  for (const line of checked.missing) process.stdout.write(`${file}: ${line}\n`);
}

/**
 * Returns every fault of a connector file: of its format and semantics, of schemas, expressions and GraphQL
 * documents that do not compile, and of the examples next to it. In files below `shippedFolder`, descriptions that
 * models miss are faults too. A file called connector.yaml belongs to its folder.
 * @throws CommandError when the file cannot be read.
 */
export async function checkFile(file: string, shippedFolder = CATALOG_FOLDER): Promise<Checked> {
  const text = await read(file);
  const folder = basename(file) === CONNECTOR ? basename(dirname(resolve(file))) : undefined;
  const parsed = parseWithOverlay({ text, file, id: folder, overlay: overlayOf(file) });
  if (!parsed.definition)
    return { connectorId: undefined, actions: 0, ...noReplays, faults: parsed.faults, unverified: [] };
  const { definition, lineOf } = parsed;
  const own = (fault: SemanticFault) => withLine({ file, ...fault }, lineOf);
  const faults: FileFault[] = [
    ...checkCompiles(definition),
    ...folderFaults(file, definition),
    ...(resolve(file).startsWith(shippedFolder + sep) ? descriptionFaults(definition) : []),
  ].map(own);
  const known = {
    connectorId: definition.id,
    actions: Object.values(definition.actions).filter((action) => !action.internal).length,
    unverified: definition.authentication.flatMap((scheme, index) =>
      'unverified' in scheme && scheme.unverified ? [`authentication.${index} (${scheme.type})`] : [],
    ),
  };
  // The members of a map can be read once its expression compiles.
  if (faults.length === 0) faults.push(...mapMemberFaults(definition).map(own));
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
    ...(faults.length > 0
      ? { score: 0, missing: [] }
      : { score: scoreOf(definition, examples), missing: missingPoints(definition, examples) }),
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

const noReplays = {
  examples: 0,
  records: 0,
  webhooks: 0,
  untried: [],
  untriedActions: [],
  score: 0,
  missing: [],
};

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
  for (const [index, example] of examples.writes.entries())
    note(`writes.${index} (${example.scope})`, await replayWrite(connector, example));
  for (const [index, example] of examples.events.entries())
    note(`events.${index} (${example.source})`, await replaySource(connector, example));
  for (const [index, example] of examples.webhooks.entries())
    note(`webhooks.${index}`, await replayHook(connector, example));
  return faults;
}

function replayedIn({ examples, unified, writes, events, webhooks }: ExamplesFile) {
  const records = unified.length + writes.length + events.length;
  return { examples: examples.length, records, webhooks: webhooks.length };
}

/**
 * Returns the models and event sources without a recorded record or write, and a verification without a genuine or
 * without a forged webhook.
 */
function untriedOf({ unified, events, webhooks }: ConnectorFile, examples: ExamplesFile): string[] {
  const scopes = new Set(examples.unified.map(({ scope }) => `${scope}`));
  const models = Object.keys(unified).filter((scope) => !scopes.has(scope));
  const sources = new Set(examples.events.map(({ source }) => source));
  const own = Object.keys(events).filter((name) => !sources.has(name));
  const written = new Set(examples.writes.map(({ scope, write }) => `${scope}.${write}`));
  const writes = Object.entries(unified).flatMap(([scope, model]) =>
    (['create', 'update'] as const)
      .filter((write) => model?.[write])
      .map((write) => `${scope}.${write}`)
      .filter((write) => !written.has(write)),
  );
  const judged = new Set(examples.webhooks.map(({ expect }) => expect.genuine));
  return [
    ...[...models, ...writes].map((part) => `unified.${part}`),
    ...own.map((name) => `events.${name}`),
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
    return {
      examples: { examples: [], unified: [], writes: [], events: [], webhooks: [] },
      lineOf: () => undefined,
    };
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
