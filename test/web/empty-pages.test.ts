import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  loaded,
  overflow,
  signInWithKey,
  startConsoleBrowser,
  violations,
  type ConsoleBrowser,
} from '../support/console.ts';
import { startService, type Service } from '../support/service.ts';
import { HAS_BROWSER } from '../support/web.ts';

/* The pages of the console in a production environment without records. */

describe.skipIf(!HAS_BROWSER)('the pages of an empty production environment', () => {
  let service: Service;
  let browser: ConsoleBrowser;
  let page: Page;

  beforeAll(async () => {
    service = await startService();
    browser = await startConsoleBrowser();
    page = await browser.open(`${service.url}/console`, { viewport: { width: 390, height: 900 } });
    await signInWithKey(page, service.productionKey);
    await loaded(page);
  });
  afterAll(async () => {
    await browser?.[Symbol.asyncDispose]();
    await service?.stop();
  });

  const opened = async (path: string, says: RegExp): Promise<string> => {
    await page.goto(`${service.url}/console${path}`);
    await loaded(page);
    const read = () => page.locator('main').innerText();
    await expect.poll(read).toMatch(says);
    const text = await read();
    expect(text).not.toMatch(/\b(GET|POST|PUT|DELETE) \/|sandbox/i);
    expect(await overflow(page)).toEqual([]);
    for (const link of await page.locator('main a[href*="/docs/"]').all()) {
      const href = (await link.getAttribute('href')) ?? '';
      expect([href, (await fetch(new URL(href, service.url))).status]).toEqual([href, 200]);
    }
    return text;
  };

  test.each([
    ['', /Connect an account/],
    ['/workflows', /“New workflow” above .*“Run now” at an installation/s],
    ['/users', /“New user” above/],
    ['/webhooks', /webhooks in the documentation/],
    ['/keys', /gatehouse keys rotate production/],
    ['/playground', /Create one on the page Users/],
  ])('%s names buttons and pages, no requests and no sandbox', async (path, says) => {
    expect(await opened(path, says)).toMatch(says);
  });

  test('a workflow without installations leads to the documentation', async () => {
    const definition = { trigger: { type: 'manual' }, steps: [{ stepId: 'a', map: '1' }] };
    const made = await service.call('POST', '/workflows', {
      bearer: service.productionKey,
      body: { name: 'Count', definition },
    });
    const says = /installations in the documentation/;
    expect(await opened(`/workflows/${made.text('workflowId')}`, says)).toMatch(says);
  });

  test('a page that is loading passes the checks of WCAG', async () => {
    let answer = (): void => {};
    const held = new Promise<void>((resolve) => (answer = resolve));
    await page.route('**/2023-03/**', async (route) => {
      await held;
      await route.continue();
    });
    await page.goto(`${service.url}/console/webhooks`);
    await page.getByRole('status', { name: 'Loading' }).waitFor();
    expect(await violations(page)).toEqual([]);
    answer();
    await loaded(page);
    await page.unroute('**/2023-03/**');
  });

  test('no page had an error or broke its policy', () => {
    expect(browser.faults).toEqual([]);
  });
});
