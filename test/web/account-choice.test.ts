import { createServer } from 'node:http';
import axe from 'axe-core';
import type { FrameLocator, Frame, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { foreignConnector, startOidc, type Oidc } from '../support/oidc.ts';
import { closesAt, HAS_BROWSER, resultsOf, startWeb, type Web } from '../support/web.ts';

/* An OAuth server that is not ours, whose consent reaches several sites. */

describe.skipIf(!HAS_BROWSER)('the choice among accounts after a consent', () => {
  let oidc: Oidc;
  let web: Web;
  let names: string[];
  /** The sites, for tokens that the OAuth server accepts. */
  const sites = createServer(async (req, res) => {
    const me = await fetch(`${oidc.issuer}/me`, {
      headers: { authorization: req.headers.authorization ?? '' },
    });
    const body = req.url === '/sites' ? names.map((name) => ({ id: name.toLowerCase(), name })) : {};
    res.writeHead(me.status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
  });
  beforeAll(async () => {
    oidc = await startOidc();
    await new Promise<void>((resolve) => sites.listen(0, '127.0.0.1', resolve));
    const origin = `http://127.0.0.1:${Object(sites.address()).port}`;
    const file = foreignConnector(oidc)
      .replace(`baseUrl: ${oidc.issuer}`, `baseUrl: '${origin}/{siteId}'`)
      .replace(
        /^probe: .*\naccount: .*$/m,
        `    lookup: {url: '${origin}/sites', choose: {id: id, label: name}}
    capture: {siteId: {from: 'lookup:id'}}
probe: get_me`,
      );
    web = await startWeb({ connectors: { foreign: file } });
    oidc.redirectUris.push(`${web.service.url}/oauth/callback/foreign`);
    const { clientId, clientSecret } = oidc;
    await web.service.call('PUT', '/api/connectors/foreign/oauth-app', { body: { clientId, clientSecret } });
    await web.service.call('PUT', '/api/settings', { body: { branding: { name: 'Northwind' } } });
  });
  afterAll(async () => {
    await web[Symbol.asyncDispose]();
    await oidc.close();
    sites.closeAllConnections();
    await new Promise((resolve) => sites.close(resolve));
  });
  afterEach(async () => {
    oidc.seen.length = 0;
    await web.tidy();
  });

  const signIn = async (page: Page): Promise<void> => {
    await page.getByPlaceholder('Enter any login').fill('alice');
    await page.getByPlaceholder('and password').fill('any');
    await page.getByRole('button', { name: 'Sign-in' }).click();
  };
  const faultsOf = async (at: Page | Frame): Promise<unknown> => {
    await at.evaluate(axe.source);
    return at.evaluate(
      'axe.run().then(({ violations }) => violations.map(({ id, nodes }) => id + ": " + nodes.map(({ html }) => html).join(" | ")))',
    );
  };
  /** Consents in the window of the modal. */
  const atChoice = async (page: Page): Promise<FrameLocator> => {
    const modal = await web.authenticate(page, { app: 'foreign' });
    const [popup] = await Promise.all([
      page.context().waitForEvent('page'),
      modal.getByRole('button', { name: 'Continue to Foreign' }).click(),
    ]);
    await signIn(popup);
    await closesAt(popup, 'Continue');
    await modal.getByRole('heading', { name: 'Which Foreign account?' }).waitFor();
    return modal;
  };
  const accounts = async (): Promise<unknown> => {
    const headers = { 'x-svc-userid': web.userId };
    const list = await web.service.call('GET', `/users/${web.userId}/credentials`, { headers });
    return list.at('data');
  };

  test('a choice among accounts happens on the page behind a link, also after a reload', async () => {
    names = ['Alpha', 'Beta'];
    const page = await (await web.context({ viewport: { width: 320, height: 568 } })).newPage();
    const link = await web.link({ connectors: ['foreign'] });
    await page.goto(link);
    await page.getByRole('button', { name: 'Continue to Foreign' }).click();
    await signIn(page);
    await page.getByRole('button', { name: 'Continue' }).click();
    await page.getByRole('heading', { name: 'Which Foreign account?' }).waitFor();
    expect(await faultsOf(page)).toEqual([]);
    await page.reload();
    await page.getByRole('button', { name: 'Alpha' }).waitFor();
    // The link shows the same choice again.
    await page.goto(link);
    await page.getByRole('button', { name: 'Beta' }).click();
    await page.getByRole('heading', { name: 'Foreign is connected' }).waitFor();
    expect(await accounts()).toMatchObject([{ account: { id: 'beta', name: 'Beta' }, state: 'active' }]);
  });

  test('a choice among accounts happens in the modal, after its window has closed', async () => {
    names = ['Alpha', 'Beta'];
    const page = await web.visit();
    const modal = await atChoice(page);
    const frame = page.frames().find((one) => one.url().includes('/connect/'));
    if (!frame) throw new Error('There is no modal.');
    expect(await faultsOf(frame)).toEqual([]);
    await modal.getByRole('button', { name: 'Beta' }).click();
    await modal.getByRole('heading', { name: 'Foreign is connected' }).waitFor();
    await page.keyboard.press('Escape');
    const { called } = await resultsOf(page);
    expect(called).toMatchObject([{ success: true, connectorId: 'foreign' }]);
    expect(await accounts()).toMatchObject([{ account: { id: 'beta' } }]);
  });

  test('a choice among accounts in two windows shows the first result in the second', async () => {
    names = ['Alpha', 'Beta'];
    const context = await web.context();
    const first = await context.newPage();
    const link = await web.link({ connectors: ['foreign'] });
    await first.goto(link);
    await first.getByRole('button', { name: 'Continue to Foreign' }).click();
    await signIn(first);
    await first.getByRole('button', { name: 'Continue' }).click();
    await first.getByRole('button', { name: 'Alpha' }).waitFor();
    const second = await context.newPage();
    await second.goto(link);
    await second.getByRole('button', { name: 'Beta' }).waitFor();
    await first.getByRole('button', { name: 'Alpha' }).click();
    await first.getByRole('heading', { name: 'Foreign is connected' }).waitFor();
    await second.getByRole('button', { name: 'Beta' }).click();
    await second.getByRole('heading', { name: 'Foreign is connected' }).waitFor();
    expect(await accounts()).toMatchObject([{ account: { id: 'alpha' } }]);
  });

  test('a choice among accounts returns to the application where windows are blocked', async () => {
    names = ['Alpha', 'Beta'];
    const context = await web.context();
    await context.addInitScript('window.open = () => null');
    const page = await web.visit(context);
    const modal = await web.authenticate(page, { app: 'foreign' });
    await modal.getByRole('button', { name: 'Continue to Foreign' }).click();
    await modal.getByRole('button', { name: 'Go to Foreign and come back' }).click();
    await page.getByRole('button', { name: 'Continue to Foreign' }).click();
    await signIn(page);
    await page.getByRole('button', { name: 'Continue' }).click();
    await page.getByRole('button', { name: 'Beta' }).click();
    await page.waitForURL(`${web.host}/**`);
    expect(await page.evaluate('resumed')).toMatchObject({ success: true, credentialId: expect.any(String) });
    expect(await accounts()).toMatchObject([{ account: { id: 'beta' } }]);
  });

  test('a choice among many accounts is searched, and cancelling revokes the tokens', async () => {
    names = Array.from({ length: 30 }, (_, index) => `Site ${index + 1}`);
    const page = await web.visit();
    const modal = await atChoice(page);
    await modal.getByRole('searchbox', { name: 'Search accounts' }).fill('site 17');
    await expect.poll(() => modal.getByRole('listitem').count()).toBe(1);
    await modal.getByRole('button', { name: 'Cancel' }).click();
    expect((await resultsOf(page)).called).toMatchObject([{ success: false, error: 'closed' }]);
    await expect.poll(() => oidc.seen).toContain('POST /token/revocation');
    expect(await accounts()).toEqual([]);
  });
});
