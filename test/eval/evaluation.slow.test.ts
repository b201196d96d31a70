import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { promisify } from 'node:util';
import { beforeAll, expect, test } from 'vitest';
import { MODES, connectorsOf, readTasks } from './agent.ts';
import { readRequests, SETS } from './evaluate.ts';

const COMMAND = new URL('run.ts', import.meta.url).pathname;
const PAGE = new URL('../../docs/performance.md', import.meta.url);

interface Line {
  part: string;
  name: string;
  now: string;
}

let printed: Line[];
let documented: Line[];
beforeAll(async () => {
  const { stdout } = await promisify(execFile)(process.execPath, [COMMAND, '--few']);
  printed = linesIn(stdout);
  const [, section = ''] = readFileSync(PAGE, 'utf8').split('## The evaluation\n');
  documented = linesIn(section.split('\n## ')[0] ?? '');
});

/** Returns the rows of the evaluation in a text. The last column has the figures of now. */
function linesIn(text: string): Line[] {
  return text
    .split('\n')
    .map((line) => line.split('|').map((cell) => cell.trim()))
    .filter((cells) => / \/ /.test(cells.at(-2) ?? ''))
    .map((cells) => ({ part: cells[1] ?? '', name: cells[2] ?? '', now: cells.at(-2) ?? '' }));
}

function namesOf(lines: readonly Line[], part: string): string[] {
  return lines.filter((line) => line.part === part).map(({ name }) => name);
}

test('the command prints the tools of both servers in each mode', () => {
  expect(namesOf(printed, 'tools listed')).toEqual(
    ['all connectors', 'GitHub, Slack and Notion'].flatMap((server) =>
      ['direct', 'discovery', 'program'].map((mode) => `${server}: ${mode}`),
    ),
  );
});

test('the command solves tasks over one app and over two in each mode', () => {
  const names = [...namesOf(printed, 'task, long list'), ...namesOf(printed, 'task')];
  const tasks = readTasks().filter(({ say }) => names.includes(`${say}: program`));
  for (const { say } of tasks)
    expect(names).toEqual(expect.arrayContaining(MODES.map((mode) => `${say}: ${mode}`)));
  expect(new Set(tasks.flatMap(connectorsOf)).size).toBe(3);
  expect(tasks.filter((one) => connectorsOf(one).length > 1).length).toBeGreaterThanOrEqual(3);
  expect(tasks.length).toBeGreaterThanOrEqual(6);
  const sums = MODES.map((mode) => `all: ${mode}`);
  expect(namesOf(printed, 'all tasks')).toEqual(sums);
  expect(names).toEqual(expect.arrayContaining([...sums, 'tokens saved by programs']));
});

test('programs take at least 90 % fewer tokens over long lists', () => {
  const saved = printed.find(({ name }) => name === 'tokens saved by programs')?.now ?? '';
  const shares = saved.split(' / ').map((share) => Number.parseInt(share, 10));
  expect(shares).toHaveLength(2);
  expect(Math.min(...shares)).toBeGreaterThanOrEqual(90);
});

test('the command prints each set of requests by language and kind', () => {
  for (const set of SETS) {
    const requests = readRequests().filter((one) => one.set === set);
    const groups = new Set(requests.flatMap(({ language, kind }) => [language, kind]));
    const names = namesOf(printed, `search, ${set}`);
    expect(names).toHaveLength(groups.size + 1);
    expect(names).toEqual(expect.arrayContaining(['German', 'plain', 'of several steps', 'all']));
  }
});

test('invalid calls end in one turn', () => {
  const calls = printed.filter(({ part }) => part === 'invalid calls');
  expect(calls.map(({ name, now }) => [name, now])).toEqual([
    ['forgiven, and said so', '1 / 1'],
    ['refused, then repaired', '3 / 3'],
    ['all', '4 / 4'],
  ]);
});

test('the page of figures has the sums of each part, and rows of the command only', () => {
  const rows = documented.map(({ part, name }) => ({ part, name }));
  const sums = [
    ...MODES.map((mode) => ({ part: 'tools listed', name: `all connectors: ${mode}` })),
    ...MODES.map((mode) => ({ part: 'all tasks', name: `all: ${mode}` })),
    ...SETS.map((set) => ({ part: `search, ${set}`, name: 'all' })),
    { part: 'invalid calls', name: 'all' },
  ];
  expect(rows).toEqual(expect.arrayContaining(sums));
  expect(printed.map(({ part, name }) => ({ part, name }))).toEqual(expect.arrayContaining(rows));
});

test('the evaluation has twenty tasks', () => {
  expect(readTasks()).toHaveLength(20);
});
