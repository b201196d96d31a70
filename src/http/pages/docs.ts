import { z } from 'zod';
import { defineRoute, type Route } from '../server/route.ts';
import type { Base } from '../../base.ts';
import type { DocsSite } from './docs-site.ts';
import { storeDocument, type StoredDocument } from '../server/stored-document.ts';
import { openApiDocument } from '../server/openapi.ts';

/** Returns the routes of the documentation, and the one that describes all `routes`. */
export function docsRoutes(routes: () => Route[], docs: Pick<DocsSite, 'start' | 'forModels'>): Route[] {
  const openApi = describedOnce(routes);
  const openApiRoute = defineRoute({
    method: 'GET',
    path: '/openapi.json',
    operationId: 'getOpenApi',
    tag: 'Service',
    summary: 'This description, as OpenAPI 3.1',
    auth: 'none',
    success: { status: 200, description: 'An OpenAPI document.', schema: z.record(z.string(), z.unknown()) },
    handler: async ({ context, header }) => openApi(context).reply(header),
  });
  const docsRoute = defineRoute({
    method: 'GET',
    path: '/docs',
    operationId: 'getDocs',
    tag: 'Service',
    summary: 'The documentation as a web page',
    description: 'Pages are below this address. Each is also Markdown: `/docs/webhooks.md`.',
    auth: 'none',
    success: { status: 200, description: 'An HTML page.', schema: z.string(), contentType: 'text/html' },
    handler: async ({ header }) => docs.start(header),
  });
  // People open the bare address in a browser.
  const rootRoute = defineRoute({
    method: 'GET',
    path: '/',
    operationId: 'getRoot',
    tag: 'Service',
    summary: 'Redirect to the documentation',
    auth: 'none',
    success: { status: 303, description: 'Redirects to /docs.', schema: z.string() },
    handler: async ({ context }) => ({ body: '', headers: { Location: `${context.publicUrl}/docs` } }),
  });
  return [rootRoute, openApiRoute, docsRoute, ...modelRoutes(docs)];
}

/** Returns the routes of the documentation for models (llmstxt.org). */
function modelRoutes(docs: Pick<DocsSite, 'forModels'>): Route[] {
  const facts = { method: 'GET', tag: 'Service', auth: 'none' } as const;
  const text = { status: 200, description: 'Markdown.', schema: z.string(), contentType: 'text/plain' };
  return [
    defineRoute({
      ...facts,
      path: '/llms.txt',
      operationId: 'getLlmsIndex',
      summary: 'The index of the documentation for models',
      success: text,
      handler: async ({ header }) => docs.forModels('llms.txt', header),
    }),
    defineRoute({
      ...facts,
      path: '/llms-full.txt',
      operationId: 'getLlmsText',
      summary: 'The documentation for models as one text',
      description:
        'Less than 100,000 tokens: without the tables of fields, whose pages the text names at its beginning.',
      success: text,
      handler: async ({ header }) => docs.forModels('llms-full.txt', header),
    }),
  ];
}

/**
 * Renders the OpenAPI document at the first request, because that takes tens of milliseconds and it changes only with a
 * release.
 */
function describedOnce(routes: () => Route[]) {
  let stored: { publicUrl: string; document: StoredDocument } | undefined;
  return ({ publicUrl }: Pick<Base, 'publicUrl'>): StoredDocument => {
    if (stored?.publicUrl === publicUrl) return stored.document;
    const text = JSON.stringify(openApiDocument(routes(), publicUrl));
    const document = storeDocument(text, { 'Content-Type': 'application/json; charset=utf-8' });
    stored = { publicUrl, document };
    return document;
  };
}
