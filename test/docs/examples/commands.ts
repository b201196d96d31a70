import type { Command } from 'commander';
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { buildProgram, main } from '../../../src/main.ts';

/** A command of the program with the examples of its help. */
export interface Documented {
  /** `gatehouse keys list`. */
  name: string;
  /** Whether it does something; a group only has commands. */
  isLeaf: boolean;
  /** As printed, with the lines that `\` continues, without a comment. */
  examples: string[];
}

/** Returns the program and all its commands, groups included. */
export function documentedCommands(): Documented[] {
  return treeOf(buildProgram(() => {}));
}

function treeOf(command: Command): Documented[] {
  const below = command.commands.filter((one) => one.name() !== 'help');
  return [
    { name: nameOf(command), isLeaf: below.length === 0, examples: examplesOf(command) },
    ...below.flatMap(treeOf),
  ];
}

function nameOf(command: Command): string {
  return command.parent ? `${nameOf(command.parent)} ${command.name()}` : command.name();
}

function examplesOf(command: Command): string[] {
  let help = '';
  command.configureOutput({ writeOut: (part) => void (help += part) });
  command.outputHelp();
  const [, examples = ''] = help.split(/^Examples:\n/m);
  return examples
    .split(/^ {2}\$ /m)
    .slice(1)
    .map((text) => text.replace(/ {2,}(?![ -]).*$/m, '').trim());
}

/** An example as a shell reads it. */
export interface Line {
  env: Record<string, string>;
  args: string[];
  /** File that takes the standard output. */
  to: string | undefined;
}

/** Reads variables, words in quotes, and one redirection. Other syntax of a shell is a fault. */
export function lineOf(example: string): Line {
  const text = example.replaceAll('\\\n', ' ');
  const words = [...text.matchAll(/(?:'[^']*'|"[^"]*"|[^\s'"])+/g)].map(([word]) => word);
  const strange = words.find((word) => /^[|&;<]|\$\(/.test(word));
  if (strange !== undefined) throw new Error(`"${strange}" is not read here: ${example}`);
  const bare = words.map((word) => word.replaceAll(/'([^']*)'|"([^"]*)"/g, (_, one, two) => one ?? two));
  const begin = bare.indexOf('gatehouse');
  const arrow = bare.indexOf('>');
  const variables = bare.slice(0, begin).map((word) => {
    const at = word.indexOf('=');
    return [word.slice(0, at), word.slice(at + 1)];
  });
  return {
    env: Object.fromEntries(variables),
    args: bare.slice(begin + 1, arrow === -1 ? undefined : arrow),
    to: arrow === -1 ? undefined : bare[arrow + 1],
  };
}

export interface Printed {
  code: number;
  out: string;
  err: string;
}

/** Runs a command in this process, in a folder and with these variables of ours alone. It may not read standard input. */
export async function runHere(
  { args, to }: Pick<Line, 'args' | 'to'>,
  { env, folder }: { env: Record<string, string>; folder: string },
): Promise<Printed> {
  const before = { env: { ...process.env }, folder: process.cwd() };
  const [out, err] = [collect(process.stdout), collect(process.stderr)];
  const ours = Object.keys(process.env).filter((name) =>
    /^(GATEHOUSE_|VAULT_|DATABASE_URL|PORT$|HOST$)/.test(name),
  );
  for (const name of ours) delete process.env[name];
  Object.assign(process.env, env);
  process.chdir(folder);
  try {
    const code = await main(args);
    if (to !== undefined) {
      const file = resolve(folder, to);
      mkdirSync(dirname(file), { recursive: true });
      writeFileSync(file, out.text());
    }
    return { code, out: out.text(), err: err.text() };
  } finally {
    process.chdir(before.folder);
    for (const name of Object.keys(env)) delete process.env[name];
    Object.assign(process.env, before.env);
    // Each call of main() adds one.
    process.stdout.removeAllListeners('error');
    out.end();
    err.end();
  }
}

/** Collects what is written to a stream of this process until `end`. */
function collect(stream: NodeJS.WriteStream): { text(): string; end(): void } {
  const { write } = stream;
  let text = '';
  stream.write = (chunk: string | Uint8Array, ...more: unknown[]) => {
    text += typeof chunk === 'string' ? chunk : Buffer.from(chunk).toString('utf8');
    const done = more.at(-1);
    if (typeof done === 'function') process.nextTick(done);
    return true;
  };
  return { text: () => text, end: () => void (stream.write = write) };
}
