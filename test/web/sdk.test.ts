import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, request } from 'node:http';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { gzipSync } from 'node:zlib';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { startService } from '../support/service.ts';
import { endSuccess, closesAt, HAS_BROWSER, resultsOf, startWeb, type Web } from '../support/web.ts';

describe.skipIf(!HAS_BROWSER)('the SDK', () => {
  let web: Web;
  beforeAll(async () => {
    web = await startWeb();
  });
  afterAll(() => web[Symbol.asyncDispose]());
  afterEach(() => web.tidy());

  test('the SDK is under 6 kB on the wire, cached, and loaded by any origin', async () => {
    for (const [name, type] of [
      ['sdk.js', 'text/javascript'],
      ['sdk.mjs', 'text/javascript'],
      ['sdk.d.ts', 'text/plain'],
    ]) {
      const answer = await fetch(`${web.service.url}/${name}`);
      const text = await answer.text();
      expect([answer.status, answer.headers.get('content-type')]).toEqual([200, `${type}; charset=utf-8`]);
      expect(gzipSync(text).length).toBeLessThan(6_000);
      expect(answer.headers.get('access-control-allow-origin')).toBe('*');
      expect(answer.headers.get('cross-origin-resource-policy')).toBe('cross-origin');
      const again = await fetch(`${web.service.url}/${name}`, {
        headers: { 'if-none-match': answer.headers.get('etag') ?? '' },
      });
      expect([again.status, await again.text()]).toEqual([304, '']);
    }
  });

  test('the SDK loads files whose address has their hash', async () => {
    const html = await (await fetch(`${web.service.url}/connect/development`)).text();
    const [script = ''] = /\/connect\/assets\/[\w-]+\/page\.js/.exec(html) ?? [];
    const cacheOf = async (path: string) =>
      (await fetch(web.service.url + path)).headers.get('cache-control');
    expect(await cacheOf(script)).toBe('public, max-age=31536000, immutable');
    expect(await cacheOf(script.replace(/assets\/[\w-]+/, 'assets/other'))).toBe('no-cache');
    const missing = await fetch(web.service.url + script.replace('page.js', '..%2Fpackage.json'));
    expect(missing.status).toBe(404);
  });

  test('the SDK explains what is wrong with a call', async () => {
    const page = await web.visit();
    const thrown = (code: string) =>
      page.evaluate(`(() => { try { ${code} } catch (error) { return error.message; } })()`);
    expect(await thrown(`Gatehouse.authenticate({ app: 'sandbox', category: 'crm' })`)).toContain('not both');
    expect(await thrown(`Gatehouse.setToken({ token: 'x' })`)).toContain('not a JWT');
    expect(await thrown(`Gatehouse.setToken('a.b.c')`)).toContain('not a JWT');
    expect(await thrown(`Gatehouse.setToken('${web.service.developmentKey}')`)).toContain(
      'must never reach a browser',
    );
    expect(
      await thrown(`Gatehouse.setToken('x.' + btoa('{"sub":"usr"}').replaceAll('=', '') + '.y')`),
    ).toContain('environment');
    await page.goto(`${web.host}/`);
    expect(await thrown(`Gatehouse.authenticate({ app: 'sandbox' })`)).toContain('no token is set');
    expect(await page.evaluate('Object.keys(Gatehouse)')).toEqual([
      'setToken',
      'authenticate',
      'install',
      'manage',
      'resume',
    ]);
  });

  test('the SDK works under a strict policy of the page, and as a module', async () => {
    const page = await web.visit(undefined, '/strict');
    const complaints: string[] = [];
    page.on('console', (message) => complaints.push(message.text()));
    const modal = await web.authenticate(page, { app: 'sandbox' });
    await modal.getByRole('heading', { name: 'Connect Sandbox' }).waitFor();
    const box = await page.locator('iframe').boundingBox();
    expect([box?.width, box?.height]).toEqual([440, 680]);
    await page.keyboard.press('Escape');
    await resultsOf(page);
    expect(complaints).toEqual([]);

    const other = await web.visit();
    await other.evaluate(
      `import('${web.service.url}/sdk.mjs').then(({ setToken, authenticate }) => { setToken('${web.token}'); void authenticate(); })`,
    );
    await other.frameLocator('iframe').getByRole('heading', { name: 'Connect an app' }).waitFor();
  });

  test('an http page that is not localhost connects accounts by key and sign-in', async () => {
    const host = web.host.replace('127.0.0.1', 'app.test');
    await web.service.call('PUT', '/api/settings', { body: { origins: [host] } });
    const page = await web.visit(undefined, '/', host);
    expect(await page.evaluate('[isSecureContext, typeof crypto.randomUUID]')).toEqual([false, 'undefined']);
    const modal = await web.authenticate(page, { app: 'sandbox' });
    await modal.getByRole('textbox', { name: 'Sandbox key' }).fill('sandbox_insecure');
    await modal.getByRole('button', { name: 'Connect Sandbox' }).click();
    await endSuccess(page, modal);
    const { called, promised } = await resultsOf(page);
    expect(called).toMatchObject([{ success: true, connectorId: 'sandbox' }]);
    expect(promised).toEqual(called);

    const other = await web.visit(undefined, '/', host);
    const again = await web.authenticate(other, { app: 'sandbox' });
    await again.getByRole('button', { name: 'Connect another Sandbox account' }).click();
    await again.getByRole('radio', { name: 'Sign in' }).check();
    const [popup] = await Promise.all([
      other.context().waitForEvent('page'),
      again.getByRole('button', { name: 'Continue to Sandbox' }).click(),
    ]);
    await closesAt(popup, 'Allow');
    await endSuccess(other, again);
    expect((await resultsOf(other)).called).toMatchObject([{ success: true }]);
  });

  test('the callback comes once when the modal cannot open or is removed', async () => {
    const page = await web.visit();
    await page.evaluate(
      'HTMLDialogElement.prototype.showModal = () => { throw new Error("no dialogs here") }',
    );
    await page.evaluate(`connect({ app: 'sandbox' })`);
    expect(await resultsOf(page)).toEqual({
      called: [{ success: false, error: 'not_opened', message: expect.stringContaining('no dialogs here') }],
      promised: [
        { success: false, error: 'not_opened', message: expect.stringContaining('no dialogs here') },
      ],
    });

    expect(await page.locator('iframe').count()).toBe(0);

    const replaced = await web.visit();
    const modal = await web.authenticate(replaced, { app: 'sandbox' });
    await modal.getByRole('heading', { name: 'Connect Sandbox' }).waitFor();
    await replaced.evaluate('document.body = document.createElement("body")');
    const gone = await resultsOf(replaced);
    expect(gone.called).toMatchObject([{ success: false, error: 'closed' }]);
    expect(gone.promised).toEqual(gone.called);
    expect(await replaced.evaluate('document.documentElement.style.overflow')).toBe('');
  });

  test('the next modal opens although the callback of the first throws', async () => {
    const page = await web.visit();
    const modal = await web.authenticate(page, { app: 'sandbox' });
    await modal.getByRole('heading', { name: 'Connect Sandbox' }).waitFor();
    await page.evaluate(
      `void Gatehouse.authenticate({ app: 'sandbox', callback() { throw new Error('mine') } })`,
    );
    expect((await resultsOf(page)).called).toMatchObject([{ success: false, error: 'closed' }]);
    const thrown = page.waitForEvent('pageerror');
    await web.authenticate(page, { app: 'github' });
    expect((await thrown).message).toContain('mine');
    await page.frameLocator('iframe').getByRole('heading', { name: 'Connect GitHub' }).waitFor();
  });

  test('the SDK loaded by another name of this machine, uses the host of the cookies', async () => {
    const page = await web.visit();
    const elsewhere = web.service.url.replace('127.0.0.1', 'localhost');
    await page.evaluate(
      `import('${elsewhere}/sdk.mjs').then(({ setToken, authenticate }) => { setToken('${web.token}'); authenticate({ app: 'sandbox', callback: (result) => called.push(result) }).then((result) => promised.push(result)); })`,
    );
    const modal = page.frameLocator('iframe');
    await modal.getByRole('radio', { name: 'Sign in' }).check();
    const [popup] = await Promise.all([
      page.context().waitForEvent('page'),
      modal.getByRole('button', { name: 'Continue to Sandbox' }).click(),
    ]);
    await popup.getByRole('button', { name: 'Allow' }).click();
    await endSuccess(page, modal);
    expect((await resultsOf(page)).called).toMatchObject([{ success: true }]);
  });

  test('the SDK reports a forbidden origin, and refuses a token of the other environment', async () => {
    const { service } = web;
    const made = await service.call('POST', '/users', {
      bearer: service.productionKey,
      body: { username: 'p' },
    });
    const path = `/2023-12/user/${made.text('userId')}/token`;
    const production = (await service.call('GET', path, { bearer: service.productionKey })).text('token');
    const page = await web.visit();
    await page.evaluate(`Gatehouse.setToken('${production}')`);
    await web.authenticate(page, { app: 'github' });
    expect((await resultsOf(page)).called).toEqual([
      {
        success: false,
        error: 'not_loaded',
        message: expect.stringContaining(`Is ${web.host} among the origins`),
      },
    ]);
    await page.evaluate(`Gatehouse.setToken('${production}', { environment: 'development' })`);
    const modal = await web.authenticate(page, { app: 'github' });
    await modal.getByText('This page is for the environment development').waitFor();
  });

  test('the page of docs/embedding.md runs as it is written', async () => {
    const guide = readFileSync(resolve(import.meta.dirname, '../../docs/embedding.md'), 'utf8');
    const [, server = ''] = /```js\n(\/\/ gatehouse-token\.mjs.*?)```/s.exec(guide) ?? [];
    const [, html = ''] = /```html\n(.*?)```/s.exec(guide) ?? [];
    const address = /src="(http[^"]*)\/sdk\.js"/.exec(html)?.[1] ?? '';
    // The browser's proxy maps the address of the page to the Gatehouse of this test.
    await using gatehouse = await startService({
      catalogFolder: web.catalogFolder,
      env: { GATEHOUSE_PUBLIC_URL: address },
    });
    const userId = (await gatehouse.call('POST', '/users', { body: { username: 'reader' } })).text('userId');
    const folder = mkdtempSync(join(tmpdir(), 'gatehouse-readme-'));
    writeFileSync(join(folder, 'gatehouse-token.mjs'), server);
    process.env['GATEHOUSE_URL'] = gatehouse.url;
    process.env['GATEHOUSE_KEY'] = gatehouse.developmentKey;
    const { userToken } = await import(pathToFileURL(join(folder, 'gatehouse-token.mjs')).href);
    const token = await userToken(userId);

    const proxy = createServer((req, res) => {
      const url = new URL(req.url ?? '');
      if (url.origin !== address) {
        if (url.pathname === '/gatehouse-token') return res.end(token);
        return res.writeHead(200, { 'content-type': 'text/html' }).end(`<!doctype html><body>${html}`);
      }
      const onward = request(
        gatehouse.url + url.pathname + url.search,
        { method: req.method, headers: req.headers },
        (answer) => answer.pipe(res.writeHead(answer.statusCode ?? 502, answer.headers)),
      );
      return req.pipe(onward);
    });
    await new Promise<void>((done) => proxy.listen(0, '127.0.0.1', done));
    const port = Object(proxy.address()).port;
    try {
      const context = await web.context({
        proxy: { server: `http://127.0.0.1:${port}`, bypass: '<-loopback>' },
      });
      const page = await context.newPage();
      await page.goto('http://localhost:8080/settings');
      const logged = page.waitForEvent('console');
      await page.getByRole('button', { name: 'Connect the sandbox' }).click();
      const modal = page.frameLocator('iframe');
      await modal.getByRole('textbox', { name: 'Sandbox key' }).fill('sandbox_reader');
      await modal.getByRole('button', { name: 'Connect Sandbox' }).click();
      expect(JSON.parse((await logged).text())).toMatchObject({ success: true, connectorId: 'sandbox' });
    } finally {
      proxy.closeAllConnections();
      proxy.close();
      rmSync(folder, { recursive: true, force: true });
    }
  });
});
