import type { Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { HAS_BROWSER, startWeb, type Web } from '../support/web.ts';

describe.skipIf(!HAS_BROWSER)('the page behind a link', () => {
  let web: Web;
  beforeAll(async () => {
    web = await startWeb();
    await web.service.call('PUT', '/api/settings', { body: { branding: { name: 'Northwind' } } });
  });
  afterAll(() => web[Symbol.asyncDispose]());
  afterEach(() => web.tidy());

  const open = async (url: string, context?: Awaited<ReturnType<Web['context']>>): Promise<Page> => {
    const page = await (context ?? (await web.context())).newPage();
    await page.goto(url);
    return page;
  };
  const connectByKey = async (page: Page): Promise<void> => {
    await page.getByRole('textbox', { name: 'Sandbox key' }).fill('sandbox_link');
    await page.getByRole('button', { name: 'Connect Sandbox' }).click();
  };

  test('the page behind a link names application, app and user, and shows the end', async () => {
    const url = await web.link({ connectors: ['sandbox'] });
    const context = await web.context();
    const page = await open(url, context);
    await page.getByRole('heading', { name: 'Northwind wants to connect your Sandbox account' }).waitFor();
    await page
      .getByRole('main')
      .getByText(/You connect as ada\+/)
      .waitFor();
    expect(await page.title()).toBe('Northwind wants to connect your Sandbox account');
    await connectByKey(page);
    await page.getByRole('heading', { name: 'Sandbox is connected' }).waitFor();
    // The user who finished may look again, but the session does not continue.
    await page.reload();
    await page.getByRole('heading', { name: 'Sandbox is connected' }).waitFor();
  });

  test('the page behind a link returns to the application with the result', async () => {
    const redirectUri = `${web.host}/blank?from=link`;
    const page = await open(await web.link({ connectors: ['sandbox'], redirectUri, state: 'mine' }));
    await connectByKey(page);
    await page.waitForURL(`${web.host}/blank?*`);
    const query = new URL(page.url()).searchParams;
    expect(Object.fromEntries(query)).toEqual({
      from: 'link',
      success: 'true',
      connectionId: expect.stringMatching(/^cred_/),
      credentialId: expect.stringMatching(/^cred_/),
      state: 'mine',
    });
  });

  test('a link opened by another name of this machine redirects to the host of cookies', async () => {
    const url = await web.link({ connectors: ['sandbox'] });
    const page = await open(url.replace('127.0.0.1', 'localhost'));
    await page.getByRole('radio', { name: 'Sign in' }).check();
    expect(page.url()).toBe(url);
    await page.getByRole('button', { name: 'Continue to Sandbox' }).click();
    await page.getByRole('button', { name: 'Allow' }).click();
    await page.getByRole('heading', { name: 'Sandbox is connected' }).waitFor();
    // A name that is not ours must not redirect anyone.
    const answer = await fetch(url, { redirect: 'manual', headers: { host: 'evil.example' } });
    expect(answer.status).toBe(200);
  });

  test('a person who cancels on a link is sent back to the application with the error', async () => {
    const page = await open(await web.link({ connectors: ['sandbox'], redirectUri: `${web.host}/blank` }));
    await page.getByRole('button', { name: 'Cancel' }).click();
    await expect.poll(() => page.url()).toBe(`${web.host}/blank?success=false&error=closed`);
  });

  test('the page behind a link signs in and ends on a page of its own', async () => {
    const page = await open(await web.link({ connectors: ['sandbox'] }));
    await page.getByRole('radio', { name: 'Sign in' }).check();
    await page.getByRole('button', { name: 'Continue to Sandbox' }).click();
    await page.getByRole('button', { name: 'Allow' }).click();
    await page.getByRole('heading', { name: 'Sandbox is connected' }).waitFor();
    expect(new URL(page.url()).pathname).toBe('/connect/ended');
  });

  test('the page behind a link lets the user choose an app where the link names none', async () => {
    const page = await open(await web.link());
    await page.getByRole('searchbox').fill('sandbox');
    await page.getByRole('listitem').getByRole('button', { name: 'Sandbox' }).click();
    await page.getByRole('heading', { name: 'Northwind wants to connect' }).waitFor();
    await page.getByRole('button', { name: 'Back to the apps' }).click();
    await expect.poll(() => page.title()).toBe('Connect an app');
  });

  test('the page behind a link explains a taken, an unknown and a used link', async () => {
    const url = await web.link({ connectors: ['sandbox'] });
    const first = await open(url);
    await first.getByRole('heading', { name: 'Northwind wants' }).waitFor();
    const second = await open(url);
    await second.getByText('opened in another browser').waitFor();
    await connectByKey(first);
    await first.getByRole('heading', { name: 'Sandbox is connected' }).waitFor();
    await second.reload();
    await second.getByText('opened in another browser').waitFor();
    const unknown = await open(`${web.service.url}/connect/s/nonsense`);
    await unknown.getByText('This link is not valid. Please ask for a new one.').waitFor();
    const lost = await open(`${web.service.url}/connect/ended?error=oauth_state_invalid`);
    await expect
      .poll(() => lost.getByRole('main').textContent())
      .toContain('This sign-in is not valid any more');
  });

  test('the page behind a link for a reconnection names the account', async () => {
    const { userId, service } = web;
    const headers = { 'x-svc-userid': userId };
    const made = await service.call('POST', `/users/${userId}/credentials`, {
      headers,
      body: { connectorId: 'sandbox', name: 'Shop in Leeds', data: { apiKey: 'sandbox_leeds' } },
    });
    const path = `/users/${userId}/credentials/${made.text('credentialId')}/reconnect`;
    const link = (await service.call('POST', path, { headers, body: {} })).text('authorizationUrl');
    const page = await open(link);
    await page.getByRole('heading', { name: 'Northwind wants to reconnect your Sandbox account' }).waitFor();
    expect(await page.getByRole('main').textContent()).toContain(
      'Northwind renews its access to Shop in Leeds.',
    );
  });

  test('the page behind a link is never framed, a modal page only by allowed origins', async () => {
    const url = await web.link({ connectors: ['sandbox'] });
    const policy = async (path: string) =>
      (await service(path)).headers
        .get('content-security-policy')
        ?.split('; ')
        .find((part) => part.startsWith('frame-ancestors'));
    const service = (path: string) => fetch(new URL(path, web.service.url));
    expect(await policy(new URL(url).pathname)).toBe("frame-ancestors 'none'");
    expect(await policy('/connect/ended')).toBe("frame-ancestors 'none'");
    expect(await policy('/connect/production')).toBe("frame-ancestors 'none'");
    expect(await policy('/connect/development')).toContain('http://localhost:*');
    const { body } = await web.service.call('PUT', '/api/settings', {
      bearer: web.service.productionKey,
      body: {
        origins: ['https://app.example.com'],
        branding: { logoUrl: 'https://cdn.example.com/logo.png' },
      },
    });
    expect(body).toMatchObject({ origins: ['https://app.example.com'] });
    expect(await policy('/connect/production')).toBe('frame-ancestors https://app.example.com');
    const whole = (await service('/connect/production')).headers;
    expect(whole.get('content-security-policy')).toContain("img-src 'self' data: https://cdn.example.com;");
    expect(whole.get('x-frame-options')).toBeNull();
    expect(whole.get('cross-origin-opener-policy')).toBe('unsafe-none');
    expect(whole.get('cache-control')).toBe('no-store');
    expect(whole.get('referrer-policy')).toBe('no-referrer');
  });
});
