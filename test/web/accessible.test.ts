import axe from 'axe-core';
import type { Frame, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { HAS_BROWSER, startWeb, type Web } from '../support/web.ts';

describe.skipIf(!HAS_BROWSER)('accessibility', () => {
  let web: Web;
  beforeAll(async () => {
    web = await startWeb();
    // Neither black nor white text has enough contrast on this colour.
    await web.service.call('PUT', '/api/settings', {
      body: { branding: { name: 'Northwind', color: '#e08a2e' } },
    });
  });
  afterAll(() => web[Symbol.asyncDispose]());
  afterEach(() => web.tidy());

  /** Returns what every rule of axe finds, best practices included. */
  const faultsOf = async (at: Page | Frame): Promise<unknown> => {
    await at.evaluate(axe.source);
    return at.evaluate(
      `Promise.all(document.getAnimations().map((one) => one.finished.catch(() => {}))).then(() => axe.run()).then(({ violations }) => violations.map(({ id, nodes }) => id + ': ' + nodes.map(({ html, any }) => html + ' ' + (any[0]?.message ?? '')).join(' | ')))`,
    );
  };
  const inside = async (page: Page): Promise<Frame> => {
    const frame = page.frames().find((one) => one.url().includes('/connect/'));
    if (!frame) throw new Error('There is no modal.');
    return frame;
  };
  const overflows = (at: Page | Frame) =>
    at.evaluate(
      'document.documentElement.scrollWidth > innerWidth || document.querySelector("main").scrollWidth > document.querySelector("main").clientWidth',
    );

  test.each([
    ['light, wide', { colorScheme: 'light', viewport: { width: 1000, height: 760 } }],
    ['dark, 320 px', { colorScheme: 'dark', viewport: { width: 320, height: 568 } }],
  ] as const)('axe finds nothing, %s', async (_name, options) => {
    const page = await web.visit(await web.context(options));
    const modal = await web.authenticate(page, { category: 'commerce' });
    await modal.getByRole('heading', { name: 'Connect an app' }).waitFor();
    expect(await faultsOf(page)).toEqual([]);
    const frame = await inside(page);
    expect(await faultsOf(frame)).toEqual([]);
    expect(await overflows(frame)).toBe(false);

    await modal.getByRole('button', { name: 'WooCommerce' }).click();
    await modal.getByRole('button', { name: 'Connect WooCommerce' }).click();
    await modal.getByText('Please fill in: Consumer key.').waitFor();
    expect(await faultsOf(frame)).toEqual([]);
    expect(await overflows(frame)).toBe(false);

    await modal.getByRole('button', { name: 'Back to the apps' }).click();
    await modal.getByRole('button', { name: 'Sandbox' }).click();
    await modal.getByRole('textbox', { name: 'Sandbox key' }).fill('nonsense');
    await modal.getByRole('button', { name: 'Connect Sandbox' }).click();
    await modal.getByRole('alert').getByText('begins with').waitFor();
    expect(await faultsOf(frame)).toEqual([]);
    await modal.getByRole('radio', { name: 'Sign in' }).check();
    const [popup] = await Promise.all([
      page.context().waitForEvent('page'),
      modal.getByRole('button', { name: 'Continue to Sandbox' }).click(),
    ]);
    await modal.getByRole('heading', { name: 'Finish in the window' }).waitFor();
    expect(await faultsOf(frame)).toEqual([]);
    await popup.getByRole('button', { name: 'Deny' }).click();
    await modal.getByRole('heading', { name: 'That did not work' }).waitFor();
    expect(await faultsOf(frame)).toEqual([]);

    const own = await page.context().newPage();
    await own.goto(await web.link({ connectors: ['sandbox'] }));
    await own.getByRole('heading', { name: 'Northwind wants to connect' }).waitFor();
    expect(await faultsOf(own)).toEqual([]);
    expect(await overflows(own)).toBe(false);
    await own.getByRole('textbox', { name: 'Sandbox key' }).fill('sandbox_axe');
    await own.getByRole('button', { name: 'Connect Sandbox' }).click();
    await own.getByRole('heading', { name: 'Sandbox is connected' }).waitFor();
    expect(await faultsOf(own)).toEqual([]);
  });

  test('nothing moves for users who prefer reduced motion', async () => {
    const page = await web.visit();
    const modal = await web.authenticate(page, { app: 'sandbox' });
    await modal.getByRole('heading', { name: 'Connect Sandbox' }).waitFor();
    expect(await (await inside(page)).evaluate('document.getAnimations().length')).toBe(0);
    expect(await page.evaluate('document.getAnimations().length')).toBe(0);
  });
});
