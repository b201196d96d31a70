import { readFileSync } from 'node:fs';
import { createHash } from 'node:crypto';
import { join } from 'node:path';
import express, { type Response, type Router } from 'express';
import { z } from 'zod';
import { escapeHtml } from '../../lib/html.ts';
import { listPackageFolder } from '../../package.ts';
import type { Reply } from '../server/route.ts';
import { storeDocument, type StoredDocument } from '../server/stored-document.ts';

/** The list of the files that src/docs/site.ts wrote. */
const LIST = 'files.json';
const YEAR_SECONDS = 31_536_000;

/**
 * The policy of a page of the documentation: scripts, styles and requests of this origin alone, and no text ever becomes
 * HTML.
 */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self'",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
].join('; ');

const TYPES: Record<string, string> = {
  css: 'text/css; charset=utf-8',
  html: 'text/html; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
  json: 'application/json; charset=utf-8',
  md: 'text/markdown; charset=utf-8',
  svg: 'image/svg+xml',
};
const PLAIN = 'text/plain; charset=utf-8';

const NOT_BUILT = `<!doctype html>
<html lang="en"><meta charset="utf-8"><title>Gatehouse documentation</title>
<p>The documentation is not built in this checkout. Run <code>npm ci</code> or <code>npm run build</code>, then load this page again.
Its source is the folder <code>docs</code>.</p>
</html>
`;

type Settings = { publicUrl: string; hasConsole: boolean };
type Header = (name: string) => string | undefined;

/** The documentation as the service serves it. */
export interface DocsSite {
  /** Everything below /docs. */
  router: Router;
  /** Returns the start page. */
  start(header: Header): Promise<Reply>;
  /** Returns an index for models: `llms.txt` or `llms-full.txt`. */
  forModels(name: 'llms.txt' | 'llms-full.txt', header: Header): Promise<Reply>;
}

/** Creates the pages of the documentation, which the build wrote into `folder`. A file is read at its first request. */
export function createDocs(settings: Settings, folder: string): DocsSite {
  const documents = createDocuments(settings, folder);
  const page = async (path: string, header: Header): Promise<Reply> => {
    const found = documents.find(`pages/${path}`) ?? documents.find(`pages/${path}.html`);
    if (found) return found.reply(header);
    const missing = await documents.find('pages/404.html')?.reply(() => undefined);
    return { ...(missing ?? notBuilt()), status: 404 };
  };
  const router = express.Router();
  router.get('/assets/:version/:name', async (req, res, next) => {
    const { version, name } = req.params;
    const found = documents.find(`assets/${name}`);
    if (!found) return next();
    const reply = await found.reply((one) => req.get(one));
    // During an update, an older process may still serve pages with the version of another release.
    const cache = version === documents.version() ? `public, max-age=${YEAR_SECONDS}, immutable` : 'no-cache';
    return send(res, { ...reply, headers: { ...reply.headers, 'Cache-Control': cache } });
  });
  router.get('/{*path}', async (req, res) => {
    const path = req.path.replace(/^\/|\/$/g, '');
    send(res, await page(path === '' ? 'index' : path, (one) => req.get(one)));
  });
  return {
    router,
    start: (header) => page('index', header),
    async forModels(name, header) {
      return documents.find(name)?.reply(header) ?? { ...notBuilt(), status: 404 };
    },
  };
}

interface Documents {
  /** Returns a file of the build; undefined where there is none. */
  find(name: string): StoredDocument | undefined;
  /** Returns the hash of the files that pages load, which is part of their addresses. */
  version(): string;
}

function createDocuments({ publicUrl, hasConsole }: Settings, folder: string): Documents {
  const stored = new Map<string, StoredDocument>();
  const base = new URL(publicUrl).pathname.replace(/\/$/, '');
  let names: ReadonlySet<string> | undefined;
  let hash: string | undefined;
  // Only names of this list are read, so no path leads out of the folder.
  const listed = () => (names ??= new Set(namesIn(folder)));
  const read = (name: string) => readFileSync(join(folder, name), 'utf8');
  const version = () => {
    if (hash !== undefined) return hash;
    const whole = createHash('sha256');
    for (const name of [...listed()].filter((one) => one.startsWith('assets/')).toSorted())
      whole.update(`${name}\0${read(name)}\0`);
    return (hash = whole.digest('base64url').slice(0, 10));
  };
  const filledIn = (name: string): string => {
    const isPage = name.endsWith('.html');
    const address = (value: string) => (isPage ? escapeHtml(value) : value);
    return read(name)
      .replaceAll('__CONSOLE__', hasConsole ? '<a href="__BASE__/console">Console</a>' : '')
      .replaceAll('__BASE__', address(base))
      .replaceAll('__PUBLIC_URL__', address(publicUrl))
      .replaceAll('__ASSETS__', version());
  };
  return {
    version,
    find(name) {
      const known = stored.get(name);
      if (known || !listed().has(name)) return known;
      const type = TYPES[name.split('.').at(-1) ?? ''] ?? PLAIN;
      const policy: Record<string, string> = name.endsWith('.html')
        ? { 'Content-Security-Policy': POLICY }
        : {};
      const text = name.startsWith('assets/') ? read(name) : filledIn(name);
      const document = storeDocument(text, { 'Content-Type': type, ...policy });
      stored.set(name, document);
      return document;
    },
  };
}

/** Returns the files of the build: the list that it wrote, and the scripts and styles. Empty without a build. */
function namesIn(folder: string): string[] {
  if (!listPackageFolder(folder).includes(LIST)) return [];
  const written = z.array(z.string()).parse(JSON.parse(readFileSync(join(folder, LIST), 'utf8')));
  return [...written, ...listPackageFolder(join(folder, 'assets')).map((name) => `assets/${name}`)];
}

function notBuilt(): Reply {
  return {
    body: NOT_BUILT,
    headers: { 'Content-Type': 'text/html; charset=utf-8', 'Cache-Control': 'no-store' },
  };
}

function send(res: Response, { status = 200, body, headers = {} }: Reply): void {
  res.status(status).set(headers).end(body);
}
