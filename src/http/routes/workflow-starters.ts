import { z } from 'zod';
import { createWorkflow } from '../../workflows/workflow-records.ts';
import {
  definitionOfStarter,
  requireStarter,
  roleSchema,
  starters,
  type Starter,
} from '../../workflows/starters.ts';
import { defineRoute } from '../server/route.ts';
import { label } from '../../lib/label.ts';
import { ofOperator, workflow } from './workflow-shapes.ts';
import { view } from './workflows.ts';

const starter = z
  .object({
    starterId: z.string(),
    name: z.string(),
    description: z.string(),
    roles: z.record(z.string(), roleSchema.extend({ description: z.string() })),
    definition: z
      .record(z.string(), z.unknown())
      .meta({ description: 'The definition with its default roles.' }),
  })
  .meta({ id: 'WorkflowStarter', description: 'A workflow that comes with Gatehouse.' });
const params = z.strictObject({ starterId: z.string() });

export const listStartersRoute = defineRoute({
  ...ofOperator,
  method: 'GET',
  path: '/workflow-starters',
  operationId: 'listWorkflowStarters',
  summary: 'List workflows that come with Gatehouse',
  scope: 'workflows:read',
  success: { status: 200, description: 'All starters.', schema: z.object({ data: z.array(starter) }) },
  async handler() {
    return { body: { data: (await starters()).map(viewStarter) } };
  },
});

export const getStarterRoute = defineRoute({
  ...ofOperator,
  method: 'GET',
  path: '/workflow-starters/{starterId}',
  operationId: 'getWorkflowStarter',
  summary: 'Read a starter',
  scope: 'workflows:read',
  params,
  success: { status: 200, description: 'The starter.', schema: starter },
  errors: ['starter_not_found'],
  async handler({ params: { starterId } }) {
    return { body: viewStarter(await requireStarter(starterId)) };
  },
});

export const createFromStarterRoute = defineRoute({
  ...ofOperator,
  method: 'POST',
  path: '/workflow-starters/{starterId}',
  operationId: 'createWorkflowFromStarter',
  summary: 'Create a workflow from a starter',
  description:
    'Assigns an app and its action to each role: `{"messenger": {"connectorId": "…", "actionId": "…", ' +
    '"input": {…}}}`. Other parts stay unchanged.',
  scope: 'workflows:write',
  params,
  body: z
    .strictObject({
      name: label(100).optional(),
      roles: z.record(z.string(), roleSchema.partial()).default({}),
    })
    .default({ roles: {} }),
  success: { status: 201, description: 'The workflow, with version 1.', schema: workflow },
  errors: ['starter_not_found', 'workflow_exists'],
  audited: true,
  async handler({ context, caller, params: { starterId }, body }) {
    const found = await requireStarter(starterId);
    const made = await createWorkflow(context, {
      environment: caller.environment,
      name: body.name ?? found.name,
      definition: definitionOfStarter(found, body.roles),
    });
    return { body: view(made) };
  },
});

function viewStarter(one: Starter) {
  return { ...one, definition: definitionOfStarter(one) };
}
