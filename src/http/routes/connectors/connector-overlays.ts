import { z } from 'zod';
import { readOverlay, saveOverlay } from '../../../custom/overlays.ts';
import { defineRoute } from '../../server/route.ts';
import { jsonObject } from '../../server/shapes.ts';

const common = { tag: 'Custom connectors', auth: 'api_key' } as const;
const path = '/api/connectors/{connectorId}/overlay';
const params = z.strictObject({ connectorId: z.string() });

export const overlayView = z
  .record(z.string(), z.unknown())
  .nullable()
  .meta({
    description: 'The changes by the operator, as a merge patch (RFC 7396); null: none.',
    example: { actions: { add_note: { effect: 'write' }, erase: null } },
  });
const stored = z
  .object({
    connectorId: z.string(),
    version: z.int().meta({ description: 'Number of the newest version.' }),
    overlay: overlayView,
    unused: z.array(z.string()).meta({
      description: 'Ids of actions that the overlay changes and the connector does not have now.',
    }),
  })
  .meta({ id: 'ConnectorOverlay', description: 'The changes of an operator to a custom connector.' });

export const getOverlayRoute = defineRoute({
  ...common,
  method: 'GET',
  path,
  operationId: 'getConnectorOverlay',
  summary: 'Read the overlay of a custom connector',
  scope: 'connectors:read',
  params,
  success: { status: 200, description: 'The overlay.', schema: stored },
  errors: ['connector_not_found'],
  async handler({ context, caller, params: { connectorId } }) {
    return { body: await readOverlay(context, { environment: caller.environment, connectorId }) };
  },
});

export const putOverlayRoute = defineRoute({
  ...common,
  method: 'PUT',
  path,
  operationId: 'putConnectorOverlay',
  summary: 'Change a custom connector over its imports',
  description:
    'The body has the form of a connector file, and is merged into it (RFC 7396): objects member by member, `null` ' +
    'removes a member, and any other value replaces it. It makes a version, and stays when the document or the tools ' +
    'are imported again. It can set effects and descriptions of the tools of a remote MCP server, and hide tools.',
  scope: 'connectors:write',
  isDocument: true,
  params,
  body: jsonObject.meta({
    description: 'The changes.',
    example: { actions: { add_note: { effect: 'write' }, erase: null } },
  }),
  success: { status: 200, description: 'The overlay and the newest version.', schema: stored },
  errors: ['connector_not_found'],
  audited: true,
  async handler({ context, caller, params: { connectorId }, body: overlay }) {
    const key = { environment: caller.environment, connectorId };
    return { body: await saveOverlay(context, key, { overlay, caller: caller.label }) };
  },
});

export const deleteOverlayRoute = defineRoute({
  ...common,
  method: 'DELETE',
  path,
  operationId: 'deleteConnectorOverlay',
  summary: 'Remove the overlay of a custom connector',
  description: 'The connector is again as it was sent or imported.',
  scope: 'connectors:write',
  params,
  success: { status: 200, description: 'The newest version, without an overlay.', schema: stored },
  errors: ['connector_not_found'],
  audited: true,
  async handler({ context, caller, params: { connectorId } }) {
    const key = { environment: caller.environment, connectorId };
    return { body: await saveOverlay(context, key, { overlay: undefined, caller: caller.label }) };
  },
});
