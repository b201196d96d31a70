import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { chromium, type Browser, type BrowserContextOptions, type Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { startService, type Service } from '../support/service.ts';
import { PATIENCE_MS } from '../support/until.ts';
import { HAS_BROWSER } from '../support/web.ts';

/* The documentation in a browser, on the files that `npm run build` writes. */

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

describe.skipIf(!HAS_BROWSER)('the documentation', () => {
  let service: Service;
  let browser: Browser;
  const faults: string[] = [];

  beforeAll(async () => {
    service = await startService();
    browser = await chromium.connect(inject('chromium') ?? '');
  });
  afterAll(async () => {
    await browser?.close();
    await service?.stop();
  });

  /** Opens a page in a new browser. Faults of the page, also of its policy, are collected. */
  async function open(path: string, options: BrowserContextOptions = {}): Promise<Page> {
    const context = await browser.newContext({ reducedMotion: 'reduce', ...options });
    context.setDefaultTimeout(PATIENCE_MS);
    const page = await context.newPage();
    page.on('pageerror', (error) => void faults.push(error.message));
    page.on('console', (line) => {
      if (line.type() === 'error') faults.push(line.text());
    });
    await page.goto(`${service.url}/docs${path}`);
    return page;
  }

  /** Returns what every rule of axe finds. */
  async function violations(page: Page): Promise<unknown> {
    const debuggerOf = await page.context().newCDPSession(page);
    // The policy of the page keeps out scripts in the page, not those of the debugger.
    await debuggerOf.send('Runtime.evaluate', { expression: AXE });
    const { result } = await debuggerOf.send('Runtime.evaluate', {
      expression: `axe.run().then(({ violations }) =>
        JSON.stringify(violations.map(({ id, nodes }) => [id, ...nodes.slice(0, 3).map(({ html }) => html)])))`,
      awaitPromise: true,
    });
    return JSON.parse(String(result.value));
  }
  const overflows = (page: Page) => page.evaluate('document.documentElement.scrollWidth > innerWidth');

  test('the keyboard finds a section of another page', async () => {
    const page = await open('');
    await page.keyboard.press('/');
    const field = page.getByRole('searchbox', { name: 'Search the documentation' });
    await field.fill('verify webhook');
    await page.getByRole('status').getByText('results').waitFor();
    expect(await violations(page)).toEqual([]);
    await page.keyboard.press('ArrowDown');
    const isFirst = "document.activeElement === document.querySelector('.search li a')";
    expect(await page.evaluate(isFirst)).toBe(true);
    const address = await page.evaluate<string>('document.activeElement.href');
    await page.keyboard.press('Enter');
    await page.waitForURL(address);
    expect(address).toMatch(/\/docs\/(webhooks|clients)#/);

    await page.keyboard.press('Control+k');
    await field.fill('zzzz');
    await page.getByText('Nothing found for “zzzz”.').waitFor();
    await page.keyboard.press('Escape');
    expect(await page.getByRole('dialog').isVisible()).toBe(false);
  });

  test('a chosen language counts for every request, and on the next page', async () => {
    const page = await open('/api/users');
    const tabs = page.getByRole('tab', { name: 'TypeScript' });
    await tabs.nth(1).click();
    const chosen = async () =>
      page
        .locator('[role=tab][aria-selected=true]')
        .allTextContents()
        .then((names) => [...new Set(names)]);
    expect(await chosen()).toEqual(['TypeScript']);
    await page.goto(`${service.url}/docs/api/executions`);
    expect(await chosen()).toEqual(['TypeScript']);
    await page.getByRole('tab', { name: 'TypeScript' }).first().focus();
    await page.keyboard.press('ArrowLeft');
    expect(await chosen()).toEqual(['curl']);
  });

  test('a block is copied with the address of this service', async () => {
    const page = await open('/start', { permissions: ['clipboard-read', 'clipboard-write'] });
    const block = page.locator('figure.code', { hasText: 'export GATEHOUSE_URL' });
    await block.hover();
    await block.getByRole('button', { name: 'Copy' }).click();
    await block.getByRole('button', { name: 'Copied' }).waitFor();
    const copied = await page.evaluate<string>('navigator.clipboard.readText()');
    expect(copied).toMatch(new RegExp(`^export GATEHOUSE_URL=${service.url}\n`));
  });

  test('the chosen colours stay, and the page before and after are one click away', async () => {
    const page = await open('/policy');
    await page.getByRole('button', { name: 'Use dark colours' }).click();
    await page.getByRole('navigation', { name: 'Neighbouring pages' }).getByText('Next').click();
    await page.getByRole('heading', { level: 1, name: 'Remote MCP servers' }).waitFor();
    await page.getByRole('button', { name: 'Use light colours' }).waitFor();
    expect(await page.evaluate('getComputedStyle(document.body).backgroundColor')).toBe('rgb(22, 25, 27)');
  });

  test.each([
    ['light, wide', { colorScheme: 'light', viewport: { width: 1440, height: 900 } }],
    ['dark, 360 px', { colorScheme: 'dark', viewport: { width: 360, height: 740 } }],
  ] as const)('axe finds nothing, and nothing is wider than the page: %s', async (_name, options) => {
    const page = await open('', options);
    for (const path of ['', '/webhooks', '/api/files', '/configuration']) {
      await page.goto(`${service.url}/docs${path}`);
      expect([path, await violations(page), await overflows(page)]).toEqual([path, [], false]);
    }
  });

  test('the menu of a narrow page leads to every page, and closes by Escape', async () => {
    const page = await open('/api/users', { viewport: { width: 360, height: 740 } });
    const pages = page.getByRole('navigation', { name: 'Pages', exact: true });
    expect(await pages.isVisible()).toBe(false);
    await page.getByRole('button', { name: 'Menu' }).click();
    expect(await pages.getByRole('link', { name: 'Executions', exact: true }).isVisible()).toBe(true);
    expect(await violations(page)).toEqual([]);
    await page.keyboard.press('Escape');
    expect(await pages.isVisible()).toBe(false);
  });

  test('every page can be read without scripts', async () => {
    const page = await open('/workflows', { javaScriptEnabled: false });
    expect(await page.getByRole('navigation', { name: 'Pages', exact: true }).isVisible()).toBe(true);
    expect(await page.getByRole('button').count()).toBe(0);
  });

  test('no page reported a fault', () => {
    expect(faults).toEqual([]);
  });
});
