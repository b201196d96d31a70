import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { chromium, type Browser, type BrowserContextOptions, type Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { HAS_BROWSER } from '../support/web.ts';
import { startService, type Service } from '../support/service.ts';
import { PATIENCE_MS } from '../support/until.ts';

/* The console in a browser, on the files that `npm run build` writes. */

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

describe.skipIf(!HAS_BROWSER)('the console', () => {
  let service: Service;
  let browser: Browser;
  let userId: string;
  const faults: string[] = [];

  beforeAll(async () => {
    service = await startService();
    browser = await chromium.connect(inject('chromium') ?? '');
    userId = (await service.call('POST', '/users', { body: { username: 'ada' } })).text('userId');
    await service.call('POST', `/users/${userId}/credentials`, {
      headers: { 'x-svc-userid': userId },
      body: { connectorId: 'sandbox', data: { apiKey: 'sandbox_console' } },
    });
    await run('list_products');
  });
  afterAll(async () => {
    await browser?.close();
    await service?.stop();
  });

  const run = (actionId: string, input: object = {}) =>
    service.call('POST', `/connectors/sandbox/actions/${actionId}/execute`, {
      headers: { 'x-svc-userid': userId },
      body: { input },
    });

  /** Opens a path in a new browser and signs in. Faults of the page, also of its policy, fail the test file. */
  async function open(path: string, options: BrowserContextOptions = {}): Promise<Page> {
    const context = await browser.newContext({ reducedMotion: 'reduce', ...options });
    context.setDefaultTimeout(PATIENCE_MS);
    const page = await context.newPage();
    page.on('pageerror', (error) => void faults.push(error.message));
    page.on('console', (line) => {
      if (line.type() === 'error') faults.push(line.text());
    });
    await page.goto(`${service.url}/console${path}`);
    await page.getByRole('textbox', { name: 'API key' }).fill(service.developmentKey);
    await page.getByRole('button', { name: 'Sign in' }).click();
    return page;
  }

  /** Returns the violations of WCAG 2.2 A and AA. */
  async function violations(page: Page): Promise<unknown> {
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

  test('a wrong key is refused in words', async () => {
    const context = await browser.newContext();
    const page = await context.newPage();
    await page.goto(`${service.url}/console`);
    await page.getByRole('textbox', { name: 'API key' }).fill('gh_dev_wrong');
    await page.keyboard.press('Enter');
    await expect.poll(() => page.getByRole('alert').innerText()).toContain('The API key is unknown');
    await context.close();
  });

  test('a call appears on its own, and its page says what happened', async () => {
    const page = await open('/executions');
    await page.getByRole('link', { name: 'sandbox.list_products' }).waitFor();
    await page.getByRole('status', { name: 'Live' }).waitFor();
    await run('fail', { status: 503 });
    const failed = page.getByRole('link', { name: 'sandbox.fail' });
    await failed.waitFor();
    await failed.click();
    await page.getByText('The app failed').waitFor();
    expect(await page.getByRole('main').innerText()).toContain('Its last answer had the status 503.');
    await page.context().close();
  });

  test('filters are part of the address', async () => {
    const page = await open('/executions?outcome=denied');
    await page.getByText('No call fits these filters').waitFor();
    await page.getByRole('button', { name: 'Remove the filters' }).click();
    await page.getByRole('link', { name: 'sandbox.list_products' }).waitFor();
    expect(page.url()).toBe(`${service.url}/console/executions`);
    await page.context().close();
  });

  test.each([
    ['light', 1440],
    ['dark', 360],
  ] as const)('pages are accessible and fit in %s at %i px', async (colorScheme, width) => {
    const page = await open('/', { colorScheme, viewport: { width, height: 800 } });
    const found: unknown[] = [];
    for (const path of ['/', '/executions', '/absent']) {
      await page.goto(`${service.url}/console${path}`);
      await page.getByRole('heading', { level: 1 }).waitFor();
      await expect.poll(() => page.locator('[aria-busy]').count()).toBe(0);
      found.push(await violations(page));
      expect(await page.evaluate('document.documentElement.scrollWidth <= innerWidth')).toBe(true);
    }
    expect(found).toEqual([[], [], []]);
    await page.context().close();
  });

  test('a sign-out forgets the session', async () => {
    const page = await open('/');
    await page.getByRole('button', { name: 'Signed in with the key development' }).click();
    await page.getByRole('menuitem', { name: 'Sign out' }).click();
    await page.getByRole('button', { name: 'Sign in' }).waitFor();
    await page.reload();
    await page.getByRole('button', { name: 'Sign in' }).waitFor();
    expect(await page.context().cookies()).toEqual([]);
    await page.context().close();
  });

  test('no page had an error or broke its policy', () => {
    expect(faults).toEqual([]);
  });
});
