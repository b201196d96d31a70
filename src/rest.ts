import type { RequestListener } from 'node:http';
import type { OpenContext } from './context.ts';
import { createConsole } from './http/pages/console-page.ts';
import { docsRoutes } from './http/pages/docs.ts';
import { createDocs, type DocsSite } from './http/pages/docs-site.ts';
import { createMcpAddressPage } from './http/pages/mcp-address-page.ts';
import type { Context as HttpContext } from './http/context.ts';
import { mountNotFound, mountRoutes } from './http/server/express.ts';
import type { Route } from './http/server/route.ts';
import { CONSOLE_ROUTES } from './http/routes/console/console-routes.ts';
import { ROUTES } from './http/routes/routes.ts';
import { webRoutes } from './http/pages/web.ts';
import { packagePath } from './package.ts';
import { createEverything } from './sandbox/everything.ts';
import { createSandbox } from './sandbox/router.ts';

/** The files for browsers: the sources in a checkout, the bundles in a build. */
const WEB_FOLDER = packagePath(import.meta.url.endsWith('.ts') ? 'src/web' : 'dist/web');

/** The console's page as `npm run build` writes it, also in a checkout. */
const CONSOLE_FOLDER = packagePath('dist/console');

/** The documentation as `npm run build` writes it, also in a checkout. */
const DOCS_FOLDER = packagePath('dist/docs');

/** Returns the routes that the OpenAPI document describes. */
export function restRoutes({ publicUrl }: Pick<OpenContext, 'publicUrl'>): Route[] {
  return routesWith(createDocs({ publicUrl, hasConsole: true }, DOCS_FOLDER));
}

/** Creates everything except MCP: the REST routes, then the sandbox if it is on. */
export function createRest(context: OpenContext & HttpContext): RequestListener {
  const docs = createDocs({ publicUrl: context.publicUrl, hasConsole: context.config.console }, DOCS_FOLDER);
  const routes = routesWith(docs);
  const { config } = context;
  const express = mountRoutes(context, config.console ? [...routes, ...CONSOLE_ROUTES] : routes);
  if (config.console) express.use('/console', createConsole(context, CONSOLE_FOLDER));
  express.use('/docs', docs.router);
  express.use('/mcp', createMcpAddressPage(context));
  if (config.testConnectors) express.use('/sandbox/everything', createEverything());
  if (config.sandbox) express.use('/sandbox', createSandbox(context));
  mountNotFound(context, express);
  return express;
}

function routesWith(docs: DocsSite): Route[] {
  const routes = [...ROUTES, ...webRoutes(WEB_FOLDER)];
  routes.push(...docsRoutes(() => routes, docs));
  return routes;
}
