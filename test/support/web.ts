import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  chromium,
  type Browser,
  type BrowserContext,
  type BrowserContextOptions,
  type FrameLocator,
  type Page,
} from 'playwright-core';
import { expect, inject } from 'vitest';
import { CATALOG_FOLDER } from '../../src/package.ts';
import { startService, type Service } from './service.ts';
import { PATIENCE_MS } from './until.ts';

/** The sandbox, and some apps with keys and forms of every kind. */
const APPS = [
  'sandbox',
  'github',
  'hubspot',
  'medusa',
  'shopify',
  'stripe',
  'woocommerce',
  'bigcommerce',
  'gmail',
];

/** A Gatehouse, an application's page of another origin that embeds the SDK, and browsers to open it in. */
export interface Web extends AsyncDisposable {
  readonly service: Service;
  /** The folder of its connector files. */
  readonly catalogFolder: string;
  /** Origin of the application's page. */
  readonly host: string;
  readonly userId: string;
  /** A JWT of the user. */
  readonly token: string;
  /** Opens a new empty browser, which `tidy` closes. */
  context(options?: BrowserContextOptions): Promise<BrowserContext>;
  /** Opens the application's page, with the SDK loaded and the token set. `origin`: another name of its host. */
  visit(context?: BrowserContext, path?: string, origin?: string): Promise<Page>;
  /**
   * Calls `authenticate` there.
   * @returns the content of the modal.
   */
  authenticate(page: Page, options?: object): Promise<FrameLocator>;
  /**
   * Calls `install` there.
   * @returns the content of the modal.
   */
  install(page: Page, options: { workflowId: string }): Promise<FrameLocator>;
  /**
   * Calls `manage` there.
   * @returns the content of the portal.
   */
  manage(page: Page): Promise<FrameLocator>;
  /** Makes a link for the user, as an application does. */
  link(wish?: object): Promise<string>;
  tidy(): Promise<void>;
}

/** Whether this run has a browser; see chromium.ts. */
export const HAS_BROWSER = inject('chromium') !== undefined;

export async function startWeb({
  connectors = {},
}: { connectors?: Record<string, string> } = {}): Promise<Web> {
  const folder = mkdtempSync(join(tmpdir(), 'gatehouse-web-'));
  for (const app of APPS) cpSync(join(CATALOG_FOLDER, app), join(folder, app), { recursive: true });
  for (const [id, text] of Object.entries(connectors)) {
    mkdirSync(join(folder, id));
    writeFileSync(join(folder, id, 'connector.yaml'), text);
  }
  const service = await startService({ catalogFolder: folder, env: { LOG_LEVEL: 'info' } });
  const host = await startHost(service.url);
  const username = `ada+${Math.random().toString(36).slice(2)}@northwind.example`;
  const userId = (await service.call('POST', '/users', { body: { username } })).text('userId');
  const token = (await service.call('GET', `/2023-12/user/${userId}/token`)).text('token');
  const browser: Browser = await chromium.connect(inject('chromium') ?? '');
  const contexts: BrowserContext[] = [];

  const context: Web['context'] = async (options = {}) => {
    // Without animations the tests need not wait for them.
    const made = await browser.newContext({ reducedMotion: 'reduce', ...options });
    made.setDefaultTimeout(PATIENCE_MS);
    contexts.push(made);
    return made;
  };
  const tidy = async () => {
    await Promise.all(contexts.splice(0).map((one) => one.close()));
    await service.context.db.deleteFrom('credentials').where('user_id', '=', userId).execute();
  };
  return {
    service,
    catalogFolder: folder,
    host: host.origin,
    userId,
    token,
    context,
    tidy,
    async visit(at, path = '/', origin = host.origin) {
      const page = await (at ?? (await context())).newPage();
      await page.goto(origin + path);
      await page.evaluate(`Gatehouse.setToken(${JSON.stringify(token)})`);
      return page;
    },
    async authenticate(page, options = {}) {
      await page.evaluate(`connect(${JSON.stringify(options)})`);
      return page.frameLocator('iframe');
    },
    async install(page, options) {
      await page.evaluate(`install(${JSON.stringify(options)})`);
      return page.frameLocator('iframe');
    },
    async manage(page) {
      await page.evaluate('manage()');
      return page.frameLocator('iframe');
    },
    async link(wish = {}) {
      const made = await service.call('POST', `/users/${userId}/connect-sessions`, { body: wish });
      return made.text('url');
    },
    async [Symbol.asyncDispose]() {
      await tidy();
      await browser.close();
      await host.close();
      await service.stop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** Ends a modal when it shows a success. It also ends on its own, perhaps during the click. */
export async function endSuccess(page: Page, modal: FrameLocator): Promise<void> {
  const gone = page.locator('iframe').waitFor({ state: 'detached' });
  const done = modal.getByRole('button', { name: 'Done' });
  await Promise.race([gone, done.click().catch(() => {})]);
  await gone;
}

/** Returns the results that the callbacks and the promises of a page have got so far. */
export async function resultsOf(page: Page): Promise<{ called: unknown[]; promised: unknown[] }> {
  const read = async (): Promise<[unknown[], unknown[]]> => page.evaluate('[called, promised]');
  await expect.poll(async () => (await read()).every((list) => list.length > 0)).toBe(true);
  const [called, promised] = await read();
  return { called, promised };
}

/**
 * Clicks the button that ends a window, and waits until it is closed. If the window stays open, the error quotes its
 * text.
 */
export async function closesAt(popup: Page, button: string): Promise<void> {
  const gone = popup.waitForEvent('close');
  const click = popup.getByRole('button', { name: button }).click();
  try {
    await Promise.all([gone, click]);
  } catch (cause) {
    // A window may be gone before its click is confirmed.
    if (popup.isClosed()) return;
    const shown = await popup.locator('body').innerText({ timeout: 1_000 }).catch(String);
    throw new Error(`The window stays at ${popup.url()} and shows: ${shown}`, { cause });
  }
}

/**
 * Starts the application's server: `/` loads the SDK as a script, `/strict` under a strict Content-Security-Policy.
 */
async function startHost(gatehouse: string) {
  const policy = `default-src 'none'; script-src 'self' ${gatehouse}; frame-src ${gatehouse}; require-trusted-types-for 'script'`;
  const pages: Record<string, { type: string; body: string; headers?: Record<string, string> }> = {
    '/': { type: 'text/html', body: page(gatehouse) },
    '/strict': { type: 'text/html', body: page(gatehouse), headers: { 'content-security-policy': policy } },
    '/app.js': { type: 'text/javascript', body: SCRIPT },
    '/blank': { type: 'text/html', body: '<!doctype html><title>Elsewhere</title>' },
  };
  const server = createServer((req, res) => {
    const found = pages[(req.url ?? '/').split('?')[0] ?? '/'];
    if (!found) return res.writeHead(404).end();
    return res.writeHead(200, { 'content-type': found.type, ...found.headers }).end(found.body);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  return {
    origin: `http://127.0.0.1:${address.port}`,
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

const page = (gatehouse: string) => `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>Northwind</title>
<meta name="viewport" content="width=device-width, initial-scale=1"></head>
<body><main><h1>Settings</h1><button id="before">Before</button> <button id="after">After</button>
${'<p>Orders flow in here.</p>'.repeat(60)}</main>
<script src="${gatehouse}/sdk.js"></script><script src="/app.js"></script></body></html>`;

const SCRIPT = `
globalThis.called = [];
globalThis.promised = [];
globalThis.resumed = Gatehouse.resume((result) => called.push(result));
if (resumed instanceof Promise) resumed.then((result) => promised.push(result));
globalThis.connect = (options) => {
  Gatehouse.authenticate({ ...options, callback: (result) => called.push(result) }).then((result) => promised.push(result));
};
globalThis.manage = () => {
  Gatehouse.manage({ callback: (result) => called.push(result) }).then((result) => promised.push(result));
};
globalThis.install = (options) => {
  Gatehouse.install({ ...options, callback: (result) => called.push(result) }).then((result) => promised.push(result));
};
`;
