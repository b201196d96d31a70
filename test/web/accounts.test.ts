import axe from 'axe-core';
import type { FrameLocator, Locator, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { endSuccess, closesAt, HAS_BROWSER, resultsOf, startWeb, type Web } from '../support/web.ts';

describe.skipIf(!HAS_BROWSER)('connected accounts in the modal', () => {
  let web: Web;
  beforeAll(async () => {
    web = await startWeb();
  });
  afterAll(() => web[Symbol.asyncDispose]());
  afterEach(() => web.tidy());

  const headers = () => ({ 'x-svc-userid': web.userId });
  const connect = async (name: string, apiKey: string): Promise<string> => {
    const body = { connectorId: 'sandbox', name, data: { apiKey } };
    const made = await web.service.call('POST', `/users/${web.userId}/credentials`, {
      headers: headers(),
      body,
    });
    return made.text('credentialId');
  };
  const stored = async (): Promise<unknown> =>
    (await web.service.call('GET', `/users/${web.userId}/credentials`, { headers: headers() })).body;
  const open = async (options: object = { app: 'sandbox' }): Promise<{ page: Page; modal: FrameLocator }> => {
    const page = await web.visit();
    return { page, modal: await web.authenticate(page, options) };
  };
  const accountIn = (modal: FrameLocator, name: string): Locator =>
    modal.getByRole('list', { name: 'Accounts' }).getByRole('listitem').filter({ hasText: name });

  test('a user connects, adds a second account, marks it and disconnects it', async () => {
    const { page, modal } = await open();
    await modal.getByRole('textbox', { name: 'Sandbox key' }).fill('sandbox_first');
    await modal.getByRole('button', { name: 'Connect Sandbox' }).click();
    await endSuccess(page, modal);
    const [first] = (await resultsOf(page)).called;

    const again = await open();
    await again.modal.getByRole('heading', { name: 'Your Sandbox account' }).waitFor();
    expect(await again.modal.getByRole('button', { name: 'Make default' }).count()).toBe(0);
    await again.modal.getByRole('button', { name: 'Connect another Sandbox account' }).click();
    await again.modal.getByRole('button', { name: 'Back to the accounts' }).click();
    await again.modal.getByRole('heading', { name: 'Your Sandbox account' }).waitFor();
    await again.modal.getByRole('button', { name: 'Connect another Sandbox account' }).click();
    await again.modal.getByRole('textbox', { name: 'Sandbox key' }).fill('sandbox_second');
    await again.modal.getByRole('button', { name: 'Connect Sandbox' }).click();
    await endSuccess(again.page, again.modal);
    const [second] = (await resultsOf(again.page)).called;
    expect(second).toMatchObject({ success: true });
    expect(second).not.toEqual(first);

    const third = await open({ category: 'commerce' });
    await third.modal.getByRole('button', { name: 'Sandbox' }).click();
    await third.modal.getByRole('heading', { name: 'Your Sandbox accounts' }).waitFor();
    await third.modal.getByRole('button', { name: 'Make default' }).last().click();
    await third.modal.getByRole('status').getByText('is the default account now').waitFor();
    expect(await stored()).toMatchObject({ data: [{ default: false }, { ...idOf(second), default: true }] });
    expect(await third.modal.getByText('Default', { exact: true }).count()).toBe(1);

    await third.modal.getByRole('button', { name: 'Disconnect' }).last().click();
    await third.modal.getByRole('heading', { name: /^Disconnect .+\?$/ }).waitFor();
    await third.modal.getByRole('button', { name: 'Cancel' }).click();
    await third.modal.getByRole('heading', { name: 'Your Sandbox accounts' }).waitFor();
    await third.modal.getByRole('button', { name: 'Disconnect' }).last().click();
    await third.modal.getByRole('button', { name: 'Disconnect', exact: true }).click();
    await third.modal.getByRole('status').getByText('is disconnected').waitFor();
    expect(await stored()).toMatchObject({ data: [idOf(first)] });
    await third.modal.getByRole('button', { name: 'Disconnect' }).click();
    await third.modal.getByRole('button', { name: 'Disconnect', exact: true }).click();
    await third.modal.getByRole('heading', { name: 'Connect Sandbox' }).waitFor();
    await third.page.keyboard.press('Escape');
    expect((await resultsOf(third.page)).called).toMatchObject([{ success: false, error: 'closed' }]);
  });

  test('the account that a user chooses is the only result', async () => {
    await connect('Northwind shop', 'sandbox_north');
    const credentialId = await connect('Southwind shop', 'sandbox_south');
    const { page, modal } = await open();
    await accountIn(modal, 'Southwind').getByRole('button', { name: 'Use this account' }).focus();
    await page.keyboard.press('Enter');
    await endSuccess(page, modal);
    const { called, promised } = await resultsOf(page);
    const used = { success: true, credentialId, connectionId: credentialId, connectorId: 'sandbox' };
    expect(called).toEqual([{ ...used, name: 'Southwind shop' }]);
    expect(promised).toEqual(called);
  });

  test('a lost account is reconnected under its id and cannot be used before', async () => {
    const credentialId = await connect('Northwind shop', 'sandbox_north');
    await web.service.context.db
      .updateTable('credentials')
      .set({ state: 'needs_reconnect', reason: 'The key was refused.' })
      .where('credential_id', '=', credentialId)
      .execute();
    const { page, modal } = await open();
    await modal.getByText('Needs reconnecting').waitFor();
    expect(await modal.getByRole('button', { name: 'Use this account' }).count()).toBe(0);
    await modal.getByRole('button', { name: 'Reconnect Northwind shop' }).click();
    await modal.getByRole('heading', { name: 'Reconnect Sandbox' }).waitFor();
    await modal.getByRole('button', { name: 'Back to the accounts' }).click();
    await modal.getByRole('button', { name: 'Reconnect Northwind shop' }).click();
    await modal.getByRole('textbox', { name: 'Sandbox key' }).fill('sandbox_north');
    await modal.getByRole('button', { name: 'Connect Sandbox' }).click();
    await endSuccess(page, modal);
    expect((await resultsOf(page)).called).toMatchObject([{ success: true, credentialId }]);
    expect(await stored()).toMatchObject({ data: [{ credentialId, state: 'active' }] });
  });

  test('the list of apps marks those that are connected', async () => {
    await connect('Northwind shop', 'sandbox_north');
    const { page, modal } = await open({});
    await modal.getByRole('button', { name: /^Sandbox .*Connected$/ }).waitFor();
    expect(await modal.getByRole('button', { name: /Connected$/ }).count()).toBe(1);
    expect(await faultsOf(page)).toEqual([]);
  });

  test('an account is reconnected by signing in again, under its id', async () => {
    const signIn = async (modal: FrameLocator, page: Page): Promise<void> => {
      const [popup] = await Promise.all([
        page.context().waitForEvent('page'),
        modal.getByRole('button', { name: 'Continue to Sandbox' }).click(),
      ]);
      await closesAt(popup, 'Allow');
      await endSuccess(page, modal);
    };
    const first = await open();
    await first.modal.getByRole('radio', { name: 'Sign in' }).check();
    await signIn(first.modal, first.page);
    const [made] = (await resultsOf(first.page)).called;
    const { credentialId } = Object(made);
    await web.service.context.db
      .updateTable('credentials')
      .set({ state: 'needs_reconnect', reason: 'The access has ended.' })
      .where('credential_id', '=', credentialId)
      .execute();

    const { page, modal } = await open();
    await modal.getByText('Needs reconnecting').waitFor();
    await modal.getByRole('button', { name: /^Reconnect/ }).click();
    await modal.getByRole('heading', { name: 'Reconnect Sandbox' }).waitFor();
    await modal.getByRole('radio', { name: 'Sign in' }).check();
    await signIn(modal, page);
    expect((await resultsOf(page)).called).toMatchObject([{ success: true, credentialId }]);
    expect(await stored()).toMatchObject({ data: [{ credentialId, type: 'oauth2', state: 'active' }] });
  });

  test('a JWT reaches only the accounts of its user, and only from our own page', async () => {
    const credentialId = await connect('Northwind shop', 'sandbox_north');
    const other = await web.service.call('POST', '/users', { body: { username: `eve ${credentialId}` } });
    const issued = await web.service.call('GET', `/2023-12/user/${other.text('userId')}/token`);
    const send = (method: string, token: string, path: string, more = {}) =>
      fetch(web.service.url + path, {
        method,
        headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json', ...more },
        ...(method === 'GET' ? {} : { body: method === 'PUT' ? '{"default":true}' : '{}' }),
      });
    const path = `/connect/accounts/${credentialId}`;
    const eve = issued.text('token');
    expect(await (await send('GET', eve, '/connect/accounts')).json()).toMatchObject({ data: [] });
    expect((await send('PUT', eve, path)).status).toBe(404);
    expect((await send('DELETE', eve, path)).status).toBe(404);
    expect((await send('DELETE', web.service.developmentKey, path)).status).toBe(403);
    expect((await send('DELETE', web.token, path, { origin: web.host })).status).toBe(403);
    expect(await stored()).toMatchObject({ data: [{ credentialId, default: false }] });
  });

  test.each([
    ['light, 320 px', 'light'],
    ['dark, 320 px', 'dark'],
  ] as const)('axe finds nothing and nothing overflows, %s', async (_name, colorScheme) => {
    await connect('Northwind shop', 'sandbox_north');
    const lost = await connect('orders.of.the.southern.warehouse@northwind.example', 'sandbox_south');
    await web.service.context.db
      .updateTable('credentials')
      .set({ state: 'needs_reconnect', is_default: 1 })
      .where('credential_id', '=', lost)
      .execute();
    const page = await web.visit(await web.context({ colorScheme, viewport: { width: 320, height: 568 } }));
    const modal = await web.authenticate(page, { app: 'sandbox' });
    await modal.getByRole('button', { name: 'Make default Northwind shop' }).waitFor();
    expect(await faultsOf(page)).toEqual([]);
    await accountIn(modal, 'Northwind shop').getByRole('button', { name: 'Make default' }).click();
    await modal.getByRole('status').waitFor();
    expect(await faultsOf(page)).toEqual([]);
    await accountIn(modal, 'Northwind shop').getByRole('button', { name: 'Disconnect' }).click();
    await modal.getByRole('heading', { name: 'Disconnect Northwind shop?' }).waitFor();
    expect(await faultsOf(page)).toEqual([]);
  });
});

function idOf(result: unknown): { credentialId: unknown } {
  return { credentialId: Reflect.get(Object(result), 'credentialId') };
}

/** Returns what axe finds inside the modal, best practices included, and whether anything is wider than the window. */
async function faultsOf(page: Page): Promise<unknown> {
  const frame = page.frames().find((one) => one.url().includes('/connect/'));
  if (!frame) throw new Error('There is no modal.');
  await frame.evaluate(axe.source);
  return frame.evaluate(`axe.run().then(({ violations }) => [
    ...violations.map(({ id, nodes }) => id + ': ' + nodes.map(({ html }) => html).join(' | ')),
    ...(document.querySelector('main').scrollWidth > document.querySelector('main').clientWidth ? ['overflow'] : []),
  ])`);
}
