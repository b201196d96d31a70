import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { basename, dirname, join, resolve, sep } from 'node:path';
import { readConfig } from '../config.ts';
import { hostingOf, SANDBOX_ID, type Connector } from '../connectors/catalog.ts';
import { compileConnector } from '../connectors/compile.ts';
import { checkCompiles } from '../connectors/compile-check.ts';
import type { FileFault } from '../connectors/file-fault.ts';
import type { ConnectorFile } from '../connectors/format/format.ts';
import type { LineOf } from '../connectors/lines.ts';
import { overlayOf } from '../connectors/overlay.ts';
import { parseWithOverlay, parseYaml, withLine } from '../connectors/parse.ts';
import { customFaults } from '../connectors/semantics/custom-semantics.ts';
import type { SemanticFault } from '../connectors/semantics/semantic-fault.ts';
import { systemClock } from '../lib/clock.ts';
import { thrownMessage, type Fault } from '../lib/errors.ts';
import { createLog } from '../log.ts';
import { CATALOG_FOLDER } from '../package.ts';
import { mapMemberFaults } from '../unified/map-members.ts';
import { AuthorError } from './author-error.ts';
import { descriptionFaults } from './description-check.ts';
import { replayExample } from './example-replay.ts';
import { examplesFile, type ExamplesFile } from '../connectors/format/examples-format.ts';
import { replayHook } from './replay-hook.ts';
import { replaySource, replayUnified } from './replay-mapping.ts';
import { replayWrite } from './replay-write.ts';
import { missingPoints, scoreOf, untriedActionsOf, usedFaults } from './score.ts';

/** The name of a connector's file in the folder of the connector. */
export const CONNECTOR_FILE = 'connector.yaml';

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
 * Returns every fault of a connector file: of its format and semantics, of schemas, expressions and GraphQL
 * documents that do not compile, and of the examples next to it. In files below `shippedFolder`, descriptions that
 * models miss are faults too. A file called connector.yaml belongs to its folder.
 * @throws AuthorError when the file cannot be read.
 */
export async function checkFile(file: string, shippedFolder = CATALOG_FOLDER): Promise<Checked> {
  const text = await read(file);
  const folder = basename(file) === CONNECTOR_FILE ? basename(dirname(resolve(file))) : undefined;
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
    throw new AuthorError(`Cannot read ${file}: ${thrownMessage(error)}`);
  }
}
