import { AsyncLocalStorage } from 'node:async_hooks';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { Reply, Request } from '../../src/programs/program-messages.ts';
import { createPrograms, type Programs } from '../../src/programs/program-pool.ts';
import { sourceOf } from '../../src/programs/program-source.ts';
import { programProcesses } from '../support/children.ts';
import { until } from '../support/until.ts';

/* The processes of programs. The functions here answer the requests of the programs. */
let programs: Programs;
beforeEach(() => {
  programs = createPrograms();
});
afterEach(() => programs.close());

type Answer = (request: Request) => Promise<Reply>;
const nothing: Answer = async () => ({ text: '{"value":null}' });
const nothingAfter =
  (end: Promise<void>): Answer =>
  async (request) => {
    await end;
    return nothing(request);
  };

const run = (code: string, { owner = 'ada', answer = nothing, now = 0 } = {}) =>
  programs.run({
    owner,
    task: { source: sourceOf(code, ['sandbox']), now, state: undefined, answered: [] },
    signal: new AbortController().signal,
    answer,
  });

test.runIf(process.platform === 'linux')(
  'a program runs in a process that may read its code and nothing else',
  async () => {
    await run('return 1');
    const [{ flags } = { flags: [] }] = programProcesses();
    expect(flags).toContain('--permission');
    expect(flags).toContain('--disallow-code-generation-from-strings');
    expect(flags.filter((flag) => /^--allow-(fs-write|child|addons|wasi|net)/.test(flag))).toEqual([]);
    const readable = flags.flatMap((flag) => flag.match(/^--allow-fs-read=(.*)$/)?.[1] ?? []);
    expect(readable.filter((path) => !/\/(src|package\.json|node_modules\/run)\/?$/.test(path))).toEqual([]);
  },
);

test.runIf(process.platform === 'linux')('a process that is killed fails its program in words', async () => {
  let calls = 0;
  const killed = run('await sandbox.write({}); await sandbox.write({}); return 1', {
    async answer(): Promise<Reply> {
      calls += 1;
      if (calls === 2) for (const { pid } of programProcesses()) process.kill(pid, 'SIGKILL');
      return { text: '{"value":null}' };
    },
  });
  await expect(killed).rejects.toMatchObject({ code: 'program_failed' });
  expect(calls).toBe(2);
  expect(await run('return 2')).toMatchObject({ type: 'ended' });
});

test.runIf(process.platform === 'linux')(
  'the first program takes the process that was prepared',
  async () => {
    programs.prepare('ada');
    programs.prepare('grace');
    await until(() => programProcesses().length > 0);
    const prepared = programProcesses();
    expect(prepared).toHaveLength(1);
    await run('return 1');
    programs.prepare('ada');
    expect(programProcesses()).toEqual(prepared);
  },
);

test.runIf(process.platform === 'linux')('short programs of a user share one process', async () => {
  await programs.close();
  programs = createPrograms({ patienceMs: 600_000 });
  await Promise.all(Array.from({ length: 5 }, () => run('return 1')));
  expect(programProcesses()).toHaveLength(1);
});

test('a second program of a user that waits for long gets a process of its own', async () => {
  const { promise: bothRun, resolve } = Promise.withResolvers<void>();
  let calls = 0;
  const answer: Answer = async (request) => {
    calls += 1;
    if (calls === 2) resolve();
    await bothRun;
    return nothing(request);
  };
  const both = [1, 2].map(() => run('return sandbox.slow()', { answer }));
  expect(await Promise.all(both)).toHaveLength(2);
});

test('programs of other users run while one user has many', async () => {
  const { promise: released, resolve: release } = Promise.withResolvers<void>();
  const many = Array.from({ length: 10 }, () =>
    run('return sandbox.slow()', { answer: nothingAfter(released) }),
  );
  expect(await run('return "other"', { owner: 'grace' })).toMatchObject({ type: 'ended' });
  release();
  expect(await Promise.all(many)).toHaveLength(10);
});

test('a user whose programs wait is refused in words, and other users are not', async () => {
  const { promise: released, resolve: release } = Promise.withResolvers<void>();
  const many = Array.from({ length: 20 }, () =>
    run('return sandbox.slow()', { answer: nothingAfter(released) }),
  );
  await expect(run('return 1')).rejects.toMatchObject({ code: 'unavailable' });
  expect(await run('return 1', { owner: 'grace' })).toMatchObject({ type: 'ended' });
  release();
  await Promise.all(many);
});

test('a program that exceeds its processor time is ended in words', async () => {
  const short = createPrograms({ cpuSeconds: 1 });
  try {
    const endless = short.run({
      owner: 'ada',
      task: { source: sourceOf('for (;;) await null;', []), now: 0, state: undefined, answered: [] },
      signal: new AbortController().signal,
      answer: nothing,
    });
    await expect(endless).rejects.toThrow('1 s of processor time');
  } finally {
    await short.close();
  }
});

test('a program gets its time from the clock of the service', async () => {
  const now = Date.UTC(2001, 1, 3, 4, 5, 6);
  expect(await run('return new Date().toISOString().slice(0, 16)', { now })).toMatchObject({
    text: expect.stringContaining('2001-02-03T04:05'),
  });
});

test('a program that does not repeat its calls is refused in words', async () => {
  const asks: Answer = async ({ argument }) =>
    argument.includes('"ask"') ? { waits: true } : { text: '{"value":null}' };
  const code = 'await sandbox.one({ n: 1 }); await sandbox.ask({}); return 1';
  const waiting = await run(code, { answer: asks });
  if (waiting.type !== 'waiting') throw new Error('It does not wait.');
  const source = sourceOf(code, ['sandbox']);
  const task = {
    source,
    now: 0,
    state: waiting.state.replace(String.raw`n\\\":1`, String.raw`n\\\":2`),
    answered: waiting.questions.map(({ id }) => id),
  };
  expect(task.state).not.toBe(waiting.state);
  const signal = new AbortController().signal;
  const changed = programs.run({ owner: 'ada', task, signal, answer: nothing });
  await expect(changed).rejects.toThrow('did not repeat the calls');
  const same = { ...task, state: waiting.state };
  expect(await programs.run({ owner: 'ada', task: same, signal, answer: nothing })).toMatchObject({
    type: 'ended',
  });
});

test('a user without a process gets one while two others keep theirs busy', async () => {
  await programs.close();
  programs = createPrograms({ patienceMs: 0 });
  const { promise: released, resolve: release } = Promise.withResolvers<void>();
  const ended: string[] = [];
  const runOf = (owner: string, answer: Answer = nothing) =>
    run('return sandbox.slow()', { owner, answer }).then(() => ended.push(owner));
  const first = ['ada', 'ada', 'bob', 'bob'].map((owner) => runOf(owner, nothingAfter(released)));
  const others = Array.from({ length: 4 }, () => [runOf('ada'), runOf('bob')]).flat();
  const third = runOf('grace');
  release();
  await Promise.all([...first, ...others, third]);
  expect(ended.indexOf('grace')).toBeLessThan(ended.length - 1);
});

test('a program whose process cannot start is rejected, and the next one too', async () => {
  const broken = createPrograms({ program: new URL('file:///gone/program-process.js') });
  const task = { source: sourceOf('return 1', []), now: 0, state: undefined, answered: [] };
  const { signal } = new AbortController();
  for (const owner of ['ada', 'grace'])
    await expect(broken.run({ owner, task, signal, answer: nothing })).rejects.toThrow('no such file');
  await broken.close();
});

test('a program that is cancelled while it waits leaves the queue', async () => {
  const { promise: released, resolve: release } = Promise.withResolvers<void>();
  const busy = [1, 2].map(() => run('return sandbox.slow()', { answer: nothingAfter(released) }));
  const cancel = new AbortController();
  const task = { source: sourceOf('return 1', []), now: 0, state: undefined, answered: [] };
  const waiting = programs.run({ owner: 'ada', task, signal: cancel.signal, answer: nothing });
  cancel.abort();
  await expect(waiting).rejects.toThrow('before it began');
  release();
  await Promise.all(busy);
});

test('each call of a program belongs to the context of its own caller', async () => {
  const context = new AsyncLocalStorage<string>();
  const seen: (string | undefined)[] = [];
  const runIn = (name: string) =>
    context.run(name, () =>
      run('return sandbox.ask({})', {
        async answer() {
          seen.push(context.getStore());
          return { text: '{"value":null}' };
        },
      }),
    );
  await runIn('first');
  await Promise.all([runIn('second'), runIn('third')]);
  expect(seen.toSorted()).toEqual(['first', 'second', 'third']);
});
