import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { fileURLToPath } from 'node:url';
import type { OpenContext } from './context.ts';
import { docsRoutes } from './http/docs.ts';
import { mountNotFound, mountRoutes } from './http/express.ts';
import { ROUTES } from './http/routes.ts';
import { webRoutes } from './http/web.ts';
import { createMcpHandler } from './mcp/http.ts';
import { PACKAGE_FOLDER } from './package.ts';
import { createSandbox } from './sandbox/router.ts';

/** How long a stop waits for running requests. */
const DRAIN_MS = 20_000;
const SWEEP_MS = 50;

/** What browsers load: the sources in a checkout, what was made of them in a build. */
const WEB_FOLDER = fileURLToPath(
  new URL(import.meta.url.endsWith('.ts') ? 'src/web' : 'dist/web', PACKAGE_FOLDER),
);

/** A listening Gatehouse. */
export interface App {
  readonly server: Server;
  readonly port: number;
  /** Stops accepting, lets running requests finish (20 s at most), then closes what it made. The context stays open. */
  close(): Promise<void>;
}

/**
 * Serves the whole surface on one port: MCP ahead of Express (its requests are the hot path), then the REST routes,
 * then the sandbox where it is on.
 * @throws Error of node:net with `code` EADDRINUSE or EACCES when the port cannot be had.
 */
export async function listen(context: OpenContext): Promise<App> {
  const { config } = context;
  const routes = [...ROUTES, ...webRoutes(WEB_FOLDER)];
  routes.push(...docsRoutes(() => routes));
  const express = mountRoutes(context, routes);
  if (config.sandbox) express.use('/sandbox', createSandbox(context));
  mountNotFound(context, express);
  const mcp = await createMcpHandler(context);

  const server = createServer((req, res) => {
    if (req.url?.startsWith('/mcp/')) void mcp.handle(req, res);
    else express(req, res);
  });
  // Idle sockets end before a load balancer's usual minute does, so that it never writes into a closing one.
  server.keepAliveTimeout = 65_000;
  try {
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      server.listen(config.port, config.host, resolve);
    });
  } catch (error) {
    await mcp.close();
    throw error;
  }
  const { address, port } = addressOf(server);
  if (config.publicUrl === undefined) {
    const host = urlHost(config.host);
    context.publicUrl = `http://${host === '0.0.0.0' || host === '[::]' ? '127.0.0.1' : host}:${port}`;
  }
  if (config.sandbox) context.outbound.allowSandbox(async () => `http://${urlHost(address)}:${port}`);

  return {
    server,
    port,
    async close() {
      context.stopping = true;
      mcp.hush();
      await drain(server);
      await mcp.close();
    },
  };
}

function addressOf(server: Server): AddressInfo {
  const address = server.address();
  if (address === null || typeof address === 'string')
    throw new Error('The server does not listen on a port.');
  return address;
}

function urlHost(host: string): string {
  return host.includes(':') && !host.startsWith('[') ? `[${host}]` : host;
}

async function drain(server: Server): Promise<void> {
  const force = setTimeout(() => server.closeAllConnections(), DRAIN_MS);
  // A connection whose request ends meanwhile stays open for a next one, which would only be refused.
  const sweep = setInterval(() => server.closeIdleConnections(), SWEEP_MS);
  await new Promise<void>((resolve) => {
    server.close(() => resolve());
    server.closeIdleConnections();
  });
  clearInterval(sweep);
  clearTimeout(force);
}
