import { z } from 'zod';
import { eventScope } from '../../connectors/event-scopes.ts';
import { requireConnector } from '../../connectors/catalog.ts';
import { isoTime } from '../../lib/clock.ts';
import { invalidRequest } from '../../lib/errors.ts';
import {
  deleteFieldMapping,
  listFieldMappings,
  saveFieldMapping,
  type FieldMapping,
} from '../../unified/field-mappings.ts';
import { defineRoute } from '../server/route.ts';
import { cursorQuery, deleted, pageOf, time, toCursorPage } from '../server/shapes.ts';
import { connectionOf } from './unified.ts';

/** The custom fields of a level: name → expression. */
export const mappedFields = z
  .record(
    z.string().regex(/^[a-zA-Z_][a-zA-Z0-9_]{0,63}$/, 'must be a name such as loyaltyLevel'),
    z.string().min(1).max(2000),
  )
  .refine((fields) => Object.keys(fields).length <= 100, 'must hold at most 100 fields');

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
    fields: mappedFields,
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

function describe({ credentialId, createdAt, updatedAt, ...rest }: FieldMapping): z.input<typeof mapping> {
  return {
    ...rest,
    connectionId: credentialId,
    createdAt: isoTime(createdAt),
    updatedAt: isoTime(updatedAt),
  };
}
