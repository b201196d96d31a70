import type { FrameLocator, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { endSuccess, HAS_BROWSER, resultsOf, startWeb, type Web } from '../support/web.ts';

describe.skipIf(!HAS_BROWSER)('the modal', () => {
  let web: Web;
  beforeAll(async () => {
    web = await startWeb();
  });
  afterAll(() => web[Symbol.asyncDispose]());
  afterEach(() => web.tidy());

  const open = async (options: object): Promise<{ page: Page; modal: FrameLocator }> => {
    const page = await web.visit();
    return { page, modal: await web.authenticate(page, options) };
  };
  const closed = { success: false, error: 'closed', message: expect.any(String) };

  test('the modal connects an account by its key, and reports it once', async () => {
    const { page, modal } = await open({ app: 'sandbox' });
    await modal.getByRole('heading', { name: 'Connect Sandbox' }).waitFor();
    await modal.getByRole('textbox', { name: 'Sandbox key' }).fill('sandbox_ada');
    await modal.getByRole('button', { name: 'Connect Sandbox' }).click();
    await modal.getByRole('heading', { name: 'Sandbox is connected' }).waitFor();
    await endSuccess(page, modal);

    const { called, promised } = await resultsOf(page);
    expect(called).toEqual([
      {
        success: true,
        connectionId: expect.stringMatching(/^cred_/),
        credentialId: expect.stringMatching(/^cred_/),
        connectorId: 'sandbox',
        name: 'Sandbox',
      },
    ]);
    expect(promised).toEqual(called);
    const { body } = await web.service.call('GET', `/users/${web.userId}/credentials`, {
      headers: { 'x-svc-userid': web.userId },
    });
    expect(body).toMatchObject({ data: [{ connectorId: 'sandbox', type: 'api_key', state: 'active' }] });
    expect(await page.locator('iframe').count()).toBe(0);
  });

  test('the modal closes on its own after a success', async () => {
    const { page, modal } = await open({ app: 'sandbox' });
    await modal.getByRole('textbox', { name: 'Sandbox key' }).fill('sandbox_ada');
    await modal.getByRole('textbox', { name: 'Sandbox key' }).press('Enter');
    expect((await resultsOf(page)).called).toMatchObject([{ success: true }]);
  });

  test('the modal shows faults next to the fields, focuses the first, and sends nothing', async () => {
    const { page, modal } = await open({ app: 'woocommerce' });
    await modal.getByRole('heading', { name: 'Connect WooCommerce' }).waitFor();
    const sent: string[] = [];
    page.on('request', (request) => sent.push(`${request.method()} ${request.url()}`));
    await modal.getByRole('textbox', { name: 'Consumer secret' }).fill('cs_wrong');
    await modal.getByRole('textbox', { name: 'Address of the shop' }).fill('shop.example.com');
    await modal.getByRole('button', { name: 'Connect WooCommerce' }).click();

    const key = modal.getByRole('textbox', { name: 'Consumer key' });
    await modal.getByText('Please fill in: Consumer key.').waitFor();
    expect(await key.getAttribute('aria-invalid')).toBe('true');
    expect(await key.evaluate((element) => element === element.ownerDocument.activeElement)).toBe(true);
    const describedBy = String(await key.getAttribute('aria-describedby')).split(' ');
    const described = await Promise.all(describedBy.map((id) => modal.locator(`#${id}`).textContent()));
    expect(described.join(' ')).toContain('Please fill in: Consumer key.');
    await modal.getByText('This does not look right for: Consumer secret.').waitFor();
    await modal.getByText('The whole address, beginning with https://').waitFor();
    expect(sent.filter((one) => one.startsWith('POST'))).toEqual([]);

    await key.fill('ck_');
    expect(await key.getAttribute('aria-invalid')).toBe('false');
  });

  test('the modal keeps a refused key for correction, with the words of the app', async () => {
    const { page, modal } = await open({ app: 'sandbox' });
    const field = modal.getByRole('textbox', { name: 'Sandbox key' });
    await field.fill('nonsense');
    await field.press('Enter');
    await modal.getByRole('alert').getByText('begins with sandbox_').waitFor();
    await field.fill('sandbox_second');
    await field.press('Enter');
    await endSuccess(page, modal);
    expect((await resultsOf(page)).called).toMatchObject([{ success: true }]);
  });

  test('the modal shows and hides a secret', async () => {
    const { modal } = await open({ app: 'sandbox' });
    const field = modal.getByLabel('Sandbox key').and(modal.locator('input:not([type=radio])'));
    expect(await field.getAttribute('type')).toBe('password');
    await modal.getByRole('button', { name: 'Show Sandbox key' }).click();
    expect(await field.getAttribute('type')).toBe('text');
    await modal.getByRole('button', { name: 'Hide Sandbox key' }).click();
    expect(await field.getAttribute('type')).toBe('password');
  });

  test('the modal accepts a value of 10,000 characters and names the limit', async () => {
    const { modal } = await open({ app: 'hubspot' });
    const field = modal.getByRole('textbox', { name: 'Access token' });
    await field.fill('x'.repeat(10_001));
    await modal.getByRole('button', { name: 'Connect HubSpot' }).click();
    await expect
      .poll(() => modal.getByRole('main').textContent())
      .toContain('That is too long: 10,000 characters at most.');
  });

  test('the modal lets the user choose in a category, also by search', async () => {
    const { modal } = await open({ category: 'commerce' });
    const apps = modal.getByRole('listitem');
    await modal.getByRole('heading', { name: 'Connect an app' }).waitFor();
    const names = await apps.allTextContents();
    expect(names.length).toBeGreaterThan(3);
    expect(names.join()).not.toContain('GitHub');
    await modal.getByRole('searchbox').fill('woo');
    expect(await apps.filter({ visible: true }).count()).toBe(1);
    await modal.getByRole('searchbox').fill('nothing like it');
    await modal.getByText('No app matches').last().waitFor();
    await modal.getByRole('button', { name: 'Show all apps' }).click();
    expect(await apps.filter({ visible: true }).count()).toBe(names.length);

    await modal.getByRole('button', { name: 'WooCommerce' }).click();
    await modal.getByRole('heading', { name: 'Connect WooCommerce' }).waitFor();
    await modal.getByRole('radio', { name: 'Signed requests' }).check();
    await modal.getByRole('button', { name: 'Back to the apps' }).click();
    await modal.getByRole('heading', { name: 'Connect an app' }).waitFor();
  });

  test('the modal filters apps by category', async () => {
    const { page, modal } = await open({});
    const chips = modal.getByRole('group', { name: 'Categories' });
    await chips.waitFor();
    // The largest category comes first, and categories of a single app are absent.
    expect(await chips.getByRole('button').allTextContents()).toEqual(['All', 'Commerce', 'CRM']);
    // The row of categories is wider than its container.
    await chips.evaluate((element) => element.style.setProperty('width', '120px'));
    await chips.hover();
    await page.mouse.wheel(0, 200);
    await expect.poll(() => chips.evaluate((element) => element.scrollLeft)).toBeGreaterThan(0);
    await modal.getByRole('button', { name: 'CRM', exact: true }).click();
    const shown = await modal.getByRole('listitem').filter({ visible: true }).allTextContents();
    expect(shown.join()).toContain('HubSpot');
    expect(shown.join()).not.toContain('GitHub');
  });

  test('the modal lists no app that cannot be connected yet', async () => {
    const { modal } = await open({});
    await modal.getByRole('heading', { name: 'Connect an app' }).waitFor();
    const names = (await modal.getByRole('listitem').allTextContents()).join();
    expect(names).toContain('HubSpot');
    expect(names).not.toContain('Gmail');
  });

  test('the modal shows where to find keys, and no developer pages to users who sign in', async () => {
    const body = { clientId: 'x', clientSecret: 'y' };
    await web.service.call('PUT', '/api/connectors/shopify/oauth-app', { body });
    const { modal } = await open({ app: 'shopify' });
    await modal.getByRole('textbox', { name: 'Name of the shop' }).waitFor();
    expect(await modal.getByRole('link').count()).toBe(0);
    const other = await open({ app: 'stripe' });
    await other.modal.getByRole('link', { name: 'Where do I find this?' }).waitFor();
  });

  test('the modal disables a sign-in that is not set up, and says why', async () => {
    const { modal } = await open({ app: 'github' });
    await modal.getByRole('heading', { name: 'Connect GitHub' }).waitFor();
    expect(await modal.getByRole('radio', { name: 'not set up here yet' }).isDisabled()).toBe(true);
  });

  test.each([
    [
      'its button',
      async (_page: Page, modal: FrameLocator) => modal.getByRole('button', { name: 'Close' }).click(),
    ],
    ['Esc inside', async (page: Page) => page.keyboard.press('Escape')],
    [
      'Esc outside of the frame',
      async (page: Page) => {
        await page.locator('iframe').blur();
        await page.keyboard.press('Escape');
      },
    ],
  ])('closed by %s gives one result, and restores the page', async (_how, close) => {
    const page = await web.visit();
    await page.locator('#before').focus();
    await page.evaluate('scrollTo(0, 40)');
    const modal = await web.authenticate(page, { app: 'sandbox' });
    await modal.getByRole('heading', { name: 'Connect Sandbox' }).waitFor();
    expect(await page.evaluate('document.documentElement.style.overflow')).toBe('hidden');
    await close(page, modal);

    const { called, promised } = await resultsOf(page);
    expect(called).toEqual([closed]);
    expect(promised).toEqual(called);
    expect(await page.evaluate('document.activeElement.id')).toBe('before');
    expect(await page.evaluate('document.documentElement.style.overflow')).toBe('');
    expect(await page.evaluate('scrollY')).toBe(40);
    expect(await page.locator('iframe').count()).toBe(0);
    // The SDK listens no longer, so a late message changes nothing.
    await page.evaluate(`postMessage({ gatehouse: 'result', result: { success: true } }, '*')`);
    expect(await page.evaluate('called.length')).toBe(1);
  });

  test('a second call ends the first', async () => {
    const { page, modal } = await open({ app: 'sandbox' });
    await modal.getByRole('heading', { name: 'Connect Sandbox' }).waitFor();
    await web.authenticate(page, { app: 'hubspot' });
    expect((await resultsOf(page)).called).toEqual([closed]);
    expect(await page.locator('iframe').count()).toBe(1);
    await modal.getByRole('heading', { name: 'Connect HubSpot' }).waitFor();
    await page.keyboard.press('Escape');
    await page.waitForFunction('called.length === 2');
    expect(await page.evaluate('called')).toEqual([closed, closed]);
  });

  test('a page that goes away gets its result before, and the session ends', async () => {
    const { page, modal } = await open({ app: 'sandbox' });
    await modal.getByRole('heading', { name: 'Connect Sandbox' }).waitFor();
    const before = web.service.logged.filter((line) => line.includes('/cancel')).length;
    await page.evaluate(
      `addEventListener('pagehide', () => sessionStorage.setItem('called', JSON.stringify(called)))`,
    );
    await page.goto(`${web.host}/blank`);
    await expect
      .poll(
        () =>
          web.service.logged.filter((line) => line.includes('/connect/sessions/{sessionId}/cancel')).length,
      )
      .toBe(before + 1);
    expect(JSON.parse(String(await page.evaluate(`sessionStorage.getItem('called')`)))).toEqual([closed]);
  });

  test('the modal works by keyboard alone, and keeps the focus', async () => {
    const page = await web.visit();
    await page.locator('#before').focus();
    const modal = await web.authenticate(page, { category: 'commerce' });
    await modal.getByRole('heading', { name: 'Connect an app' }).waitFor();
    const focused = () => modal.locator(':focus').textContent();
    const outside = new Set<unknown>();
    for (let press = 0; press < 30; press++) {
      await page.keyboard.press('Tab');
      outside.add(await page.evaluate('document.activeElement.id'));
    }
    expect([...outside]).toEqual(['']);

    await modal.getByRole('searchbox').focus();
    await page.keyboard.type('sandbox');
    await page.keyboard.press('ArrowDown');
    expect(await focused()).toContain('Sandbox');
    await page.keyboard.press('Enter');
    await modal.getByRole('heading', { name: 'Connect Sandbox' }).waitFor();
    expect(await focused()).toBe('Connect Sandbox');
    await page.keyboard.press('Tab');
    await page.keyboard.press('ArrowDown');
    await modal.getByRole('button', { name: 'Continue to Sandbox' }).waitFor();
    await page.keyboard.press('ArrowUp');
    await page.keyboard.press('Tab');
    await page.keyboard.type('sandbox_keyboard');
    await page.keyboard.press('Enter');
    await modal.getByRole('heading', { name: 'Sandbox is connected' }).waitFor();
    await page.keyboard.press('Escape');
    expect((await resultsOf(page)).called).toMatchObject([{ success: true }]);
    expect(await page.evaluate('document.activeElement.id')).toBe('before');
  });

  test('the modal explains in a sentence what is impossible', async () => {
    const { page, modal } = await open({ app: 'no-such-app' });
    await modal.getByText('There is no app "no-such-app" here.').waitFor();
    await modal.getByRole('button', { name: 'Close' }).last().click();
    expect((await resultsOf(page)).called).toMatchObject([{ success: false, error: 'connector_not_found' }]);
  });

  test('the modal starts again after an expired session', async () => {
    const { page, modal } = await open({ app: 'sandbox' });
    const field = modal.getByRole('textbox', { name: 'Sandbox key' });
    await field.fill('sandbox_late');
    await web.service.context.db.updateTable('connect_sessions').set({ expires_at: 1 }).execute();
    await field.press('Enter');
    await modal.getByText('This took too long').waitFor();
    await modal.getByRole('button', { name: 'Try again' }).click();
    await field.fill('sandbox_late');
    await field.press('Enter');
    await endSuccess(page, modal);
    expect((await resultsOf(page)).called).toMatchObject([{ success: true }]);
  });

  test('the modal ends with a sentence for a deleted user', async () => {
    const made = await web.service.call('POST', '/users', { body: { username: 'gone' } });
    const userId = made.text('userId');
    const token = (await web.service.call('GET', `/2023-12/user/${userId}/token`)).text('token');
    const page = await web.visit();
    await page.evaluate(`Gatehouse.setToken(${JSON.stringify(token)})`);
    const modal = await web.authenticate(page, { app: 'sandbox' });
    await modal.getByRole('heading', { name: 'Connect Sandbox' }).waitFor();
    const accounts = () => web.service.call('GET', `/users/${userId}/credentials`, { bearer: token });
    expect((await accounts()).status).toBe(403);
    await web.service.call('DELETE', `/users/${userId}`);
    await expect.poll(async () => (await accounts()).status).toBe(401);
    await modal.getByRole('textbox', { name: 'Sandbox key' }).fill('sandbox_gone');
    await modal.getByRole('button', { name: 'Connect Sandbox' }).click();
    await expect.poll(() => modal.getByRole('alert').textContent()).toContain('not valid here any more');
  });
});
