import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { cliEnv, startCli, tempHome, type Started } from '../support/cli.ts';
import { until } from '../support/until.ts';
import { blocksOf, pagesWithExamples, type Block } from './examples/blocks.ts';
import { openTerminal, type Terminal } from './examples/terminal.ts';

/*
 * The examples of the pages. Commands of the shell run against one service with a sandbox, page after page in one terminal, as a
 * reader would run them. A comment `<!-- not run: reason -->` above a block leaves it out.
 */

/** Blocks that are not run. A larger number needs a reason for a reviewer. */
const MAX_NOT_RUN = 40;
const SHELL = new Set(['sh', 'bash']);
/** The pages in the order in which a reader reads them. Variables of the first one are used by all others. */
const ORDER = ['README.md', 'docs/start.md', 'docs/api.md', 'docs/policy.md'];
/** The blocks of these pages are run by api-examples.test.ts and command-examples.test.ts. */
const PRINTED = /^docs\/(api\/|command-line\.md)/;

/** An address that exists and where no receiver listens. Deliveries to it fail later, which no example waits for. */
const RECEIVER = 'http://127.0.0.1:9/gatehouse';

const blocks = pagesWithExamples().flatMap(blocksOf);
const shown = ({ at, notRun }: Block) => `${at} ${notRun}`;

test('each block that is not run gives a reason', () => {
  const left = blocks.filter(({ notRun }) => notRun !== undefined);
  expect(left.filter(({ notRun = '' }) => notRun.length < 10).map(shown)).toEqual([]);
  expect(left.length).toBeLessThanOrEqual(MAX_NOT_RUN);
  expect(blocks.length - left.length).toBeGreaterThan(300);
});

test('each JSON and YAML block can be parsed', () => {
  const broken = blocks.flatMap(({ at, language, code, notRun }) => {
    if (notRun !== undefined) return [];
    try {
      if (language === 'json') JSON.parse(code);
      if (language === 'yaml')
        for (const one of parseAllDocuments(code))
          if (one.errors.length > 0) return [`${at}: ${one.errors[0]}`];
      return [];
    } catch (error) {
      return [`${at}: ${String(error)}`];
    }
  });
  expect(broken).toEqual([]);
});

describe('commands of the shell', () => {
  const home = tempHome();
  const work = tempHome();
  let service: Started;
  let terminal: Terminal;
  /** Everything that the terminal printed, which holds the ids of answers. */
  let printed = '';

  beforeAll(async () => {
    const env = cliEnv(home.path, { GATEHOUSE_ALLOW_PRIVATE_NETWORK: '1' });
    service = await startCli(env);
    const file = join(home.path, 'first-keys');
    await until(() => {
      try {
        printed = readFileSync(file, 'utf8');
      } catch {
        return false;
      }
      return printed.includes('gh_prod_');
    });
    writeFileSync(join(work.path, 'plan.pdf'), 'A plan.');
    terminal = openTerminal(work.path, env);
  });
  afterAll(async () => {
    await terminal?.[Symbol.asyncDispose]();
    await service?.stop('SIGKILL');
    work[Symbol.dispose]();
    home[Symbol.dispose]();
  });

  const shell = blocks.filter(
    ({ language, notRun, page }) => SHELL.has(language) && notRun === undefined && !PRINTED.test(page),
  );
  const rank = (page: string) => (ORDER.includes(page) ? ORDER.indexOf(page) : ORDER.length);
  const pages = [...new Set(shell.map(({ page }) => page))].toSorted((a, b) => rank(a) - rank(b));

  test.each(pages)('the shell commands of %s run', async (page) => {
    for (const { at, code } of shell.filter((block) => block.page === page)) {
      for (const part of partsOf(code)) {
        const command = filledIn(part, { printed, url: service.url });
        const { code: status, out } = await terminal.run(command);
        printed += `\n${out}`;
        expect({ at, command, status, out }).toMatchObject({ status: 0 });
        expect(out, `${at}: ${command}`).not.toMatch(/"error":"[^"]*","code":/);
      }
    }
  });
});

/** Returns a block in parts: a line that takes an id of an earlier answer begins a new one. */
function partsOf(code: string): string[] {
  return code.split(/^(?=(?:export )?\w+='[^\n]*\w_…)/m).filter((part) => part.trim() !== '');
}

/**
 * Returns a part with the address of the service, a receiver on this machine, and the last id of its kind in place of
 * `usr_…`.
 */
function filledIn(part: string, { printed, url }: { printed: string; url: string }): string {
  return part
    .replaceAll('http://127.0.0.1:3000', url)
    .replaceAll(/https:\/\/ops\.example\.com\/gatehouse/g, RECEIVER)
    .replaceAll(/\b((?:gh_)?[a-z]+)_…/g, (whole, kind: string) => {
      const known = printed.match(new RegExp(`\\b${kind}_[0-9A-Za-z]{16,}`, 'g'));
      return known?.at(-1) ?? whole;
    });
}
