import type { BrowserContextOptions, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  loaded,
  overflow,
  signInWithKey,
  startConsoleBrowser,
  violations,
  type ConsoleBrowser,
} from '../support/console.ts';
import { HAS_BROWSER } from '../support/web.ts';
import { startService, type Service } from '../support/service.ts';

/* The console in a browser, on the files that `npm run build` writes. */

describe.skipIf(!HAS_BROWSER)('the console', () => {
  let service: Service;
  let browser: ConsoleBrowser;
  let userId: string;

  beforeAll(async () => {
    service = await startService();
    browser = await startConsoleBrowser();
    userId = (await service.call('POST', '/users', { body: { username: 'ada' } })).text('userId');
    await service.call('POST', `/users/${userId}/credentials`, {
      headers: { 'x-svc-userid': userId },
      body: { connectorId: 'sandbox', data: { apiKey: 'sandbox_console' } },
    });
    await run('list_products');
  });
  afterAll(async () => {
    await browser?.[Symbol.asyncDispose]();
    await service?.stop();
  });

  const run = (actionId: string, input: object = {}) =>
    service.call('POST', `/connectors/sandbox/actions/${actionId}/execute`, {
      headers: { 'x-svc-userid': userId },
      body: { input },
    });

  /** Opens a path and signs in. */
  async function open(path: string, options: BrowserContextOptions = {}): Promise<Page> {
    const page = await browser.open(`${service.url}/console${path}`, options);
    await signInWithKey(page, service.developmentKey);
    return page;
  }

  test('a wrong key is refused in words', async () => {
    const page = await browser.open(`${service.url}/console`);
    await page.getByRole('textbox', { name: 'API key' }).fill('gh_dev_wrong');
    await page.keyboard.press('Enter');
    await expect.poll(() => page.getByRole('alert').innerText()).toContain('The API key is unknown');
    await page.context().close();
  });

  test('a call appears on its own, and its page says what happened', async () => {
    const page = await open('/executions');
    await page.getByRole('link', { name: 'sandbox.list_products' }).waitFor();
    await page.getByRole('status', { name: 'Live' }).waitFor();
    await run('fail', { status: 503 });
    const failed = page.getByRole('link', { name: 'sandbox.fail' });
    await failed.waitFor();
    await failed.click();
    await page.getByText('Its last answer had the status 503.').waitFor();
    expect(await page.getByRole('main').innerText()).toContain('The app failed');
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
      await loaded(page);
      found.push(await violations(page));
      expect(await overflow(page)).toEqual([]);
    }
    expect(found).toEqual([[], [], []]);
    await page.context().close();
  });

  test('a filter does not undo a link that is followed while it is typed', async () => {
    const page = await open('/users');
    const link = page.getByRole('link', { name: 'ada', exact: true });
    await link.waitFor();
    await page.clock.install();
    const release = Promise.withResolvers<void>();
    await page.route(/one-user/, (route) => release.promise.then(() => route.continue()));
    await page.getByRole('textbox', { name: 'Part of a username, or a user id' }).fill('ad');
    const nextPage = page.waitForRequest(/one-user/);
    await link.click();
    await nextPage;
    // The filter takes effect after a pause, which ends here before the next page is shown.
    await page.clock.runFor(5000);
    release.resolve();
    await page.getByRole('heading', { level: 1, name: 'ada' }).waitFor();
    expect(page.url()).toContain(`/users/${userId}`);
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
    expect(browser.faults).toEqual([]);
  });
});
