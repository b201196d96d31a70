import { z } from 'zod';
import { isoTime } from '../../lib/clock.ts';
import { connectorsOf } from '../../workflows/workflow-definition.ts';
import { diffVersions, versionDiffShape } from '../../workflows/diff.ts';
import {
  addVersion,
  createWorkflow,
  deleteWorkflow,
  listVersions,
  listWorkflows,
  publishVersion,
  requireVersion,
  requireWorkflow,
  type Version,
  type Workflow,
} from '../../workflows/workflow-records.ts';
import { defineRoute } from '../server/route.ts';
import { label } from '../../lib/label.ts';
import { cursorQuery, deleted, pageOf, toCursorPage } from '../server/shapes.ts';
import {
  definitionBody,
  ofOperator,
  version,
  versionNumber,
  workflow,
  workflowParams,
} from './workflow-shapes.ts';

const name = label(100).meta({ description: 'Unique in the environment, case-insensitive.' });
const draft = z.boolean().default(false).meta({
  description:
    'Whether to store a draft. A draft can be tested. The next version replaces it, and no installation moves to it.',
});
const versionParams = workflowParams.extend({ version: versionNumber });

export const createWorkflowRoute = defineRoute({
  ...ofOperator,
  method: 'POST',
  path: '/workflows',
  operationId: 'createWorkflow',
  summary: 'Define a workflow',
  description:
    'A trigger, steps, and what an end user may configure. In `input`, a string that begins with `=` is a JSONata ' +
    'expression over `trigger`, `steps`, `config` and `user`; `==` begins a literal `=`. Faults are reported by their path.',
  scope: 'workflows:write',
  body: z.strictObject({ name, definition: definitionBody, draft }),
  success: { status: 201, description: 'The workflow, with version 1.', schema: workflow },
  errors: ['workflow_exists'],
  audited: true,
  async handler({ context, caller, body }) {
    const made = view(await createWorkflow(context, { environment: caller.environment, ...body }));
    return { body: made, auditTarget: made.workflowId };
  },
});

export const listWorkflowsRoute = defineRoute({
  ...ofOperator,
  method: 'GET',
  path: '/workflows',
  operationId: 'listWorkflows',
  summary: 'List workflows',
  scope: 'workflows:read',
  query: z.strictObject(cursorQuery),
  success: { status: 200, description: 'A page, oldest first.', schema: pageOf(workflow) },
  async handler({ context, caller, query }) {
    const { workflows, ...end } = await listWorkflows(context.db, caller.environment, query);
    return { body: toCursorPage(workflows.map(view), end) };
  },
});

export const getWorkflowRoute = defineRoute({
  ...ofOperator,
  method: 'GET',
  path: '/workflows/{workflowId}',
  operationId: 'getWorkflow',
  summary: 'Read a workflow',
  scope: 'workflows:read',
  params: workflowParams,
  success: { status: 200, description: 'The workflow with its newest version.', schema: workflow },
  errors: ['workflow_not_found'],
  async handler({ context, caller, params }) {
    return { body: view(await requireWorkflow(context.db, caller.environment, params.workflowId)) };
  },
});

export const deleteWorkflowRoute = defineRoute({
  ...ofOperator,
  method: 'DELETE',
  path: '/workflows/{workflowId}',
  operationId: 'deleteWorkflow',
  summary: 'Delete a workflow',
  description: 'Also deletes its versions, installations and runs. A step under way is finished.',
  scope: 'workflows:write',
  params: workflowParams,
  success: deleted('workflowId', 'The workflow is deleted.'),
  errors: ['workflow_not_found'],
  audited: true,
  async handler({ context, caller, params: { workflowId } }) {
    await deleteWorkflow(context, caller.environment, workflowId);
    return { body: { message: 'The workflow was deleted.', workflowId } };
  },
});

export const addVersionRoute = defineRoute({
  ...ofOperator,
  method: 'POST',
  path: '/workflows/{workflowId}/versions',
  operationId: 'addWorkflowVersion',
  summary: 'Publish a new version, or store a draft',
  description:
    'A published version never changes. Installations keep their version until they are upgraded. A draft has the next ' +
    'number, and the next version replaces it.',
  scope: 'workflows:write',
  params: workflowParams,
  body: z.strictObject({ definition: definitionBody, draft }),
  success: { status: 201, description: 'The version.', schema: version },
  errors: ['workflow_not_found'],
  audited: true,
  async handler({ context, caller, params, body }) {
    const made = await addVersion(context, { environment: caller.environment, ...params, ...body });
    return { body: viewVersion(made) };
  },
});

export const listVersionsRoute = defineRoute({
  ...ofOperator,
  method: 'GET',
  path: '/workflows/{workflowId}/versions',
  operationId: 'listWorkflowVersions',
  summary: 'List the versions of a workflow',
  scope: 'workflows:read',
  params: workflowParams,
  query: z.strictObject(cursorQuery),
  success: { status: 200, description: 'A page, newest first.', schema: pageOf(version) },
  errors: ['workflow_not_found'],
  async handler({ context, caller, params: { workflowId }, query }) {
    await requireWorkflow(context.db, caller.environment, workflowId);
    const { versions, ...end } = await listVersions(context.db, workflowId, query);
    return { body: toCursorPage(versions.map(viewVersion), end) };
  },
});

export const getVersionRoute = defineRoute({
  ...ofOperator,
  method: 'GET',
  path: '/workflows/{workflowId}/versions/{version}',
  operationId: 'getWorkflowVersion',
  summary: 'Read a version',
  scope: 'workflows:read',
  params: versionParams,
  success: { status: 200, description: 'The version.', schema: version },
  errors: ['workflow_not_found', 'workflow_version_not_found'],
  async handler({ context, caller, params }) {
    const { workflowId, version: number } = params;
    return {
      body: viewVersion(
        await requireVersion(context.db, { environment: caller.environment, workflowId, version: number }),
      ),
    };
  },
});

export const publishVersionRoute = defineRoute({
  ...ofOperator,
  method: 'POST',
  path: '/workflows/{workflowId}/versions/{version}/publish',
  operationId: 'publishWorkflowVersion',
  summary: 'Publish a draft',
  scope: 'workflows:write',
  params: versionParams,
  success: { status: 200, description: 'The published version, which never changes.', schema: version },
  errors: ['workflow_not_found', 'workflow_version_not_found'],
  audited: true,
  async handler({ context, caller, params }) {
    return {
      body: viewVersion(await publishVersion(context, { environment: caller.environment, ...params })),
    };
  },
});

export const diffVersionsRoute = defineRoute({
  ...ofOperator,
  method: 'GET',
  path: '/workflows/{workflowId}/versions/{a}/diff/{b}',
  operationId: 'diffWorkflowVersions',
  summary: 'Compare two versions',
  scope: 'workflows:read',
  params: workflowParams.extend({ a: versionNumber, b: versionNumber }),
  success: {
    status: 200,
    description: 'The differences, and whether installations can be upgraded.',
    schema: versionDiffShape,
  },
  errors: ['workflow_not_found', 'workflow_version_not_found'],
  async handler({ context, caller, params: { workflowId, a, b } }) {
    const from = await requireVersion(context.db, {
      environment: caller.environment,
      workflowId,
      version: a,
    });
    const to = await requireVersion(context.db, { environment: caller.environment, workflowId, version: b });
    return { body: diffVersions(from, to) };
  },
});

export function view(record: Workflow) {
  const { version: number, draft: isDraft, definition } = record.latest;
  return {
    workflowId: record.workflowId,
    name: record.name,
    version: number,
    draft: isDraft,
    definition,
    connectors: connectorsOf(definition),
    createdAt: isoTime(record.createdAt),
    updatedAt: isoTime(record.updatedAt),
  };
}

function viewVersion({ version: number, draft: isDraft, definition, createdAt }: Version) {
  return {
    version: number,
    draft: isDraft,
    definition,
    connectors: connectorsOf(definition),
    createdAt: isoTime(createdAt),
  };
}
