import { tmpdir } from 'node:os';
import { resolve } from 'node:path';
import { expect, test } from 'vitest';
import { createBoundedExpressions } from '../../src/upstream/expression-limits.ts';
import { children } from '../support/children.ts';

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
        children().find(({ flags: all }) => all.some((one) => one.includes('expression-process')))?.flags ??
        [];
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
