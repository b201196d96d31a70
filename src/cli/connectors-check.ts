import { readFile, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { replayExample } from '../actions/replay.ts';
import { buildCatalog } from '../connectors/build.ts';
import { checkCompiles } from '../connectors/compiles.ts';
import { examplesFile, type ExamplesFile } from '../connectors/examples-format.ts';
import type { ConnectorFile } from '../connectors/format.ts';
import { parseConnector, parseYaml, type FileFault } from '../connectors/parse.ts';
import { replayHook } from '../events/replay.ts';
import { systemClock } from '../lib/clock.ts';
import type { Fault } from '../lib/errors.ts';
import { createLog } from '../log.ts';
import { replayUnified } from '../unified/replay.ts';
import { StartError } from './faults.ts';

export interface Checked {
  connectorId: string | undefined;
  actions: number;
  examples: number;
  /** Records of unified models, and webhooks, that were played. */
  records: number;
  webhooks: number;
  faults: FileFault[];
  /** Schemes with a value that no source confirms: authentication.1 (oauth2). No fault: they may well be right. */
  unverified: string[];
  /** What no example plays: a model, a webhook that is genuine or one that is forged. No fault either. */
  untried: string[];
}

/** `gatehouse connectors check`: the file (of a folder, its connector.yaml), then its examples. Exit code 1 when there is a fault. */
export async function checkConnector(path: string, { json }: { json: boolean }): Promise<number> {
  const isFolder = await stat(path).then(
    (found) => found.isDirectory(),
    () => false,
  );
  const file = isFolder ? join(path, 'connector.yaml') : path;
  const checked = await checkFile(file);
  const { connectorId, actions, examples, records, webhooks, faults, unverified, untried } = checked;
  if (json) process.stdout.write(`${JSON.stringify({ ok: faults.length === 0, ...checked })}\n`);
  else if (faults.length === 0) {
    process.stdout.write(
      `${file}: ${connectorId} is good: ${actions} actions, ${examples} examples replayed` +
        `${records > 0 ? `, ${records} records mapped` : ''}${webhooks > 0 ? `, ${webhooks} webhooks judged` : ''}\n`,
    );
    for (const path of unverified) process.stdout.write(`${file}: ${path}: is not verified by a source\n`);
    for (const path of untried) process.stdout.write(`${file}: ${path}: is tried by no example\n`);
  } else {
    for (const { file: where, path, rule } of faults) {
      process.stderr.write(`${where}: ${path ? `${path}: ` : ''}${rule}\n`);
    }
  }
  return faults.length === 0 ? 0 : 1;
}

/**
 * Every fault of a connector file: its format, its meaning, whether its schemas and expressions compile, and whether
 * the examples beside it play.
 * @throws StartError when the file cannot be read.
 */
export async function checkFile(file: string): Promise<Checked> {
  const text = await read(file);
  const parsed = parseConnector(text, file);
  if (!parsed.definition)
    return { connectorId: undefined, actions: 0, ...nothingPlayed, faults: parsed.faults, unverified: [] };
  const { definition } = parsed;
  const faults: FileFault[] = checkCompiles(definition).map((fault) => ({ file, ...fault }));
  const known = {
    connectorId: definition.id,
    actions: Object.values(definition.actions).filter((action) => !action.internal).length,
    unverified: definition.authentication.flatMap((scheme, index) =>
      'unverified' in scheme && scheme.unverified ? [`authentication.${index} (${scheme.type})`] : [],
    ),
  };
  if (faults.length > 0) return { ...known, ...nothingPlayed, faults };

  const [connector] = (await buildCatalog([{ path: file, text }])).connectors('development');
  const path = join(dirname(file), 'examples.yaml');
  const examples = await readExamples(path);
  if ('faults' in examples) return { ...known, ...nothingPlayed, faults: examples.faults };
  if (!connector) throw new Error(`${definition.id} is seen in no environment.`);
  const context = { clock: systemClock, log: createLog('silent') };
  const note = (name: string, found: Fault[]) =>
    faults.push(...found.map(({ field, rule }) => ({ file: path, path: `${name}.${field}`, rule })));
  for (const [index, example] of examples.examples.entries())
    note(`examples.${index} (${example.action})`, await replayExample(context, connector, example));
  for (const [index, example] of examples.unified.entries())
    note(`unified.${index} (${example.scope})`, await replayUnified(connector, example));
  for (const [index, example] of examples.webhooks.entries())
    note(`webhooks.${index}`, await replayHook(connector, example));
  return { ...known, ...playedOf(examples), untried: untriedOf(definition, examples), faults };
}

const nothingPlayed = { examples: 0, records: 0, webhooks: 0, untried: [] };

function playedOf({ examples, unified, webhooks }: ExamplesFile) {
  return { examples: examples.length, records: unified.length, webhooks: webhooks.length };
}

/** Models without a recorded record, and a verification that no good or no bad webhook was held against. */
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

async function readExamples(path: string): Promise<ExamplesFile | { faults: FileFault[] }> {
  let text: string;
  try {
    text = await readFile(path, 'utf8');
  } catch {
    return { examples: [], unified: [], webhooks: [] };
  }
  const yaml = parseYaml(text, path);
  if ('faults' in yaml) return { faults: yaml.faults };
  const parsed = examplesFile.safeParse(yaml.value);
  if (parsed.success) return parsed.data;
  return {
    faults: parsed.error.issues.map((issue) => ({
      file: path,
      path: issue.path.join('.'),
      rule: issue.message,
    })),
  };
}

async function read(file: string): Promise<string> {
  try {
    return await readFile(file, 'utf8');
  } catch (error) {
    throw new StartError(`Cannot read ${file}: ${error instanceof Error ? error.message : String(error)}`);
  }
}
