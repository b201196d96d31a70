import { readFileSync } from 'node:fs';
import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import express, { type Response, type Router } from 'express';
import type { Base } from '../../base.ts';
import { listPackageFolder } from '../../package.ts';
import type { Reply } from '../server/route.ts';
import { storeDocument, type StoredDocument } from '../server/stored-document.ts';

const YEAR_SECONDS = 31_536_000;
const NONCE_BYTES = 16;
/** The place in the built page that gets the nonce of each answer. */
const NONCE_MARK = '__STYLE_NONCE__';
/** The place that gets the path before /console in the public address. */
const BASE_MARK = '__BASE__';

const TYPES: Record<string, string> = {
  css: 'text/css; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
  svg: 'image/svg+xml',
};

const NOT_BUILT = `<!doctype html>
<html lang="en"><meta charset="utf-8"><title>Gatehouse console</title>
<p>The console is not built in this checkout. Run <code>npm ci</code> or <code>npm run build</code>, then load this page again.</p>
</html>
`;

/**
 * Creates the router of the console's page, which an app mounts under /console. Every path without a file gets the
 * page, whose script shows what the path names. The files are read from `folder` at their first request.
 */
export function createConsole(context: Pick<Base, 'publicUrl'>, folder: string): Router {
  const router = express.Router();
  const files = new Map<string, StoredDocument>();
  let names: ReadonlySet<string> | undefined;
  let page: string | undefined;

  const file = (name: string): StoredDocument | undefined => {
    names ??= new Set(listPackageFolder(join(folder, 'assets')));
    if (!names.has(name)) return undefined;
    const found =
      files.get(name) ?? storeDocument(readFileSync(join(folder, 'assets', name), 'utf8'), fileHeaders(name));
    files.set(name, found);
    return found;
  };

  router.get('/assets/:name', async (req, res, next) => {
    const found = file(req.params.name);
    if (!found) return next('router');
    return send(res, await found.reply((name) => req.get(name)));
  });
  router.get('/{*path}', (_req, res) => {
    if (page === undefined && listPackageFolder(folder).includes('index.html'))
      page = withBase(readFileSync(join(folder, 'index.html'), 'utf8'), context.publicUrl);
    const nonce = randomBytes(NONCE_BYTES).toString('base64');
    send(res, {
      body: (page ?? NOT_BUILT).replaceAll(NONCE_MARK, nonce),
      headers: {
        'Content-Type': 'text/html; charset=utf-8',
        'Cache-Control': 'no-store',
        'Content-Security-Policy': consolePolicy(nonce),
      },
    });
  });
  return router;
}

/** Returns the page with absolute paths of its files, because it is served at every depth. */
function withBase(html: string, publicUrl: string): string {
  const base = new URL(publicUrl).pathname.replace(/\/$/, '');
  return html.replaceAll(BASE_MARK, base).replaceAll('"./assets/', `"${base}/console/assets/`);
}

/**
 * Returns the policy of the console's page. Scripts come from this origin alone. The library of components writes
 * style elements, which carry the nonce.
 */
function consolePolicy(nonce: string): string {
  return [
    "default-src 'none'",
    "script-src 'self'",
    `style-src 'self' 'nonce-${nonce}'`,
    "img-src 'self' data:",
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join('; ');
}

/** The names of files hold a hash of their content, so browsers keep them for ever. */
function fileHeaders(name: string): Record<string, string> {
  return {
    'Content-Type': TYPES[name.split('.').at(-1) ?? ''] ?? 'application/octet-stream',
    'Cache-Control': `public, max-age=${YEAR_SECONDS}, immutable`,
  };
}

function send(res: Response, { status = 200, body, headers = {} }: Reply): void {
  res.status(status).set(headers).end(body);
}
