import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { createBuilds, type Builds } from '../../src/custom/builds.ts';
import { documentWith, imported, operation } from '../openapi/documents.ts';
import { PATIENCE_MS, until } from '../support/until.ts';

const made: Builds[] = [];
afterEach(() => Promise.all(made.splice(0).map((builds) => builds.close())));

function builds(limits: Parameters<typeof createBuilds>[0] = {}) {
  const one = createBuilds(limits);
  made.push(one);
  return one;
}

/** Runs an import of a document with this number of operations. */
function run(one: Builds, operations = 1, signal?: AbortSignal) {
  const paths = Object.fromEntries(
    Array.from({ length: operations }, (_, index) => [`/a${index}`, { get: operation() }]),
  );
  const body = JSON.stringify({ openapi: { document: documentWith(paths) } });
  const task = { type: 'import' as const, body, id: undefined, basis: undefined, today: '2026-11-23' };
  return one.run('development', task, signal);
}

/** Returns the code of the refusal of a build. */
async function codeOf(build: Promise<unknown>): Promise<string> {
  try {
    await build;
  } catch (error) {
    return String(Object(error).code);
  }
  return 'built';
}

/** Returns the ids of the build processes of this process. */
function processes(): number[] {
  const lines = execFileSync('ps', ['-o', 'pid=,args=', '--ppid', String(process.pid)], { encoding: 'utf8' });
  return lines
    .split('\n')
    .filter((line) => line.includes('build-process'))
    .map((line) => Number.parseInt(line));
}

test(
  'a build beyond its time is ended, and the next one runs',
  async () => {
    const one = builds({ timeMs: 1 });
    await expect(run(one, 2000)).rejects.toMatchObject({
      code: 'invalid_request',
      message: expect.stringContaining('takes more than'),
    });
    expect((await run(builds())).connectorId).toBe('desk');
  },
  PATIENCE_MS,
);

test(
  'a build beyond its memory is ended with that reason',
  async () => {
    await expect(run(builds({ memoryMb: 16 }), 4900)).rejects.toMatchObject({
      code: 'invalid_request',
      message: expect.stringContaining('MB of memory'),
    });
  },
  PATIENCE_MS,
);

test(
  'a comparison beyond its time or memory is ended with that reason',
  async () => {
    const paths = Object.fromEntries(
      Array.from({ length: 4900 }, (_, index) => [`/a${index}`, { get: operation() }]),
    );
    const folder = mkdtempSync(join(tmpdir(), 'gatehouse-builds-'));
    try {
      const document = join(folder, 'api.json');
      writeFileSync(document, JSON.stringify(documentWith(paths)));
      const { definition } = imported(documentWith({ '/a1': { get: operation() } }));
      const task = { type: 'compare' as const, definition, document };
      await expect(builds({ timeMs: 1 }).compare('ada', task)).rejects.toMatchObject({
        code: 'invalid_request',
        message: expect.stringContaining('The comparison takes more than'),
      });
      await expect(builds({ memoryMb: 16 }).compare('ada', task)).rejects.toMatchObject({
        message: expect.stringContaining('MB of memory'),
      });
      expect(await builds().compare('ada', task)).toMatchObject({ compared: 1, differences: [] });
    } finally {
      rmSync(folder, { recursive: true });
    }
  },
  PATIENCE_MS,
);

test(
  'a build whose process is killed is refused, and the next one runs',
  async () => {
    const one = builds();
    const refused = codeOf(run(one, 4900));
    await until(() => processes().length > 0);
    for (const pid of processes()) process.kill(pid, 'SIGKILL');
    expect(await refused).toBe('unavailable');
    expect((await run(one)).connectorId).toBe('desk');
  },
  PATIENCE_MS,
);

test(
  'closing ends builds and refuses those that wait',
  async () => {
    const one = builds();
    const refused = Promise.all([1, 2, 3].map(() => codeOf(run(one, 4900))));
    await until(() => processes().length > 0);
    await one.close();
    expect(await refused).toEqual(['unavailable', 'unavailable', 'unavailable']);
    expect(processes()).toEqual([]);
    await expect(run(one)).rejects.toMatchObject({ code: 'unavailable' });
  },
  PATIENCE_MS,
);

test(
  'a build that a caller leaves is ended',
  async () => {
    const left = new AbortController();
    const refused = codeOf(run(builds(), 4900, left.signal));
    await until(() => processes().length > 0);
    left.abort();
    expect(await refused).toBe('unavailable');
    expect(processes()).toEqual([]);
  },
  PATIENCE_MS,
);
