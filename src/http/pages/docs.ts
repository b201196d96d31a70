import { z } from 'zod';
import { defineRoute, type Route } from '../server/route.ts';
import type { Base } from '../../base.ts';
import { referencePage } from './docs-page.ts';
import { storeDocument, type StoredDocument } from '../server/stored-document.ts';
import { openApiDocument } from '../server/openapi.ts';

const PAGE_HEADERS = {
  'Content-Type': 'text/html; charset=utf-8',
  'Content-Security-Policy':
    "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
};

/** Returns the routes that describe all `routes`. The page needs no script and loads nothing from other hosts. */
export function docsRoutes(routes: () => Route[]): Route[] {
  const documents = describedOnce(routes);
  const openApiRoute = defineRoute({
    method: 'GET',
    path: '/openapi.json',
    operationId: 'getOpenApi',
    tag: 'Service',
    summary: 'This description, as OpenAPI 3.1',
    auth: 'none',
    success: { status: 200, description: 'An OpenAPI document.', schema: z.record(z.string(), z.unknown()) },
    handler: async ({ context, header }) => documents(context).openApi.reply(header),
  });
  const docsRoute = defineRoute({
    method: 'GET',
    path: '/docs',
    operationId: 'getDocs',
    tag: 'Service',
    summary: 'The API reference as a web page',
    auth: 'none',
    success: { status: 200, description: 'An HTML page.', schema: z.string(), contentType: 'text/html' },
    handler: async ({ context, header }) => documents(context).page.reply(header),
  });
  // People open the bare address in a browser.
  const rootRoute = defineRoute({
    method: 'GET',
    path: '/',
    operationId: 'getRoot',
    tag: 'Service',
    summary: 'Redirect to the reference',
    auth: 'none',
    success: { status: 303, description: 'Redirects to /docs.', schema: z.string() },
    handler: async () => ({ body: '', headers: { Location: '/docs' } }),
  });
  return [rootRoute, openApiRoute, docsRoute];
}

/**
 * Renders both documents at the first request, because rendering takes tens of milliseconds and they change only
 * with a release.
 */
function describedOnce(routes: () => Route[]) {
  let stored: { publicUrl: string; openApi: StoredDocument; page: StoredDocument } | undefined;
  return ({ publicUrl }: Pick<Base, 'publicUrl'>) => {
    if (stored?.publicUrl === publicUrl) return stored;
    const document = openApiDocument(routes(), publicUrl);
    stored = {
      publicUrl,
      openApi: storeDocument(JSON.stringify(document), { 'Content-Type': 'application/json; charset=utf-8' }),
      page: storeDocument(referencePage(document), PAGE_HEADERS),
    };
    return stored;
  };
}
