import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import { join, resolve } from 'node:path';
import type { Page } from 'playwright-core';
import { build } from 'rolldown';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { endSuccess, closesAt, HAS_BROWSER, startWeb, type Web } from '../support/web.ts';

/* The package's entries for pages, in a page that an application bundles. */

const ROOT = resolve(import.meta.dirname, '../..');

describe.skipIf(!HAS_BROWSER)('the entries of the package in a page', () => {
  let web: Web;
  let app: Server;
  let origin: string;
  beforeAll(async () => {
    web = await startWeb();
    const script = await bundled();
    app = createServer((req, res) => {
      const file = req.url?.startsWith('/package/') ? join(ROOT, 'dist', req.url) : undefined;
      if (file !== undefined && existsSync(file)) {
        res.writeHead(200, { 'content-type': 'text/javascript' });
        res.end(readFileSync(file));
        return;
      }
      const isScript = req.url === '/app.js';
      res.writeHead(200, { 'content-type': isScript ? 'text/javascript' : 'text/html' });
      res.end(isScript ? script : PAGE);
    });
    await new Promise<void>((listens) => app.listen(0, '127.0.0.1', listens));
    origin = `http://127.0.0.1:${Object(app.address()).port}`;
  });
  afterAll(async () => {
    app.closeAllConnections();
    await new Promise((closed) => app.close(closed));
    await web[Symbol.asyncDispose]();
  });
  afterEach(() => web.tidy());

  const visit = async (at = origin): Promise<Page> => {
    const page = await (await web.context()).newPage();
    await page.goto(at);
    await page.evaluate(`globalThis.token = ${JSON.stringify(web.token)}`);
    return page;
  };
  const results = (page: Page): Promise<unknown> => page.evaluate('results');
  const stateOf = (page: Page): Promise<unknown> => page.evaluate('connection.getState()');
  const begin = async (page: Page, options: object): Promise<void> => {
    await page.evaluate(
      `globalThis.connection = begin(${JSON.stringify({ token: web.token, ...options })}); undefined`,
    );
    await expect.poll(() => stateOf(page)).not.toMatchObject({ step: 'loading' });
  };

  test('ConnectButton connects an account, reports it once and gets the focus back', async () => {
    const page = await visit();
    const button = page.getByRole('button', { name: 'Connect your shop' });
    expect(await button.getAttribute('class')).toBe('fancy');
    await button.click();
    const modal = page.frameLocator('iframe');
    await modal.getByRole('textbox', { name: 'Sandbox key' }).fill('sandbox_react');
    await modal.getByRole('button', { name: 'Connect Sandbox' }).click();
    await endSuccess(page, modal);
    await expect.poll(() => results(page)).toMatchObject([{ success: true, connectorId: 'sandbox' }]);
    await expect.poll(() => page.evaluate('document.activeElement.className')).toBe('fancy');
    expect(await button.getAttribute('aria-busy')).toBe('false');
  });

  test('useGatehouse opens the portal, and a failing getToken is a result', async () => {
    const page = await visit();
    await page.getByRole('button', { name: 'Manage' }).click();
    await page.frameLocator('iframe').getByRole('button', { name: 'Close' }).click();
    await expect.poll(() => results(page)).toEqual([{ success: true, connected: [], disconnected: [] }]);
    await page.evaluate('globalThis.token = undefined');
    await page.getByRole('button', { name: 'Manage' }).click();
    await expect
      .poll(() => results(page))
      .toMatchObject([{}, { success: false, error: 'token_failed', message: 'no token' }]);
  });

  test('an application with its own screens corrects a key and connects', async () => {
    const page = await visit();
    await begin(page, { category: 'commerce' });
    expect(await stateOf(page)).toMatchObject({ step: 'apps', brand: { name: 'Gatehouse' } });
    await page.evaluate('connection.chooseApp("woocommerce")');
    await page.evaluate('connection.back()');
    await page.evaluate('connection.chooseApp("sandbox")');
    expect(await stateOf(page)).toMatchObject({
      step: 'form',
      type: { type: 'api_key' },
      fields: [{ name: 'apiKey', title: 'Sandbox key', required: true, secret: true, type: 'text' }],
    });
    await page.evaluate('connection.submit({})');
    expect(await stateOf(page)).toMatchObject({ faults: { apiKey: 'Please fill in: Sandbox key.' } });
    await page.evaluate('connection.submit({ apiKey: "wrong" })');
    await expect
      .poll(() => stateOf(page))
      .toMatchObject({ busy: false, faults: {}, problem: { code: 'credential_invalid' } });
    await page.evaluate('connection.submit({ apiKey: " sandbox_headless " })');
    await expect.poll(() => stateOf(page)).toMatchObject({ step: 'done', result: { success: true } });
    expect(await page.evaluate('connection.result')).toMatchObject({ connectorId: 'sandbox' });
    const steps = await page.evaluate('steps');
    expect(steps).toEqual(expect.arrayContaining(['apps', 'form', 'done']));
  });

  test('a page of an allowed origin signs the user in without a second question', async () => {
    const page = await visit();
    await begin(page, { app: 'sandbox' });
    await page.evaluate('connection.chooseType("oauth2")');
    const [popup] = await Promise.all([
      page.context().waitForEvent('page'),
      page.getByRole('button', { name: 'Submit' }).click(),
    ]);
    expect(await stateOf(page)).toMatchObject({ step: 'window', blocked: false });
    await popup.getByRole('button', { name: 'Allow' }).waitFor();
    await page.evaluate('connection.back()');
    expect(await stateOf(page)).toMatchObject({ step: 'form', type: { type: 'oauth2' } });
    const [again] = await Promise.all([
      page.context().waitForEvent('page'),
      page.getByRole('button', { name: 'Submit' }).click(),
    ]);
    await closesAt(again, 'Allow');
    await expect.poll(() => stateOf(page)).toMatchObject({ step: 'done', result: { success: true } });
  });

  test('a page of another origin cannot choose for the user, who is asked', async () => {
    // A name that is not loopback, so development does not allow it unlisted.
    const page = await visit(origin.replace('127.0.0.1', 'app.test'));
    const made = await web.service.call('POST', '/connect/sessions', {
      bearer: web.token,
      body: { app: 'sandbox' },
    });
    const [popup] = await Promise.all([
      page.context().waitForEvent('page'),
      page.evaluate(`globalThis.session = ${JSON.stringify(made.body)}; choose(session); undefined`),
    ]);
    await popup.getByRole('heading', { name: 'wants to connect your Sandbox account' }).waitFor();
    expect(await page.evaluate('asked')).toBe(1);
  });

  test('plain modules of the package find the Gatehouse of the token', async () => {
    const page = await visit();
    const asked: string[] = [];
    page.on('request', (request) => asked.push(request.url()));
    const load = (name: string) =>
      `const { createConnection, ...sdk } = await import('/package/src/embed/${name}')`;
    const state = await page.evaluate(`(async () => {
      ${load('embed.js')};
      const connection = createConnection({ token, app: 'sandbox' });
      await new Promise((moved) => connection.subscribe(moved));
      sdk.setToken(token);
      void sdk.authenticate({ app: 'sandbox' });
      return connection.getState();
    })()`);
    expect(state).toMatchObject({ step: 'form', app: { connectorId: 'sandbox' } });
    await page.frameLocator('iframe').getByRole('textbox', { name: 'Sandbox key' }).waitFor();
    const sent = asked.filter((url) => !url.includes('/package/'));
    expect(sent.filter((url) => !url.startsWith(web.service.url))).toEqual([]);
  });

  test('a host that is no Gatehouse is reported in a sentence', async () => {
    const page = await visit();
    await begin(page, { app: 'sandbox', url: `${origin}/elsewhere` });
    expect(await page.evaluate('connection.result')).toMatchObject({
      success: false,
      error: 'unreachable',
      message: expect.stringContaining(`${origin}/elsewhere did not answer as a Gatehouse`),
    });
  });

  test('cancel ends a connection as closed, and later calls change nothing', async () => {
    const page = await visit();
    await begin(page, { app: 'sandbox' });
    await page.evaluate('connection.cancel()');
    expect(await page.evaluate('connection.result')).toMatchObject({ success: false, error: 'closed' });
    await page.evaluate('connection.submit({ apiKey: "sandbox_late" })');
    expect(await stateOf(page)).toMatchObject({ step: 'done', result: { error: 'closed' } });
    const unknown = '{ token, app: "sandbox", category: "commerce" }';
    expect(await page.evaluate(`try { begin(${unknown}) } catch (error) { error.message }`)).toContain(
      'only one',
    );
  });
});

const PAGE =
  '<!doctype html><html lang="en"><title>App</title><main id="app"></main><script type="module" src="/app.js"></script></html>';

const APP = `
import { useState } from 'react';
import { createRoot } from 'react-dom/client';
import { createConnection } from '${join(ROOT, 'src/embed/embed.ts')}';
import { ConnectButton, useGatehouse } from '${join(ROOT, 'src/embed/react.tsx')}';

globalThis.results = [];
globalThis.steps = [];
globalThis.asked = 0;
globalThis.begin = (options) => {
  const connection = createConnection(options);
  connection.subscribe(() => steps.push(connection.getState().step));
  return connection;
};
globalThis.choose = ({ link, sessionId }) => {
  addEventListener('message', ({ source, origin, data }) => {
    if (data?.gatehouse !== 'which') return;
    asked += 1;
    source.postMessage({ gatehouse: 'this', sessionId, choice: { connectorId: 'sandbox', type: 'oauth2', data: {} } }, origin);
  });
  open(link);
};
const getToken = async () => {
  if (!globalThis.token) throw new Error('no token');
  return globalThis.token;
};
const report = (result) => results.push(result);

function App() {
  const gatehouse = useGatehouse({ getToken });
  return (
    <>
      <ConnectButton className="fancy" getToken={getToken} app="sandbox" onResult={report}>Connect your shop</ConnectButton>
      <button onClick={() => gatehouse.manage().then(report)}>Manage</button>
      <button onClick={() => connection.submit({})}>Submit</button>
    </>
  );
}
createRoot(document.getElementById('app')).render(<App />);
`;

/** Returns the script of the application's page, bundled as applications do. */
async function bundled(): Promise<string> {
  // Inside of the packages, where React is found.
  const cache = join(ROOT, 'node_modules/.cache/gatehouse-tests');
  mkdirSync(cache, { recursive: true });
  const folder = mkdtempSync(join(cache, 'page-'));
  try {
    writeFileSync(join(folder, 'app.jsx'), APP);
    const { output } = await build({
      input: join(folder, 'app.jsx'),
      platform: 'browser',
      transform: { define: { 'process.env.NODE_ENV': '"production"' } },
      write: false,
      logLevel: 'silent',
    });
    return output[0].code;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
