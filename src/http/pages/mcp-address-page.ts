import { createHash } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import express, { type Router } from 'express';
import type { Base } from '../../base.ts';
import { htmlPage } from '../../lib/html.ts';
import { headerText } from '../../lib/http/header-text.ts';

/** Returns whether a person opened the address of an MCP server in a browser. A client asks for an event stream. */
export function isOpenedInBrowser(req: IncomingMessage): boolean {
  const accept = headerText(req, 'accept') ?? '';
  return req.method === 'GET' && /\btext\/html\b/i.test(accept) && !/\btext\/event-stream\b/i.test(accept);
}

/**
 * Creates the router of the page that a browser gets at the address of an MCP server, which an app mounts under /mcp.
 * The page is the same for every address, and repeats nothing of it, because it may hold a token.
 */
export function createMcpAddressPage(context: Pick<Base, 'publicUrl'>): Router {
  const router = express.Router();
  const styleHash = createHash('sha256').update(STYLE).digest('base64');
  const policy = [
    "default-src 'none'",
    `style-src 'sha256-${styleHash}'`,
    'img-src data:',
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join('; ');
  router.get(['/:serverId', '/:serverId/:accessToken'], (req, res, next) => {
    if (!isOpenedInBrowser(req)) return next('router');
    const base = new URL(context.publicUrl).pathname.replace(/\/$/, '');
    res
      .status(405)
      .set({
        'Content-Type': 'text/html; charset=utf-8',
        'Content-Security-Policy': policy,
        'Cache-Control': 'no-store',
        Allow: 'POST, GET, DELETE, OPTIONS',
      })
      .end(pageOf(base));
  });
  return router;
}

function pageOf(base: string): string {
  return htmlPage({
    title: 'Address of an MCP server · Gatehouse',
    head: `<meta name="robots" content="noindex">
<link rel="icon" href="data:,">
<style>${STYLE}</style>`,
    body: `<body>
<main>
<h1>This address is for an MCP client</h1>
<p>A browser cannot use it. Copy the whole address, and paste it into your MCP client where it asks for the address (URL) of a server.</p>
<p>An address with a token at its end works like a password. Give it to your client only.</p>
<p><a href="${base}/docs/start">How to connect a client</a></p>
</main>
</body>`,
  });
}

const STYLE = `
:root { color-scheme: light dark; }
body { margin: 0; padding: 1.5rem; font: 1rem/1.6 system-ui, sans-serif; }
main { max-width: 34rem; margin: 12vh auto 0; }
h1 { font-size: 1.5rem; line-height: 1.3; }
`;
