import axe from 'axe-core';
import type { FrameLocator, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { startReceiver, type Receiver } from '../support/receiver.ts';
import { until } from '../support/until.ts';
import { closesAt, HAS_BROWSER, resultsOf, startWeb, type Web } from '../support/web.ts';

describe.skipIf(!HAS_BROWSER)('the portal', () => {
  let web: Web;
  let receiver: Receiver;
  beforeAll(async () => {
    web = await startWeb();
    receiver = await startReceiver();
    await web.service.call('PUT', '/api/settings', { body: { branding: { name: 'Northwind' } } });
  });
  afterAll(async () => {
    await receiver[Symbol.asyncDispose]();
    await web[Symbol.asyncDispose]();
  });
  afterEach(async () => {
    receiver.answer = (_, res) => res.writeHead(200).end();
    await web.service.context.db.deleteFrom('subscriptions').execute();
    await web.tidy();
  });

  const headers = () => ({ 'x-svc-userid': web.userId });
  const connect = async (name: string, apiKey: string): Promise<string> => {
    const body = { connectorId: 'sandbox', name, data: { apiKey } };
    const path = `/users/${web.userId}/credentials`;
    return (await web.service.call('POST', path, { headers: headers(), body })).text('credentialId');
  };
  const lose = (credentialId: string) =>
    web.service.context.db
      .updateTable('credentials')
      .set({ state: 'needs_reconnect', reason: 'refused' })
      .where('credential_id', '=', credentialId)
      .execute();
  const stored = async (): Promise<unknown> =>
    (await web.service.call('GET', `/users/${web.userId}/credentials`, { headers: headers() })).at('data');
  const subscribe = async (connectionId: string, scope = 'commerce/customers'): Promise<string> => {
    const body = { scope, address: `${receiver.url}/secret-path?token=secret` };
    const path = `/2023-03/one/webhooks?connectionId=${connectionId}`;
    return (await web.service.call('POST', path, { body })).text('subscriptionId');
  };
  const open = async (page?: Page): Promise<{ page: Page; portal: FrameLocator }> => {
    const at = page ?? (await web.visit());
    const portal = await web.manage(at);
    await portal.getByRole('heading', { name: 'Your connections' }).waitFor();
    return { page: at, portal };
  };
  const rowOf = (portal: FrameLocator, name: string) =>
    portal.getByRole('list', { name: 'Connections' }).getByRole('listitem').filter({ hasText: name });

  test('a user connects, tests, reconnects and disconnects accounts', async () => {
    const lost = await connect('Southwind shop', 'sandbox_south');
    await lose(lost);
    const { page, portal } = await open();
    await rowOf(portal, 'Southwind shop').getByText('Needs reconnecting').waitFor();
    await rowOf(portal, 'Southwind shop').getByText('Not used yet').waitFor();

    await portal.getByRole('button', { name: 'Connect an app' }).click();
    await portal.getByRole('button', { name: 'Back', exact: true }).click();
    await portal.getByRole('button', { name: 'Connect an app' }).click();
    await portal.getByRole('button', { name: /^Sandbox/ }).click();
    await portal.getByRole('textbox', { name: 'Sandbox key' }).fill('sandbox_north');
    await portal.getByRole('button', { name: 'Connect Sandbox' }).click();
    await portal.getByRole('status').getByText('is connected').waitFor();
    expect(await stored()).toHaveLength(2);

    await portal.getByRole('button', { name: 'Reconnect Southwind shop' }).click();
    await portal.getByRole('textbox', { name: 'Sandbox key' }).fill('sandbox_south');
    await portal.getByRole('button', { name: 'Connect Sandbox' }).click();
    await rowOf(portal, 'Southwind shop').getByText('Works').waitFor();

    await portal.getByRole('button', { name: 'Test Southwind shop' }).click();
    await portal.getByRole('status').getByText('Southwind shop works').waitFor();

    await portal.getByRole('button', { name: 'Disconnect Southwind shop' }).click();
    await portal.getByRole('heading', { name: 'Disconnect Southwind shop?' }).waitFor();
    await portal.getByRole('button', { name: 'Cancel' }).click();
    await portal.getByRole('button', { name: 'Disconnect Southwind shop' }).click();
    await portal.getByRole('button', { name: 'Disconnect', exact: true }).click();
    await portal.getByRole('status').getByText('Southwind shop is disconnected').waitFor();
    expect(await stored()).toHaveLength(1);

    await page.keyboard.press('Escape');
    const { called, promised } = await resultsOf(page);
    expect(called).toEqual([{ success: true, connected: [expect.any(String), lost], disconnected: [lost] }]);
    expect(promised).toEqual(called);
    expect(await page.locator('iframe').count()).toBe(0);
  });

  test('an account is connected by signing in, in a window of its own', async () => {
    const { page, portal } = await open();
    await portal.getByText('Nothing is connected yet').waitFor();
    await portal.getByRole('button', { name: 'Connect an app' }).click();
    await portal.getByRole('button', { name: /^Sandbox/ }).click();
    await portal.getByRole('radio', { name: 'Sign in' }).check();
    const [popup] = await Promise.all([
      page.context().waitForEvent('page'),
      portal.getByRole('button', { name: 'Continue to Sandbox' }).click(),
    ]);
    await closesAt(popup, 'Allow');
    await portal.getByRole('status').getByText('is connected').waitFor();
    await portal.getByRole('button', { name: 'Close' }).click();
    expect((await resultsOf(page)).called).toMatchObject([{ success: true, disconnected: [] }]);
  });

  test('a user sees deliveries, filters them and sends one again', async () => {
    const subscriptionId = await subscribe(await connect('Northwind shop', 'sandbox_north'));
    await subscribe(await connect('Southwind shop', 'sandbox_south'));
    const send = () => web.service.call('POST', `/webhooks/${subscriptionId}/test`);
    const list = () => web.service.call('GET', `/webhooks/${subscriptionId}/deliveries`);
    await send();
    await until(async () => (await list()).at('data.0.status') === 'succeeded');
    receiver.answer = (_, res) => res.writeHead(500).end('a secret of the receiver');
    await send();
    await until(async () => Number((await list()).at('data.0.attemptCount')) > 0);

    const { portal } = await open();
    await portal.getByRole('button', { name: 'Deliveries' }).click();
    const rows = portal.getByRole('list', { name: 'Deliveries' }).locator('> li');
    await expect.poll(() => rows.count()).toBe(2);
    const { host } = new URL(receiver.url);
    await portal.getByText(`Sent to ${host}`).waitFor();
    expect(await portal.locator('body').innerText()).not.toContain('secret');
    await rows.first().locator('summary').click();
    await rows.first().getByText('answered 500').first().waitFor();
    expect(await portal.locator('body').innerText()).not.toContain('secret');

    await portal.getByRole('button', { name: 'Delivered' }).click();
    await expect.poll(() => rows.count()).toBe(1);
    await portal.getByRole('button', { name: 'Waiting' }).click();
    await expect.poll(() => rows.getByText('Waiting').count()).toBe(1);
    receiver.answer = (_, res) => res.writeHead(200).end();
    await portal.getByRole('button', { name: /^Send again/ }).click();
    await portal.getByRole('status').getByText('It is sent again').waitFor();
    await rows.getByText('Delivered').waitFor();
    await rows.getByText(/^[23] attempts$/).waitFor();

    await portal.getByRole('combobox', { name: 'Subscription' }).selectOption({ index: 1 });
    await portal.getByText('There are no deliveries here').waitFor();
  });

  test('a newer token of the page is used at once', async () => {
    const { db } = web.service.context;
    const eve = (await web.service.call('POST', '/users', { body: { username: 'eve' } })).text('userId');
    const page = await web.visit();
    const setToken = async () => {
      const { body } = await web.service.call('GET', `/2023-12/user/${eve}/token`);
      await page.evaluate(`Gatehouse.setToken(${JSON.stringify(Object(body).token)})`);
    };
    await setToken();
    const { portal } = await open(page);
    await web.service.call('POST', `/users/${eve}/tokens/revoke`);
    const [row] = await db.selectFrom('users').selectAll().where('user_id', '=', eve).execute();
    // Tokens have whole seconds, so those of the second of the revocation are revoked too.
    await until(() => Math.floor(Date.now() / 1000) * 1000 > Number(row?.tokens_revoked_at));
    await portal.getByRole('button', { name: 'Connect an app' }).click();
    await portal.getByRole('heading', { name: 'That did not work' }).waitFor();
    await setToken();
    await portal.getByRole('button', { name: 'Back', exact: true }).click();
    await portal.getByText('Nothing is connected yet').waitFor();
    expect(await portal.getByRole('alert').count()).toBe(0);
  });

  test('only pages of the environment may frame the portal, and it allows no inline code', async () => {
    const policyOf = async (environment: string) =>
      (await fetch(`${web.service.url}/portal/${environment}`)).headers.get('content-security-policy');
    expect(await policyOf('production')).toMatch(/frame-ancestors 'none'/);
    const development = await policyOf('development');
    expect(development).toContain("default-src 'none'; script-src 'self'; style-src 'self'");
    expect(development).toContain('frame-ancestors http://localhost:*');
    expect(development).toBe(
      (await fetch(`${web.service.url}/connect/development`)).headers.get('content-security-policy'),
    );
    const page = await (await web.context()).newPage();
    await page.goto(`${web.service.url}/portal/development`);
    await page.getByText('This page opens inside an application').waitFor();
  });

  test.each([
    ['light, wide', 'light', 1100],
    ['dark, 360 px', 'dark', 360],
  ] as const)('axe finds nothing and nothing overflows, %s', async (_name, colorScheme, width) => {
    const shop = await connect('Northwind shop', 'sandbox_north');
    await lose(await connect('orders.of.the.southern.warehouse@northwind.example', 'sandbox_south'));
    const subscriptionId = await subscribe(shop);
    await web.service.call('POST', `/webhooks/${subscriptionId}/test`);
    const context = await web.context({ colorScheme, viewport: { width, height: 760 } });
    const { page, portal } = await open(await web.visit(context));
    expect(await faultsOf(page)).toEqual([]);
    await portal.getByRole('button', { name: 'Deliveries' }).press('Enter');
    await portal.locator('summary').press('Enter');
    await portal.getByText('Record').waitFor();
    expect(await faultsOf(page)).toEqual([]);
    await portal.getByRole('button', { name: 'Connections' }).press('Enter');
    await portal.getByRole('button', { name: 'Disconnect Northwind shop' }).press('Enter');
    await portal.getByRole('heading', { name: 'Disconnect Northwind shop?' }).waitFor();
    expect(await faultsOf(page)).toEqual([]);
  });
});

/** Returns what axe finds in page and portal, best practices included, and whether anything is wider than the window. */
async function faultsOf(page: Page): Promise<unknown> {
  const frame = page.frames().find((one) => one.url().includes('/portal/'));
  if (!frame) throw new Error('There is no portal.');
  await frame.evaluate(axe.source);
  return frame.evaluate(`axe.run().then(({ violations }) => [
    ...violations.map(({ id, nodes }) => id + ': ' + nodes.map(({ html, any }) => html + ' ' + (any[0]?.message ?? '')).join(' | ')),
    ...(document.querySelector('main').scrollWidth > document.querySelector('main').clientWidth ? ['overflow'] : []),
  ])`);
}
