import type { FrameLocator, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { foreignConnector, startOidc, type Oidc } from '../support/oidc.ts';
import { endSuccess, closesAt, HAS_BROWSER, resultsOf, startWeb, type Web } from '../support/web.ts';

describe.skipIf(!HAS_BROWSER)('signing in from the modal', () => {
  let oidc: Oidc;
  let web: Web;
  beforeAll(async () => {
    oidc = await startOidc();
    web = await startWeb({ connectors: { foreign: foreignConnector(oidc) } });
    oidc.redirectUris.push(`${web.service.url}/oauth/callback/foreign`);
    const { clientId, clientSecret } = oidc;
    await web.service.call('PUT', '/api/connectors/foreign/oauth-app', { body: { clientId, clientSecret } });
  });
  afterAll(async () => {
    await web[Symbol.asyncDispose]();
    await oidc.close();
  });
  afterEach(() => web.tidy());

  /** Opens the modal at the sandbox, with its sign-in chosen. */
  const atSandbox = async (page: Page): Promise<FrameLocator> => {
    const modal = await web.authenticate(page, { app: 'sandbox' });
    await modal.getByRole('radio', { name: 'Sign in' }).check();
    return modal;
  };
  /** Returns the window that a click opens. */
  const windowOf = async (page: Page, modal: FrameLocator, button: string): Promise<Page> => {
    const [popup] = await Promise.all([
      page.context().waitForEvent('page'),
      modal.getByRole('button', { name: button }).click(),
    ]);
    return popup;
  };
  const credentialOf = (credentialId: unknown) =>
    web.service.call('GET', `/users/${web.userId}/credentials/${String(credentialId)}`, {
      headers: { 'x-svc-userid': web.userId },
    });

  test('a sign-in from the modal opens the sandbox in a window, which closes on its own', async () => {
    const page = await web.visit();
    const modal = await atSandbox(page);
    const popup = await windowOf(page, modal, 'Continue to Sandbox');
    await modal.getByRole('heading', { name: 'Finish in the window of Sandbox' }).waitFor();
    await closesAt(popup, 'Allow');
    await modal.getByRole('heading', { name: 'Sandbox is connected' }).waitFor();
    await endSuccess(page, modal);
    const { called } = await resultsOf(page);
    expect(called).toEqual([
      expect.objectContaining({ success: true, connectorId: 'sandbox', connectionId: expect.any(String) }),
    ]);
    const [result] = called;
    const { credentialId } = Object(result);
    expect((await credentialOf(credentialId)).body).toMatchObject({ type: 'oauth2', state: 'active' });
  });

  test('a sign-in from the modal opens a server that is not ours, with PKCE', async () => {
    const page = await web.visit();
    const modal = await web.authenticate(page, { app: 'foreign' });
    const popup = await windowOf(page, modal, 'Continue to Foreign');
    await popup.getByPlaceholder('Enter any login').fill('alice');
    await popup.getByPlaceholder('and password').fill('any');
    await popup.getByRole('button', { name: 'Sign-in' }).click();
    await closesAt(popup, 'Continue');
    await modal.getByRole('heading', { name: 'Foreign is connected' }).waitFor();
    await page.keyboard.press('Escape');
    const { called } = await resultsOf(page);
    const [result] = called;
    const { credentialId } = Object(result);
    expect((await credentialOf(credentialId)).body).toMatchObject({
      account: { id: 'alice', name: 'alice at the foreign app' },
      state: 'active',
    });
  });

  test.each([
    [
      'a page of HTML',
      { status: 200, type: 'text/html', body: '<h1>Maintenance</h1>' },
      'did not answer as it should',
    ],
    ['500', { status: 500, body: '{}' }, 'did not answer as it should'],
    ['a wrong client secret', { status: 401, body: '{"error":"invalid_client"}' }, 'could not sign you in'],
  ] as const)(
    'a sign-in that ends in %s shows a sentence, then one result',
    async (_what, trouble, sentence) => {
      oidc.trouble = (request) => (request === 'POST /token' ? trouble : undefined);
      const page = await web.visit();
      const modal = await web.authenticate(page, { app: 'foreign' });
      const popup = await windowOf(page, modal, 'Continue to Foreign');
      await popup.getByPlaceholder('Enter any login').fill('alice');
      await popup.getByPlaceholder('and password').fill('any');
      await popup.getByRole('button', { name: 'Sign-in' }).click();
      await closesAt(popup, 'Continue');
      oidc.trouble = undefined;
      await modal.getByText(sentence).waitFor();
      expect(await page.evaluate('called')).toEqual([]);
      await modal.getByRole('main').getByRole('button', { name: 'Close' }).click();
      const { called } = await resultsOf(page);
      expect(called).toEqual([
        {
          success: false,
          error: expect.stringMatching(/^provider_/),
          message: expect.stringContaining(sentence),
        },
      ]);
    },
  );

  test('two tabs that sign in at the same time get their own account and one result each', async () => {
    const context = await web.context();
    const pages = [await web.visit(context), await web.visit(context)];
    const popups: Page[] = [];
    for (const page of pages) {
      const modal = await atSandbox(page);
      const [popup] = await Promise.all([
        page.waitForEvent('popup'),
        modal.getByRole('button', { name: 'Continue to Sandbox' }).click(),
      ]);
      popups.push(popup);
    }
    // The older window finishes last.
    for (const [index, popup] of [...popups.entries()].toReversed()) {
      await popup.getByLabel('Name of the shop').fill(`Shop ${index}`);
      await popup.getByRole('button', { name: 'Allow' }).click();
    }
    const ids: unknown[] = [];
    for (const page of pages) {
      const { called } = await resultsOf(page);
      expect(called).toMatchObject([{ success: true }]);
      ids.push(Object(called[0]).credentialId);
    }
    expect(new Set(ids).size).toBe(2);
  });

  test('a denied sign-in shows a sentence and the result, and can be tried again', async () => {
    const page = await web.visit();
    const modal = await atSandbox(page);
    await (await windowOf(page, modal, 'Continue to Sandbox')).getByRole('button', { name: 'Deny' }).click();
    await modal.getByText('so nothing was connected').waitFor();
    expect(await page.evaluate('called')).toEqual([]);

    await modal.getByRole('button', { name: 'Try again' }).click();
    await modal.getByRole('radio', { name: 'Sign in' }).check();
    await (await windowOf(page, modal, 'Continue to Sandbox')).getByRole('button', { name: 'Deny' }).click();
    await modal.getByText('so nothing was connected').waitFor();
    await modal.getByRole('main').getByRole('button', { name: 'Close' }).click();
    expect((await resultsOf(page)).called).toEqual([
      { success: false, error: 'access_denied', message: expect.stringContaining('You did not give') },
    ]);
  });

  test('a sign-in whose window was closed can be opened again, or left', async () => {
    const page = await web.visit();
    const modal = await atSandbox(page);
    const first = await windowOf(page, modal, 'Continue to Sandbox');
    await first.getByRole('button', { name: 'Allow' }).waitFor();
    await first.close();
    await modal.getByText('If its window is gone, open it again.').waitFor();
    const second = await windowOf(page, modal, 'Open the window again');
    await second.getByRole('button', { name: 'Allow' }).waitFor();
    await second.close();
    await modal.getByRole('button', { name: 'Cancel' }).click();
    expect((await resultsOf(page)).called).toMatchObject([{ success: false, error: 'closed' }]);
  });

  test('a sign-in that the user cancels closes its open window', async () => {
    const page = await web.visit();
    const modal = await atSandbox(page);
    const popup = await windowOf(page, modal, 'Continue to Sandbox');
    await popup.getByRole('button', { name: 'Allow' }).waitFor();
    const gone = popup.waitForEvent('close');
    await modal.getByRole('button', { name: 'Cancel' }).click();
    await gone;
    expect((await resultsOf(page)).called).toMatchObject([{ error: 'closed' }]);
  });

  test('a sign-in with blocked windows takes the whole page there and back', async () => {
    const context = await web.context();
    await context.addInitScript('window.open = () => null');
    const page = await web.visit(context, '/?tab=apps');
    const modal = await atSandbox(page);
    await modal.getByRole('button', { name: 'Continue to Sandbox' }).click();
    await modal.getByRole('heading', { name: 'Your browser blocked the window' }).waitFor();
    await modal.getByRole('button', { name: 'Go to Sandbox and come back' }).click();

    // A page behind a link asks before it continues.
    await page.getByRole('heading', { name: 'Gatehouse wants to connect your Sandbox account' }).waitFor();
    await page.getByText('You connect as ada+').first().waitFor();
    await page.getByRole('button', { name: 'Continue to Sandbox' }).click();
    await page.getByRole('button', { name: 'Allow' }).click();
    await page.waitForURL(`${web.host}/**`);
    expect(await page.evaluate('resumed')).toMatchObject({ success: true, credentialId: expect.any(String) });
    expect(page.url()).toBe(`${web.host}/?tab=apps`);
    await page.reload();
    expect(await page.evaluate('resumed')).toBeUndefined();
  });

  test('the page ignores a result in the address that this tab did not request', async () => {
    const page = await web.visit(undefined, '/?success=true&connectionId=cred_planted&state=guessed');
    expect(await page.evaluate('resumed')).toBeUndefined();
  });

  test('a sign-in with blocked windows and no way back opens a tab', async () => {
    const context = await web.context();
    await context.addInitScript('window.open = () => null');
    const page = await web.visit(context);
    // The service refuses the return address, as production does for an address that is not listed.
    await page.route('**/connect/sessions', async (route) =>
      String(route.request().postData()).includes('returnTo')
        ? route.fulfill({
            status: 400,
            json: { code: 'redirect_not_allowed', error: 'The redirect address is not allowed.' },
          })
        : route.fallback(),
    );
    const modal = await atSandbox(page);
    await modal.getByRole('button', { name: 'Continue to Sandbox' }).click();
    const [tab] = await Promise.all([
      context.waitForEvent('page'),
      modal.getByRole('link', { name: 'Open Sandbox in a new tab' }).click(),
    ]);
    await tab.getByRole('button', { name: 'Allow' }).click();
    await modal.getByRole('heading', { name: 'Sandbox is connected' }).waitFor();
    await page.keyboard.press('Escape');
    expect((await resultsOf(page)).called).toMatchObject([{ success: true }]);
  });
});
