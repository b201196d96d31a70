import { readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { replayExample } from '../actions/replay.ts';
import { buildCatalog } from '../connectors/build.ts';
import { checkCompiles } from '../connectors/compiles.ts';
import { examplesFile, type ExamplesFile } from '../connectors/format.ts';
import { parseConnector, parseYaml, type FileFault } from '../connectors/parse.ts';
import { systemClock } from '../lib/clock.ts';
import { createLog } from '../log.ts';
import { StartError } from './faults.ts';

export interface Checked {
  connectorId: string | undefined;
  actions: number;
  examples: number;
  faults: FileFault[];
  /** Schemes with a value that no source confirms: authentication.1 (oauth2). No fault: they may well be right. */
  unverified: string[];
}

/** `gatehouse connectors check`: the file, then its examples. Exit code 1 when there is a fault. */
export async function checkConnector(file: string, { json }: { json: boolean }): Promise<number> {
  const checked = await checkFile(file);
  const { connectorId, actions, examples, faults, unverified } = checked;
  if (json) process.stdout.write(`${JSON.stringify({ ok: faults.length === 0, ...checked })}\n`);
  else if (faults.length === 0) {
    process.stdout.write(
      `${file}: ${connectorId} is good: ${actions} actions, ${examples} examples replayed\n`,
    );
    for (const path of unverified) process.stdout.write(`${file}: ${path}: is not verified by a source\n`);
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
    return { connectorId: undefined, actions: 0, examples: 0, faults: parsed.faults, unverified: [] };
  const { definition } = parsed;
  const faults: FileFault[] = checkCompiles(definition).map((fault) => ({ file, ...fault }));
  const known = {
    connectorId: definition.id,
    actions: Object.values(definition.actions).filter((action) => !action.internal).length,
    unverified: definition.authentication.flatMap((scheme, index) =>
      'unverified' in scheme && scheme.unverified ? [`authentication.${index} (${scheme.type})`] : [],
    ),
  };
  if (faults.length > 0) return { ...known, examples: 0, faults };

  const [connector] = (await buildCatalog([{ path: file, text }])).connectors('development');
  const path = join(dirname(file), 'examples.yaml');
  const examples = await readExamples(path);
  if ('faults' in examples) return { ...known, examples: 0, faults: examples.faults };
  if (!connector) throw new Error(`${definition.id} is seen in no environment.`);
  const context = { clock: systemClock, log: createLog('silent') };
  for (const [index, example] of examples.examples.entries()) {
    const found = await replayExample(context, connector, example);
    faults.push(
      ...found.map(({ field, rule }) => ({
        file: path,
        path: `examples.${index} (${example.action}).${field}`,
        rule,
      })),
    );
  }
  return { ...known, examples: examples.examples.length, faults };
}

async function readExamples(path: string): Promise<ExamplesFile | { faults: FileFault[] }> {
  let text: string;
  try {
    text = await readFile(path, 'utf8');
  } catch {
    return { examples: [] };
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
