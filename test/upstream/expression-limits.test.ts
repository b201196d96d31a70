import { readdirSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { resolve } from 'node:path';
import { expect, test } from 'vitest';
import { createBoundedExpressions } from '../../src/upstream/expression-limits.ts';

/** Returns the arguments of the processes that this one started, on Linux. */
function childArguments(): string[][] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((pid) => {
      try {
        const status = readFileSync(`/proc/${pid}/status`, 'utf8');
        if (!status.includes(`PPid:\t${process.pid}\n`)) return [];
        return [readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0')];
      } catch {
        // The process ended between the two reads.
        return [];
      }
    });
}

test.runIf(process.platform === 'linux')(
  'expressions run in a process that may read its code and nothing else',
  async () => {
    const expressions = createBoundedExpressions();
    try {
      expect(
        await expressions.evaluate({
          owner: 'ada',
          expressions: ['$map(a, function($v) { $v * 2 })'],
          scope: { a: [1, 2] },
        }),
      ).toEqual([[[2, 4]]]);
      const flags =
        childArguments().find((all) => all.some((one) => one.includes('expression-process'))) ?? [];
      expect(flags).toContain('--permission');
      expect(flags).toContain('--disallow-code-generation-from-strings');
      expect(flags.filter((flag) => /^--allow-(fs-write|child|addons|wasi|net)/.test(flag))).toEqual([]);
      const readable = flags.flatMap((flag) => flag.match(/^--allow-fs-read=(.*)$/)?.[1] ?? []);
      const root = resolve(import.meta.dirname, '../..');
      expect(readable.sort()).toEqual([
        `${root}/node_modules/jsonata/`,
        `${root}/node_modules/lru-cache/`,
        `${root}/node_modules/re2js/`,
        `${root}/package.json`,
        `${root}/src/`,
      ]);
      expect(readable.some((path) => tmpdir().startsWith(path))).toBe(false);
    } finally {
      await expressions.close();
    }
  },
);
