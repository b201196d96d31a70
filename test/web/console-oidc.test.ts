import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  loaded,
  overflow,
  startConsoleBrowser,
  violations,
  type ConsoleBrowser,
} from '../support/console.ts';
import { startOidc, type Oidc } from '../support/oidc.ts';
import { startService, type Service } from '../support/service.ts';
import { HAS_BROWSER } from '../support/web.ts';

describe.skipIf(!HAS_BROWSER)('the sign-in of a person in a browser', () => {
  let oidc: Oidc;
  let service: Service;
  let browser: ConsoleBrowser;
  beforeAll(async () => {
    oidc = await startOidc();
    const { issuer, clientId, clientSecret } = oidc;
    const setting = { issuer, clientId, clientSecret, roleClaim: 'groups', roles: { owner: 'platform' } };
    service = await startService({ env: { GATEHOUSE_OIDC: JSON.stringify(setting) } });
    oidc.redirectUris.push(`${service.url}/console/oidc/callback`);
    oidc.signOutUris.push(`${service.url}/console`);
    oidc.people['ada'] = { name: 'Ada Lovelace', email: 'ada@northwind.example', groups: ['platform'] };
    browser = await startConsoleBrowser();
  });
  afterAll(async () => {
    await browser?.[Symbol.asyncDispose]();
    await service?.stop();
    await oidc?.close();
  });

  test('a console sign-in leads to the requested page and environment, and back out', async () => {
    const page = await browser.open(`${service.url}/console/audit?operation=signInToConsole`, {
      viewport: { width: 360, height: 800 },
    });
    const provider = page.getByRole('button', { name: `Sign in with ${new URL(oidc.issuer).host}` });
    await provider.waitFor();
    expect(await violations(page)).toEqual([]);
    expect(await overflow(page)).toEqual([]);
    await provider.click();
    await page.locator('input[name=login]').fill('ada');
    await page.locator('input[name=password]').fill('any');
    await page.locator('button[type=submit]').click();
    await page.getByRole('button', { name: 'Continue' }).click();

    await page.waitForURL(`${service.url}/console/development/audit?operation=signInToConsole`);
    await page.getByText('owner ada@northwind.example').waitFor();
    await page.getByText('Ada Lovelace (ada@northwind.example)').waitFor();
    await page.getByRole('button', { name: 'Environment development, change it' }).click();
    await page.getByRole('menuitem', { name: 'production' }).click();
    await page.waitForURL(`${service.url}/console/production`);
    await loaded(page);
    await page.getByText('What runs in production').waitFor();
    await page.goto(`${service.url}/console/keys`);
    await page.waitForURL(`${service.url}/console/production/keys`);
    await page.getByRole('table', { name: 'People' }).waitFor();
    await loaded(page);
    expect(await violations(page)).toEqual([]);
    expect(await overflow(page)).toEqual([]);

    await page.getByRole('button', { name: /^Signed in as Ada Lovelace/ }).click();
    await page.getByRole('menuitem', { name: 'Sign out' }).click();
    await page.getByRole('button', { name: 'Yes, sign me out' }).click();
    await provider.waitFor();
    expect(page.url()).toMatch(new RegExp(`^${service.url}/console`));
    await page.context().close();
  });

  test('a refused console sign-in says why', async () => {
    oidc.people['eve'] = { name: 'Eve', groups: ['strangers'] };
    const page = await browser.open(`${service.url}/console`);
    await page.getByRole('button', { name: /^Sign in with/ }).click();
    await page.locator('input[name=login]').fill('eve');
    await page.locator('input[name=password]').fill('any');
    await page.locator('button[type=submit]').click();
    await page.getByRole('button', { name: 'Continue' }).click();
    await expect
      .poll(() => page.getByRole('alert').innerText())
      .toMatch(/you have no role in this console.*Request: [\w-]{36}/s);
    await page.context().close();
  });

  test('a key does not open the pages of another environment', async () => {
    const page = await browser.open(`${service.url}/console/production/executions`);
    await page.getByRole('textbox', { name: 'API key' }).fill(service.developmentKey);
    await page.getByRole('button', { name: 'Sign in', exact: true }).click();
    await page.waitForURL(`${service.url}/console`);
    await page.getByText('What runs in development').waitFor();
    await page.goto(`${service.url}/console/production/executions`);
    await page.getByText('You are signed in with a key of development').waitFor();
    await page.getByRole('link', { name: 'Open the environment of your key' }).click();
    await page.getByText('What runs in development').waitFor();
    expect(page.url()).toBe(`${service.url}/console`);
    await page.context().close();
  });

  test('no page had an error or broke its policy', () => {
    expect(browser.faults).toEqual([]);
  });
});
