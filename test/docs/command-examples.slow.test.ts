import { spawn } from 'node:child_process';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { BIN } from '../support/cli.ts';
import { until } from '../support/until.ts';
import { documentedCommands, lineOf, runHere, type Line, type Printed } from './examples/commands.ts';
import { openPlaces, removeMade, type Places } from './examples/command-places.ts';
import { openTerminal } from './examples/terminal.ts';

/*
 * Each example of docs/command-line.md, which are those of the help, runs as it is printed, over one store with a running
 * service. Most commands run in this process.
 */

const commands = documentedCommands();
const leaves = commands.filter(({ isLeaf }) => isLeaf).map(({ name }) => name);

/** Commands that need a process, with the text that shows that they work, and the signal that ends them. */
const PROCESSES: [command: RegExp, ready: RegExp, signal?: NodeJS.Signals][] = [
  [/^gatehouse( serve)?$/, /"msg":"listening"/, 'SIGTERM'],
  [/^gatehouse stdio/, /"result":.*"tools":/],
  [/^gatehouse listen/, /Ctrl-C ends/, 'SIGINT'],
  [/^gatehouse executions list .*--follow/, /Waiting for executions/, 'SIGINT'],
  // Node.js reads the file of authorities at its start.
  [/^gatehouse audit export --to syslogs:/, /Exported \d+ entries/],
];
/** Commands that begin with an empty home. */
const NEEDS_EMPTY_HOME = /^gatehouse (connectors new|restore|import)$/;
/** Exit codes other than 0 that the help describes. */
const CODES: Record<string, number[]> = { 'gatehouse config plan': [0, 3], 'gatehouse config apply': [0, 3] };
/** Commands that read what another command wrote. Each example follows that of the same place. */
const FOLLOWS: Record<string, string> = {
  'gatehouse restore': 'gatehouse backup',
  'gatehouse import': 'gatehouse export',
};

let places: Places;
beforeAll(async () => {
  places = await openPlaces();
});
afterAll(() => places?.[Symbol.asyncDispose]());

test('the help of every command has an example of this command', () => {
  const without = commands.filter(
    ({ name, isLeaf, examples }) => isLeaf && !examples.some((text) => commandIn(text) === name),
  );
  expect(without.map(({ name }) => name)).toEqual([]);
});

const seen = new Set<string>();
/** Commands of which an example has run. */
const ran = new Set<string>();

test.each(commands)('the examples of the command $name run', async ({ examples }) => {
  for (const [index, text] of examples.entries()) {
    // A group repeats examples of its commands.
    if (seen.has(text)) continue;
    seen.add(text);
    const name = commandIn(text);
    const before = commands.find((one) => one.name === FOLLOWS[name]);
    if (before) await run(before.name, before.examples[name === 'gatehouse import' ? 0 : index] ?? '');
    const { code, out, err } = await run(name, text);
    // Named keys have fewer rights than the later examples need.
    places.printed(/keys (create|rotate key_)/.test(text) ? out.replaceAll(/gh_\w+/g, '') + err : out + err);
    expect(`${text}\n${err}`).not.toMatch(/^(gatehouse|error): |DeprecationWarning/m);
    expect(CODES[name] ?? [0], `${text}\n${out}\n${err}`).toContain(code);
    ran.add(name);
  }
});

test('every command of the program has run', () => {
  expect([...ran].toSorted()).toEqual(leaves.toSorted());
});

/** Returns the command that an example calls. The default is `serve`. */
function commandIn(example: string): string {
  const { args } = lineOf(example.split(' | ').at(-1) ?? '');
  const names = [2, 1].map((count) => `gatehouse ${args.slice(0, count).join(' ')}`);
  return names.find((name) => leaves.includes(name)) ?? 'gatehouse serve';
}

async function run(name: string, example: string): Promise<Printed> {
  removeMade(places, name);
  // The user of most examples exists already.
  const text = await places.filledIn(
    name === 'gatehouse users create' ? example.replace('alice', 'carol') : example,
  );
  const { folder } = places;
  const env = {
    ...places.env,
    ...(text.includes(' --url ') ? { GATEHOUSE_KEY: places.key() } : {}),
    ...(text.includes('=vault:') ? places.vault : {}),
  };
  if (text.includes(' | ')) {
    await using terminal = openTerminal(folder, env);
    const { code, out } = await terminal.run(`pass() { cat key.json; }\n${text}`);
    return { code, out, err: '' };
  }
  const line = lineOf(text);
  const isAway = NEEDS_EMPTY_HOME.test(name) || line.env['DATABASE_URL'] !== undefined;
  const home = name === 'gatehouse serve' ? places.serving : isAway ? places.newHome() : env;
  const all = { ...home, ...line.env };
  const process = PROCESSES.find(([command]) => command.test(`gatehouse ${line.args.join(' ')}`.trim()));
  return process
    ? runProcess(line, {
        env: { ...all, NODE_EXTRA_CA_CERTS: places.authorities },
        ready: process[1],
        signal: process[2],
      })
    : runHere(line, { env: all, folder });
}

const LIST_TOOLS = `${JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list' })}\n`;

/** Runs a command as a process until it is ready, and ends it as a person does. */
async function runProcess(
  { args }: Line,
  { env, ready, signal }: { env: Record<string, string>; ready: RegExp; signal: NodeJS.Signals | undefined },
): Promise<Printed> {
  const child = spawn(process.execPath, [BIN, ...args], { env, cwd: places.folder });
  let [out, err] = ['', ''];
  child.stdout.on('data', (data: Buffer) => (out += data.toString()));
  child.stderr.on('data', (data: Buffer) => (err += data.toString()));
  let hasEnded = false;
  const ended = new Promise<number>((resolve) =>
    child.once('close', (code) => {
      hasEnded = true;
      resolve(code ?? -1);
    }),
  );
  child.stdin.write(LIST_TOOLS);
  await until(() => ready.test(out + err) || hasEnded, { state: () => out + err });
  expect(out + err).toMatch(ready);
  child.stdin.end();
  if (signal) child.kill(signal);
  return { code: await ended, out, err };
}
