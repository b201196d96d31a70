import { z } from 'zod';
import { importOptions, openApiDocument } from '../../../custom/import-request.ts';
import { changeImported, createImported } from '../../../custom/imports.ts';
import { makeFromSource } from '../../../custom/make.ts';
import { changeConnector, createConnector } from '../../../custom/custom-records.ts';
import type { ConnectorKey } from '../../../custom/custom-rows.ts';
import { MIB } from '../../../lib/http/http-body.ts';
import { changeRemote, createRemote } from '../../../remote/remote-records.ts';
import type { RouteInput } from '../../server/route.ts';
import { jsonObject } from '../../server/shapes.ts';
import { remoteReport, remoteServer } from './remote-servers.ts';

/* The three forms in which a request brings a custom connector: a connector file, an OpenAPI document, an MCP server. */

export const connectorBody = z
  .strictObject({
    definition: z
      .union([z.string(), jsonObject], 'must be an object, or the text of a connector file')
      .optional(),
    openapi: openApiDocument.optional(),
    mcp: remoteServer.optional(),
    ...importOptions,
  })
  .refine(
    ({ definition, openapi, mcp }) =>
      [definition, openapi, mcp].filter((form) => form !== undefined).length === 1,
    'must have exactly one of definition, openapi and mcp',
  )
  .refine(
    ({ openapi, acceptBreaking }) => openapi !== undefined || acceptBreaking === undefined,
    'acceptBreaking is for openapi',
  );
export type ConnectorBody = z.output<typeof connectorBody>;

/**
 * A body over 1 MiB is an OpenAPI document, which the process of the import parses. The command line of this machine
 * reads documents of 64 MiB.
 */
export const LARGE_IMPORT = { maxBytes: 10 * MIB, localMaxBytes: 65 * MIB, body: {} };

const openApiReport = z
  .object({
    operations: z.int().meta({ description: 'Operations in the document.' }),
    imported: z.int().meta({ description: 'Operations that became actions.' }),
    notChosen: z.int().meta({ description: 'Operations that `include` does not choose.' }),
    leftOut: z
      .array(z.object({ operation: z.string(), reason: z.string() }))
      .meta({ description: 'Chosen operations that no action can call.' }),
    approximated: z
      .array(z.object({ place: z.string(), what: z.string() }))
      .meta({ description: 'Parts of the document that the connector has in another form.' }),
    moreEntries: z.int().meta({ description: 'Number of entries that the two lists do not have.' }),
  })
  .meta({
    id: 'OpenApiReport',
    description: 'Operations and parts of a document that an import left out or changed.',
  });

const changes = z
  .object({
    added: z.array(z.string()).meta({ description: 'Ids of new actions.' }),
    removed: z.array(z.string()).meta({ description: 'Ids of actions that are gone.' }),
    changed: z
      .array(z.object({ actionId: z.string(), differences: z.array(z.string()) }))
      .meta({ description: 'Actions that differ, with sentences about how.' }),
    breaking: z.array(z.string()).meta({
      description: 'Changes after which calls or credentials of today fail.',
    }),
    moreEntries: z.int().meta({ description: 'Number of entries that the lists do not have.' }),
  })
  .meta({ id: 'ImportChanges', description: 'The difference from the version before.' });

export const changed = z.object({
  connectorId: z.string(),
  version: z.int().meta({
    description: 'Number of the newest version, from 1; 0 for a new connector that was only checked.',
  }),
  report: z.union([openApiReport, remoteReport]).optional(),
  changes: changes.optional(),
  breaking: changes.shape.breaking.optional(),
  pending: z.boolean().optional().meta({
    description: 'Whether the tools of a remote server are unknown until a user has connected an account.',
  }),
});

type Request = Pick<
  RouteInput<unknown, unknown, ConnectorBody>,
  'context' | 'caller' | 'body' | 'largeBody' | 'signal'
>;

/** Adds the connector of a request. */
export async function createFrom(request: Request) {
  const { context, caller, body } = request;
  const { environment, label } = caller;
  const { dryRun } = body;
  const document = documentOf(request);
  if (document) return createImported(context, environment, document);
  if (body.mcp) return createRemote(context, environment, { server: body.mcp, caller: label, dryRun });
  const { definition: source = '' } = body;
  return createConnector(context, environment, {
    caller: label,
    dryRun,
    make: (before) => makeFromSource(context, environment, { source, kind: 'definition', before }),
  });
}

/** Changes a connector to that of a request. */
export async function changeTo(request: Request, key: ConnectorKey) {
  const { context, caller, body } = request;
  const { dryRun } = body;
  const document = documentOf(request);
  if (document) return changeImported(context, key, document);
  if (body.mcp) return changeRemote(context, key, { server: body.mcp, caller: caller.label, dryRun });
  const { definition: source = '' } = body;
  const { connectorId: id, environment } = key;
  const { connectorId, version } = await changeConnector(context, key, {
    caller: caller.label,
    dryRun,
    make: (before) => makeFromSource(context, environment, { id, source, kind: 'definition', before }),
  });
  return { connectorId, version };
}

/** Returns the document of a request, in the form that the process of the import parses. */
export function documentOf({ body, largeBody, caller, signal }: Omit<Request, 'context'>) {
  if (!largeBody && !body.openapi) return undefined;
  return { body: largeBody ?? JSON.stringify(body), caller: caller.label, signal };
}
