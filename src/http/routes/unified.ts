import { z } from 'zod';
import type { EventScope } from '../../connectors/event-scopes.ts';
import { eventScope } from '../../connectors/events-format.ts';
import { requireConnector, type Connector } from '../../connectors/catalog.ts';
import type { Base } from '../../base.ts';
import type { Credential } from '../../credentials/credential.ts';
import { connectorOf, requireConnection } from '../../credentials/records.ts';
import type { Environment } from '../../store/environments.ts';
import { isoTime } from '../../lib/clock.ts';
import { GatehouseError, invalidRequest } from '../../lib/errors.ts';
import {
  deleteFieldMapping,
  listFieldMappings,
  saveFieldMapping,
  type FieldMapping,
} from '../../unified/field-mappings.ts';
import { unifiedRecord } from '../../unified/models.ts';
import { getUnified, listUnified } from '../../unified/read.ts';
import { defineRoute } from '../server/route.ts';
import { cursorQuery, deleted, pageOf, pageQuery, time, toCursorPage, toPage } from '../server/shapes.ts';

const connectionId = z.string().meta({ description: 'Id of a credential.' });
const scopeParams = { category: z.string(), model: z.string() };
const UPSTREAM = [
  'credential_not_found',
  'credential_invalid',
  'upstream_rejected',
  'upstream_rate_limited',
  'upstream_failed',
  'upstream_too_large',
  'upstream_timeout',
] as const;

export const listUnifiedRoute = defineRoute({
  method: 'GET',
  path: '/2023-03/one/{category}/{model}',
  operationId: 'listUnified',
  tag: 'Unified models',
  summary: 'List records of a connection in their unified form',
  description: '`commerce/customers`, `commerce/orders` and `commerce/products`, the same for every app.',
  auth: 'api_key',
  scope: 'unified:read',
  user: 'existing',
  params: z.strictObject(scopeParams),
  query: z.strictObject({ connectionId, ...pageQuery }),
  success: {
    status: 200,
    description: 'A page of records, in the order of the app.',
    schema: pageOf(unifiedRecord).extend({
      leftOut: z
        .array(z.object({ remoteId: z.string().nullable(), reason: z.string() }))
        .optional()
        .meta({ description: 'Records of the page that do not fit the model; absent when all fit.' }),
    }),
  },
  errors: [...UPSTREAM],
  async handler({ context, caller, requestId, params, query, userId, signal }) {
    const scope = scopeOf(params);
    const connection = await connectionOf(context, { ...query, environment: caller.environment, userId });
    const read = { ...connection, scope, caller: caller.label, requestId, signal };
    const { data, leftOut, hasMore } = await listUnified(context, read, query);
    // The next page begins after all records that the app returned.
    const { pagination } = toPage([...data, ...leftOut], hasMore, query.offset);
    return { body: { data, pagination, ...(leftOut.length > 0 ? { leftOut } : {}) } };
  },
});

export const getUnifiedRoute = defineRoute({
  method: 'GET',
  path: '/2023-03/one/{category}/{model}/{id}',
  operationId: 'getUnified',
  tag: 'Unified models',
  summary: 'Read a record of a connection in its unified form',
  auth: 'api_key',
  scope: 'unified:read',
  user: 'existing',
  params: z.strictObject({ ...scopeParams, id: z.string() }),
  query: z.strictObject({ connectionId }),
  success: { status: 200, description: 'The record.', schema: unifiedRecord },
  errors: ['record_not_found', ...UPSTREAM],
  async handler({ context, caller, requestId, params, query, userId, signal }) {
    const scope = scopeOf(params);
    const connection = await connectionOf(context, { ...query, environment: caller.environment, userId });
    const read = { ...connection, scope, caller: caller.label, requestId, signal };
    return { body: await getUnified(context, read, params.id) };
  },
});

const mapping = z
  .object({
    mappingId: z.string(),
    scope: eventScope,
    connectorId: z.string().nullable(),
    connectionId: z.string().nullable(),
    fields: z.record(z.string(), z.string()),
    createdAt: time,
    updatedAt: time,
  })
  .meta({ id: 'FieldMapping', description: 'Custom fields of a unified model.' });

export const putFieldMappingRoute = defineRoute({
  method: 'PUT',
  path: '/api/field-mappings',
  operationId: 'putFieldMapping',
  tag: 'Unified models',
  summary: 'Add custom fields to a unified model',
  description:
    'Each field is a JSONata expression over the record of the app (`raw`). It appears under `custom`. A ' +
    'mapping holds for the whole environment, for a connector, or for one connection; the narrower one ' +
    'wins. The level is replaced whole.',
  auth: 'api_key',
  scope: 'unified:write',
  body: z.strictObject({
    scope: eventScope,
    connectorId: z.string().optional(),
    connectionId: z.string().optional(),
    fields: z
      .record(
        z.string().regex(/^[a-zA-Z_][a-zA-Z0-9_]{0,63}$/, 'must be a name such as loyaltyLevel'),
        z.string().min(1).max(2000),
      )
      .refine((fields) => Object.keys(fields).length <= 100, 'must hold at most 100 fields'),
  }),
  success: { status: 200, description: 'The level as it is now.', schema: mapping },
  errors: ['connector_not_found', 'credential_not_found'],
  audited: true,
  async handler({ context, caller, body }) {
    const { environment } = caller;
    if (body.connectorId !== undefined) requireConnector(context, environment, body.connectorId);
    const connection =
      body.connectionId === undefined
        ? undefined
        : await connectionOf(context, { environment, connectionId: body.connectionId });
    if (connection && body.connectorId !== undefined && connection.connector.connectorId !== body.connectorId)
      throw invalidRequest([{ field: 'connectorId', rule: 'is not the connector of that connection' }]);
    const saved = await saveFieldMapping(context, environment, {
      scope: body.scope,
      connectorId: connection?.connector.connectorId ?? body.connectorId,
      credentialId: body.connectionId,
      fields: body.fields,
    });
    return { body: describe(saved) };
  },
});

export const listFieldMappingsRoute = defineRoute({
  method: 'GET',
  path: '/api/field-mappings',
  operationId: 'listFieldMappings',
  tag: 'Unified models',
  summary: 'List custom fields of unified models',
  auth: 'api_key',
  scope: 'unified:read',
  query: z.strictObject(cursorQuery),
  success: { status: 200, description: 'A page of levels, oldest first.', schema: pageOf(mapping) },
  async handler({ context, caller, query }) {
    const { mappings, ...end } = await listFieldMappings(context.db, caller.environment, query);
    return { body: toCursorPage(mappings.map(describe), end) };
  },
});

export const deleteFieldMappingRoute = defineRoute({
  method: 'DELETE',
  path: '/api/field-mappings/{mappingId}',
  operationId: 'deleteFieldMapping',
  tag: 'Unified models',
  summary: 'Remove a level of custom fields',
  auth: 'api_key',
  scope: 'unified:write',
  params: z.strictObject({ mappingId: z.string() }),
  success: deleted('mappingId', 'The level is deleted.'),
  errors: ['field_mapping_not_found'],
  audited: true,
  async handler({ context, caller, params: { mappingId } }) {
    await deleteFieldMapping(context.db, caller.environment, mappingId);
    return { body: { message: 'The field mapping was deleted.', mappingId } };
  },
});

function scopeOf({ category, model }: { category: string; model: string }): EventScope {
  const scope = eventScope.safeParse(`${category}/${model}`);
  if (scope.success) return scope.data;
  throw new GatehouseError(
    'not_found',
    `There is no unified model "${`${category}/${model}`.slice(0, 64)}".`,
  );
}

/**
 * Returns the connection of a request with its connector. With `userId`, it must belong to that user. @throws
 * `credential_not_found`
 */
export async function connectionOf(
  context: Pick<Base, 'db' | 'catalog'>,
  asked: { environment: Environment; connectionId: string; userId?: string | undefined },
): Promise<{ credential: Credential; connector: Connector }> {
  const { environment, connectionId, userId } = asked;
  const credential = await requireConnection(context.db, { environment, credentialId: connectionId, userId });
  return { credential, connector: connectorOf(context, credential) };
}

function describe({ credentialId, createdAt, updatedAt, ...rest }: FieldMapping): z.input<typeof mapping> {
  return {
    ...rest,
    connectionId: credentialId,
    createdAt: isoTime(createdAt),
    updatedAt: isoTime(updatedAt),
  };
}
