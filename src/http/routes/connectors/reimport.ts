import { z } from 'zod';
import { importOptions, openApiDocument } from '../../../custom/import-request.ts';
import { changeImported } from '../../../custom/imports.ts';
import { readAgain } from '../../../remote/remote-records.ts';
import { retrySources } from '../../../sources/due-sources.ts';
import { defineRoute } from '../../server/route.ts';
import { changed, documentOf, LARGE_IMPORT } from './connector-sources.ts';

export const reimportConnectorRoute = defineRoute({
  tag: 'Custom connectors',
  auth: 'api_key',
  method: 'POST',
  path: '/api/connectors/{connectorId}/reimport',
  operationId: 'reimportConnector',
  summary: 'Import a connector again',
  description:
    'Without a body, reads the tools of a remote MCP server. Changed tools make a version. Gatehouse also does this ' +
    'every five minutes, and when the server reports a change. With `openapi`, imports the document as PUT does.',
  scope: 'connectors:write',
  params: z.strictObject({ connectorId: z.string() }),
  body: z.strictObject({ openapi: openApiDocument.optional(), ...importOptions }),
  isDocument: true,
  largeBody: LARGE_IMPORT,
  success: {
    status: 200,
    description: 'The newest version, what the import left out, and what it breaks.',
    schema: changed,
  },
  errors: [
    'connector_not_found',
    'breaking_changes',
    'payload_too_large',
    'credential_invalid',
    'upstream_failed',
    'upstream_timeout',
  ],
  audited: true,
  async handler(input) {
    const { context, caller, params } = input;
    const key = { environment: caller.environment, ...params };
    const document = documentOf(input);
    if (!document) return { body: await readAgain(context, key, caller.label) };
    const body = await changeImported(context, key, document);
    await retrySources(context, key);
    return { body: { ...body, breaking: body.changes?.breaking ?? [] } };
  },
});
