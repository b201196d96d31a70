import { createServer, type RequestListener } from 'node:http';
import { join } from 'node:path';
import { build } from 'rolldown';

/** The addresses of a host of MCP Apps (view-host.js), and of its sandbox, which has another origin. */
export interface ViewHost extends AsyncDisposable {
  readonly origin: string;
  readonly sandbox: string;
}

/** Serves a host page for MCP Apps, and the sandbox of its documents under the policy of the specification. */
export async function startViewHost(): Promise<ViewHost> {
  const [host, proxy] = await Promise.all([bundled('view-host.js'), bundled('view-sandbox.js')]);
  const one = await serve(pageOf('A host', host));
  const other = await serve((req, res) => {
    const { searchParams } = new URL(req.url ?? '/', 'http://sandbox');
    const csp: unknown = JSON.parse(searchParams.get('csp') ?? '{}');
    res.setHeader('Content-Security-Policy', policyOf(Object(csp)));
    pageOf('A sandbox', proxy)(req, res);
  });
  return {
    origin: one.origin,
    sandbox: other.origin,
    async [Symbol.asyncDispose]() {
      await one.close();
      await other.close();
    },
  };
}

/** Returns the policy of "Content Security Policy Enforcement" in the specification. */
function policyOf(csp: { [name: string]: string[] | undefined }): string {
  const of = (name: string) => csp[name]?.map((domain) => ` ${domain}`).join('') ?? '';
  return [
    "default-src 'none'",
    `script-src 'self' 'unsafe-inline'${of('resourceDomains')}`,
    `style-src 'self' 'unsafe-inline'${of('resourceDomains')}`,
    `connect-src 'self'${of('connectDomains')}`,
    `img-src 'self' data:${of('resourceDomains')}`,
    `font-src 'self'${of('resourceDomains')}`,
    `media-src 'self' data:${of('resourceDomains')}`,
    `frame-src ${of('frameDomains') || "'none'"}`,
    "object-src 'none'",
    `base-uri ${of('baseUriDomains') || "'self'"}`,
  ].join('; ');
}

function pageOf(title: string, script: string): RequestListener {
  const page = `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>${title}</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<style>html,body{margin:0;height:100%}iframe{display:block;width:100%;border:0;height:100%}</style></head>
<body><script src="/script.js"></script></body></html>`;
  return (req, res) => {
    const isScript = req.url === '/script.js';
    res.writeHead(200, { 'content-type': isScript ? 'text/javascript' : 'text/html; charset=utf-8' });
    res.end(isScript ? script : page);
  };
}

async function bundled(name: string): Promise<string> {
  const { output } = await build({
    input: join(import.meta.dirname, name),
    platform: 'browser',
    output: { format: 'iife' },
    write: false,
    logLevel: 'silent',
  });
  return output[0].code;
}

async function serve(listener: RequestListener): Promise<{ origin: string; close(): Promise<void> }> {
  const server = createServer(listener);
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
