import { z } from 'zod';
import {
  approveDefinitions,
  definitionChanges,
  keyOf,
  type DefinitionName,
} from '../../servers/approvals.ts';
import { invalidRequest } from '../../lib/errors.ts';
import { defineRoute } from '../server/route.ts';
import { pageOf, pageQuery, toPage } from '../server/shapes.ts';

const MAX_AT_ONCE = 1000;

const hash = z.string().nullable().meta({ description: 'SHA-256 in base64url; null when there is none.' });
const name = {
  connectorId: z.string(),
  actionId: z.string().optional(),
  promptId: z.string().optional(),
  resourceId: z.string().optional(),
};
const definition = z.record(z.string(), z.unknown()).nullable();

export const listDefinitionChangesRoute = defineRoute({
  method: 'GET',
  path: '/api/tools/changes',
  operationId: 'listDefinitionChanges',
  tag: 'Tool definitions',
  summary: 'List changed tool definitions',
  description:
    'Actions, prompts and resources that connectors bring, and what connectors say of themselves: texts, schemas, and where ' +
    'calls go. The first look at an environment approves what is installed; from then on every difference is here until it is approved.',
  auth: 'api_key',
  scope: 'tools:read',
  query: z.strictObject({ ...pageQuery, connectorId: z.string().max(32).optional() }),
  success: {
    status: 200,
    description: 'A page of changes, by connector and name.',
    schema: pageOf(
      z.object({
        ...name,
        change: z.enum(['added', 'changed', 'removed']),
        hash,
        approvedHash: hash,
        before: definition,
        after: definition,
      }),
    ),
  },
  async handler({ context, caller, query: { limit, offset, connectorId } }) {
    const all = await definitionChanges(context, caller.environment);
    const changes = all.filter((one) => connectorId === undefined || one.connectorId === connectorId);
    return {
      body: toPage(changes.slice(offset, offset + limit), changes.length > offset + limit, offset),
    };
  },
});

export const approveDefinitionsRoute = defineRoute({
  method: 'POST',
  path: '/api/tools/approve',
  operationId: 'approveDefinitions',
  tag: 'Tool definitions',
  summary: 'Approve definitions',
  description:
    'Servers with `pinTools` show them from then on. Each entry names the hash that was read, so a ' +
    'definition that changed since then is refused. Either all entries are approved or none. The audit log has an entry for each.',
  auth: 'api_key',
  scope: 'tools:approve',
  body: z.strictObject({
    tools: z
      .array(z.strictObject({ ...name, hash }))
      .min(1)
      .max(MAX_AT_ONCE),
  }),
  success: {
    status: 200,
    description: 'The number of approved definitions.',
    schema: z.object({ approved: z.int() }),
  },
  errors: ['definition_changed'],
  audited: true,
  async handler({ context, caller, body: { tools } }) {
    assertOneEach(tools);
    await approveDefinitions(context, caller.environment, tools);
    context.servers.forget();
    return { body: { approved: tools.length }, auditTarget: tools.map(targetOf) };
  },
});

/** Returns the name of a definition in the audit log, such as `sandbox.list_orders`. */
function targetOf(name: DefinitionName): string {
  return `${name.connectorId}.${keyOf(name)}`.replace(/\.connector:$/, '');
}

/** Rejects an entry that names two things. @throws GatehouseError `invalid_request` */
function assertOneEach(tools: DefinitionName[]): void {
  const faults = tools.flatMap(({ actionId, promptId, resourceId }, position) =>
    [actionId, promptId, resourceId].filter((id) => id !== undefined).length > 1
      ? [{ field: `tools.${position}`, rule: 'names an action, a prompt or a resource, one of them' }]
      : [],
  );
  if (faults.length > 0) throw invalidRequest(faults, 'The body');
}
