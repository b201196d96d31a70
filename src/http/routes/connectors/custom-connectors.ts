import { z } from 'zod';
import { compareVersions } from '../../../custom/compare-versions.ts';
import { valueOf } from '../../../custom/custom-definition.ts';
import { overlayIn, sourceOf } from '../../../custom/parts.ts';
import { deleteConnector, requireStored, requireVersion } from '../../../custom/custom-records.ts';
import {
  listStored,
  listVersions,
  type Stored,
  type Version,
  type VersionFacts,
} from '../../../custom/custom-rows.ts';
import type { Context } from '../../context.ts';
import { changed, changeTo, connectorBody, createFrom, LARGE_IMPORT } from './connector-sources.ts';
import { overlayView } from './connector-overlays.ts';
import { remoteView, viewRemote } from './remote-servers.ts';
import { isoTime } from '../../../lib/clock.ts';
import { retrySources } from '../../../sources/due-sources.ts';
import { defineRoute } from '../../server/route.ts';
import { cursorQuery, deleted, pageOf, time, toCursorPage } from '../../server/shapes.ts';
import { versionNumber } from '../workflow-shapes.ts';

const common = { tag: 'Custom connectors', auth: 'api_key' } as const;
const params = z.strictObject({ connectorId: z.string() });

const facts = {
  connectorId: z.string(),
  version: z.int(),
  name: z.string(),
  kind: z.enum(['definition', 'mcp', 'openapi']).meta({
    description:
      'Form of its source: `definition` is a connector file, `mcp` a remote MCP server, `openapi` an imported document.',
  }),
  origins: z.array(z.string()).meta({
    description: 'Where its credentials are sent. Credentials of other origins are refused.',
  }),
};
const connector = z
  .object({
    ...facts,
    description: z.string(),
    categories: z.array(z.string()),
    hiddenBy: z.enum(['shipped', 'folder']).nullable().meta({
      description: 'Place of a connector with its id that is used instead; null when there is none.',
    }),
    createdAt: time,
    updatedAt: time,
  })
  .meta({ id: 'CustomConnector', description: 'A custom connector with its newest version.' });
const given = {
  definition: z.record(z.string(), z.unknown()).meta({
    description: 'The connector file, without the changes of the overlay.',
  }),
  overlay: overlayView,
  text: z.string().nullable().meta({ description: 'Its YAML text as it was sent; null for an object.' }),
};
const version = z
  .object({
    ...facts,
    createdAt: time,
    createdBy: z.string().meta({ description: 'Caller that sent it: `key:<keyId>`.' }),
  })
  .meta({ id: 'CustomConnectorVersion', description: 'A version of a custom connector.' });
const value = z.unknown().optional();
const difference = z
  .object({
    path: z.string().meta({ description: 'Dotted path of the member.' }),
    change: z.enum(['added', 'removed', 'changed']),
    before: value.meta({ description: 'The value in the first version.' }),
    after: value.meta({ description: 'The value in the second version.' }),
  })
  .meta({ id: 'ConnectorDifference', description: 'A member that differs between two versions.' });

export const createCustomConnectorRoute = defineRoute({
  ...common,
  method: 'POST',
  path: '/api/connectors',
  operationId: 'createCustomConnector',
  summary: 'Add a custom connector',
  description:
    'Adds an app to this environment without a restart. Every process uses it within a second. It cannot have the id of ' +
    'a shipped connector, reach private addresses, or bring prompts, resources and bare tool names.',
  scope: 'connectors:write',
  body: connectorBody,
  isDocument: true,
  largeBody: LARGE_IMPORT,
  success: { status: 201, description: 'The id and the version.', schema: changed },
  otherwise: { status: 200, description: 'With `dryRun`: the report. Nothing was stored.', schema: changed },
  errors: ['connector_exists', 'limit_reached', 'payload_too_large'],
  audited: true,
  async handler(input) {
    const { context, caller } = input;
    const { environment } = caller;
    const body = await createFrom(input);
    if (body.version === 0) return { status: 200, body, auditTarget: body.connectorId };
    await retrySources(context, { environment, ...body });
    return { status: 201, body, auditTarget: body.connectorId };
  },
});

export const listCustomConnectorsRoute = defineRoute({
  ...common,
  method: 'GET',
  path: '/api/connectors',
  operationId: 'listCustomConnectors',
  summary: 'List the custom connectors',
  description: 'GET /connectors lists these together with the shipped ones and those of the folder.',
  scope: 'connectors:read',
  query: z.strictObject(cursorQuery),
  success: { status: 200, description: 'A page, by id.', schema: pageOf(connector) },
  async handler({ context, caller, query }) {
    const { connectors, ...end } = await listStored(context.db, caller.environment, query);
    return {
      body: toCursorPage(
        connectors.map((one) => view(context, one)),
        end,
      ),
    };
  },
});

export const getCustomConnectorRoute = defineRoute({
  ...common,
  method: 'GET',
  path: '/api/connectors/{connectorId}',
  operationId: 'getCustomConnector',
  summary: 'Read a custom connector',
  scope: 'connectors:read',
  params,
  success: {
    status: 200,
    description: 'The connector and its file.',
    schema: connector.extend({ ...given, remote: remoteView }),
  },
  errors: ['connector_not_found'],
  async handler({ context, caller, params: { connectorId } }) {
    const key = { environment: caller.environment, connectorId };
    const stored = await requireStored(context.db, key);
    const newest = await requireVersion(context.db, { ...key, version: stored.version });
    const remote = await viewRemote(context, key);
    return { body: { ...view(context, stored), ...sourceView(newest), remote } };
  },
});

export const putCustomConnectorRoute = defineRoute({
  ...common,
  method: 'PUT',
  path: '/api/connectors/{connectorId}',
  operationId: 'putCustomConnector',
  summary: 'Change a custom connector',
  description:
    'Stores a new version, which every process uses within a second. An equal definition makes no version. The overlay ' +
    'stays. Credentials work on only while the connector sends them to no other origin. An OpenAPI document that breaks ' +
    'callers is refused, unless `acceptBreaking` is true.',
  scope: 'connectors:write',
  params,
  body: connectorBody,
  isDocument: true,
  largeBody: LARGE_IMPORT,
  success: { status: 200, description: 'The id and the newest version.', schema: changed },
  errors: ['connector_not_found', 'breaking_changes', 'payload_too_large'],
  audited: true,
  async handler(input) {
    const { context, caller, params: named } = input;
    const key = { environment: caller.environment, ...named };
    const body = await changeTo(input, key);
    await retrySources(context, key);
    return { body };
  },
});

export const deleteCustomConnectorRoute = defineRoute({
  ...common,
  method: 'DELETE',
  path: '/api/connectors/{connectorId}',
  operationId: 'deleteCustomConnector',
  summary: 'Delete a custom connector',
  description:
    'Its credentials, subscriptions and workflows stay. They work again when a connector with this id returns that sends ' +
    'credentials to the same origins.',
  scope: 'connectors:write',
  params,
  success: deleted('connectorId', 'The connector is deleted.'),
  errors: ['connector_not_found'],
  audited: true,
  async handler({ context, caller, params: { connectorId } }) {
    await deleteConnector(context, { environment: caller.environment, connectorId });
    return { body: { message: 'The connector was deleted.', connectorId } };
  },
});

export const listConnectorVersionsRoute = defineRoute({
  ...common,
  method: 'GET',
  path: '/api/connectors/{connectorId}/versions',
  operationId: 'listConnectorVersions',
  summary: 'List the versions of a custom connector',
  scope: 'connectors:read',
  params,
  query: z.strictObject(cursorQuery),
  success: { status: 200, description: 'A page, newest first.', schema: pageOf(version) },
  errors: ['connector_not_found'],
  async handler({ context, caller, params: { connectorId }, query }) {
    const key = { environment: caller.environment, connectorId };
    await requireStored(context.db, key);
    const { versions, ...end } = await listVersions(context.db, key, query);
    return { body: toCursorPage(versions.map(versionView), end) };
  },
});

export const getConnectorVersionRoute = defineRoute({
  ...common,
  method: 'GET',
  path: '/api/connectors/{connectorId}/versions/{version}',
  operationId: 'getConnectorVersion',
  summary: 'Read a version of a custom connector',
  scope: 'connectors:read',
  params: params.extend({ version: versionNumber }),
  success: { status: 200, description: 'The version and its file.', schema: version.extend(given) },
  errors: ['connector_not_found', 'connector_version_not_found'],
  async handler({ context, caller, params: named }) {
    const found = await requireVersion(context.db, { environment: caller.environment, ...named });
    return { body: { ...versionView(found), ...sourceView(found) } };
  },
});

export const diffConnectorVersionsRoute = defineRoute({
  ...common,
  method: 'GET',
  path: '/api/connectors/{connectorId}/versions/{a}/diff/{b}',
  operationId: 'diffConnectorVersions',
  summary: 'Compare two versions of a custom connector',
  scope: 'connectors:read',
  params: params.extend({ a: versionNumber, b: versionNumber }),
  success: {
    status: 200,
    description: 'The differences of b from a. Left-out members are compared with their defaults.',
    schema: z.object({
      connectorId: z.string(),
      from: z.int().meta({ description: 'Number of the first version.' }),
      to: z.int().meta({ description: 'Number of the second version.' }),
      added: z.array(z.string()).meta({ description: 'Ids of new actions.' }),
      removed: z.array(z.string()).meta({ description: 'Ids of actions that are gone.' }),
      changed: z
        .array(z.object({ actionId: z.string(), differences: z.array(difference) }))
        .meta({ description: 'Actions that differ.' }),
      file: z.array(difference).meta({ description: 'Differences outside of actions.' }),
      truncated: z.boolean().meta({ description: 'Whether more than 1,000 differences exist.' }),
    }),
  },
  errors: ['connector_not_found', 'connector_version_not_found'],
  async handler({ context, caller, params: { connectorId, a, b } }) {
    const key = { environment: caller.environment, connectorId };
    const from = await requireVersion(context.db, { ...key, version: a });
    const to = await requireVersion(context.db, { ...key, version: b });
    return { body: compareVersions(from, to) };
  },
});

function view({ catalog }: Pick<Context, 'catalog'>, stored: Stored) {
  const { head } = stored;
  return {
    ...factsView(stored),
    description: head.description,
    categories: head.categories,
    hiddenBy: catalog.holderOf(stored.connectorId) ?? null,
    createdAt: isoTime(stored.firstAt),
    updatedAt: isoTime(stored.updatedAt),
  };
}

function versionView(one: VersionFacts) {
  return { ...factsView(one), createdAt: isoTime(one.createdAt), createdBy: one.createdBy };
}

function factsView({ connectorId, version: number, head, kind, origins }: VersionFacts) {
  return { connectorId, version: number, name: head.name, kind, origins };
}

function sourceView({ source: column, overlay }: Version) {
  const source = sourceOf(column);
  return {
    definition: valueOf(source),
    text: typeof source === 'string' ? source : null,
    overlay: overlayIn(overlay) ?? null,
  };
}
