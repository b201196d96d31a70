import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { chromium, type BrowserContextOptions, type Page } from 'playwright-core';
import { inject } from 'vitest';
import { PATIENCE_MS, until } from './until.ts';

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

/** A browser for the console's pages, which `npm run build` writes. */
export interface ConsoleBrowser extends AsyncDisposable {
  /** Errors of the pages so far, also those of their policy. */
  readonly faults: string[];
  /** Opens a page in a browser without cookies. */
  open(address: string, options?: BrowserContextOptions): Promise<Page>;
}

export async function startConsoleBrowser(): Promise<ConsoleBrowser> {
  const browser = await chromium.connect(inject('chromium') ?? '');
  const faults: string[] = [];
  return {
    faults,
    async open(address, options = {}) {
      const context = await browser.newContext({ reducedMotion: 'reduce', ...options });
      context.setDefaultTimeout(PATIENCE_MS);
      const page = await context.newPage();
      const note = (text: string) => {
        if (new URL(page.url()).pathname.startsWith('/console')) faults.push(`${page.url()}: ${text}`);
      };
      page.on('pageerror', (error) => note(error.message));
      page.on('console', (line) => {
        // The page shows refusals in words, and Chromium notes them too.
        if (line.type() === 'error' && !/responded with a status of 4/.test(line.text())) note(line.text());
      });
      await page.goto(address);
      return page;
    },
    [Symbol.asyncDispose]: () => browser.close(),
  };
}

/** Signs in on the page that is shown. */
export async function signInWithKey(page: Page, apiKey: string): Promise<void> {
  await page.getByRole('textbox', { name: 'API key' }).fill(apiKey);
  await page.getByRole('button', { name: 'Sign in', exact: true }).click();
}

/** Waits until nothing of the page is loading. */
export async function loaded(page: Page): Promise<void> {
  await page.getByRole('heading', { level: 1 }).waitFor();
  await until(async () => (await page.locator('[aria-busy=true]').count()) === 0);
}

/** Returns the violations of WCAG 2.2 A and AA. */
export async function violations(page: Page): Promise<unknown[]> {
  const axe = await page.context().newCDPSession(page);
  // The policy of the page keeps out scripts in the page, not those of the debugger.
  await axe.send('Runtime.evaluate', { expression: AXE });
  const { result } = await axe.send('Runtime.evaluate', {
    expression: `axe.run({ runOnly: ['wcag2a', 'wcag2aa', 'wcag21aa', 'wcag22aa'] }).then(({ violations }) =>
      JSON.stringify(violations.map(({ id, nodes }) => [id, ...nodes.slice(0, 3).map(({ html }) => html)])))`,
    awaitPromise: true,
  });
  return JSON.parse(String(result.value));
}

/** Returns what sticks out of the page at the side; empty when nothing scrolls there. */
export async function overflow(page: Page): Promise<string[]> {
  return page.evaluate(`document.documentElement.scrollWidth <= innerWidth ? [] :
    [...document.querySelectorAll('main *')].filter((one) => one.getBoundingClientRect().right > innerWidth + 1)
      .slice(-3).map((one) => one.outerHTML.slice(0, 200))`);
}
