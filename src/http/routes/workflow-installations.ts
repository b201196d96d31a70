import { z } from 'zod';
import { withLink } from '../../connect/offer.ts';
import type { Context } from '../context.ts';
import { requireUser } from '../../identity/users.ts';
import { GatehouseError } from '../../lib/errors.ts';
import { settingsSchema } from '../../servers/environment-settings.ts';
import type { Environment } from '../../store/environments.ts';
import { formOf } from '../../workflows/config-form.ts';
import {
  definitionOf,
  describeInstallation,
  install,
  listInstallations,
  rotateHook,
  uninstall,
  updateInstallation,
} from '../../workflows/installations.ts';
import { requireWorkflow } from '../../workflows/workflow-records.ts';
import { rollback, upgrade, upgradeAll, upgradeReportShape, upgradeShape } from '../../workflows/upgrade.ts';
import { defineRoute } from '../server/route.ts';
import { cursorQuery, jsonObject, pageOf, toCursorPage } from '../server/shapes.ts';
import {
  CREDENTIAL_ERRORS,
  installation,
  keyOf,
  ofOperator,
  TAG,
  userQuery,
  workflowParams,
} from './workflow-shapes.ts';

const credentials = z
  .record(z.string().regex(/^[a-z0-9-]{1,32}$/, 'must be a connectorId'), z.string().min(1).max(64))
  .meta({ description: 'connectorId → credentialId. Default: the single active one of the user.' });
const config = jsonObject.meta({ description: "Checked against the version's configurableFields." });
const hookUrl = z.string().meta({ description: 'Address to POST to for starting a run. Shown only here.' });
const querySchema = z.strictObject(userQuery);
const NOT_FOUND = ['workflow_not_found', 'user_not_found', 'installation_not_found'] as const;

/** Properties of routes for a user's own installation. Pages and servers may call them. */
const ofUser = {
  path: '/workflows/{workflowId}/install',
  tag: TAG,
  auth: 'api_key_or_jwt',
  scope: 'workflows:install',
  apiVersion: true,
  cors: true,
  params: workflowParams,
  query: querySchema,
} as const;

/** Properties of routes that move installations to another version. */
const ofUpgrade = {
  ...ofOperator,
  scope: 'workflows:write',
  params: workflowParams,
  audited: true,
} as const;

export const getInstallFormRoute = defineRoute({
  ...ofUser,
  method: 'GET',
  operationId: 'getInstallForm',
  summary: 'Read the installation form',
  description: 'The configurable fields, and the accounts of the user for each app.',
  success: {
    status: 200,
    description: 'The form, and the installation if there is one.',
    schema: z.object({
      workflowId: z.string(),
      name: z.string(),
      version: z.int(),
      configurableFields: z.record(z.string(), z.unknown()),
      connectors: z.array(
        z.object({
          connectorId: z.string(),
          name: z.string(),
          iconUrl: z.string(),
          needsAccount: z.boolean(),
          credentials: z.array(z.object({ credentialId: z.string(), name: z.string() })),
        }),
      ),
      installation: installation.nullable(),
      branding: settingsSchema.shape.branding.unwrap().extend({ name: z.string() }),
      user: z.object({ username: z.string() }),
    }),
  },
  errors: ['workflow_not_found', 'user_not_found', 'workflow_version_not_found'],
  async handler({ context, caller, params, query }) {
    const key = keyOf(caller, params, query);
    return { body: await formOf(context, key) };
  },
});

export const installRoute = defineRoute({
  ...ofUser,
  method: 'POST',
  operationId: 'installWorkflow',
  summary: 'Install a workflow for an end user',
  description:
    'Installs the newest published version. If an account is missing: 409, with the link that connects it.',
  body: z.strictObject({ config: config.default({}), credentials: credentials.default({}) }),
  success: {
    status: 201,
    description: 'The installation, with its address for a `call` trigger.',
    schema: installation.extend({ hookUrl: hookUrl.optional() }).meta({
      id: 'InstallationWithHook',
      description: 'An installation, with the address of a call trigger.',
    }),
  },
  errors: [...NOT_FOUND, ...CREDENTIAL_ERRORS, 'workflow_version_not_found', 'installation_exists'],
  audited: true,
  async handler({ context, caller, params, query, body }) {
    const key = keyOf(caller, params, query);
    const made = await withConnectLink(context, key, install(context, key, body));
    const { row, definition } = made;
    return {
      body: {
        ...describeInstallation(context, row, definition),
        ...(made.hookUrl === undefined ? {} : { hookUrl: made.hookUrl }),
      },
    };
  },
});

export const updateInstallationRoute = defineRoute({
  ...ofUser,
  method: 'PUT',
  operationId: 'updateInstallation',
  summary: 'Change an installation',
  description:
    'Changes only the given members. Replaces `config` whole; [secret] keeps a secret field. Runs under way keep ' +
    'their configuration. A disabled installation starts no runs.',
  body: z.strictObject({
    config: config.optional(),
    credentials: credentials.optional(),
    enabled: z.boolean().optional(),
  }),
  success: { status: 200, description: 'The installation as it is now.', schema: installation },
  errors: [...NOT_FOUND, ...CREDENTIAL_ERRORS],
  audited: true,
  async handler({ context, caller, params, query, body }) {
    const key = keyOf(caller, params, query);
    const { row, definition } = await withConnectLink(context, key, updateInstallation(context, key, body));
    return { body: describeInstallation(context, row, definition) };
  },
});

export const uninstallRoute = defineRoute({
  ...ofUser,
  method: 'DELETE',
  operationId: 'uninstallWorkflow',
  summary: 'Uninstall a workflow for an end user',
  description: 'Cancels its runs under way. Their log stays.',
  success: {
    status: 200,
    description: 'The workflow is uninstalled.',
    schema: z.object({ message: z.string(), workflowId: z.string(), userId: z.string() }),
  },
  errors: [...NOT_FOUND],
  audited: true,
  async handler({ context, caller, params, query }) {
    const key = keyOf(caller, params, query);
    await uninstall(context, key);
    return { body: { message: 'The workflow was uninstalled.', ...params, userId: key.userId } };
  },
});

export const listInstallationsRoute = defineRoute({
  ...ofOperator,
  method: 'GET',
  path: '/workflows/{workflowId}/installations',
  operationId: 'listInstallations',
  summary: 'List installations of a workflow',
  scope: 'workflows:read',
  params: workflowParams,
  query: z.strictObject({ ...cursorQuery, ...userQuery }),
  success: { status: 200, description: 'A page, oldest first.', schema: pageOf(installation) },
  errors: ['workflow_not_found'],
  async handler({ context, caller, params: { workflowId }, query }) {
    await requireWorkflow(context.db, caller.environment, workflowId);
    const { rows, ...end } = await listInstallations(context.db, { workflowId, ...query });
    const data = [];
    for (const row of rows)
      data.push(describeInstallation(context, row, await definitionOf(context.db, row)));
    return { body: toCursorPage(data, end) };
  },
});

export const rotateHookRoute = defineRoute({
  ...ofUser,
  method: 'POST',
  path: '/workflows/{workflowId}/install/rotate-token',
  operationId: 'rotateWorkflowHook',
  cors: false,
  summary: 'Rotate the address of a call trigger',
  description: 'The old address stops working at once.',
  success: { status: 200, description: 'The new address.', schema: z.object({ hookUrl }) },
  errors: [...NOT_FOUND],
  audited: true,
  async handler({ context, caller, params, query }) {
    const key = keyOf(caller, params, query);
    return { body: { hookUrl: await rotateHook(context, key) } };
  },
});

export const upgradeRoute = defineRoute({
  ...ofUpgrade,
  method: 'PUT',
  path: '/workflows/{workflowId}/upgrade',
  operationId: 'upgradeWorkflow',
  summary: 'Upgrade an installed workflow for an end user',
  description:
    'Moves the installation to the newest version when that has the same configurable fields (names, types, formats, ' +
    'enums, required ones). Otherwise the user must install it again: `upgraded` is false, with the reason. Runs under way finish on the ' +
    'version they began with.',
  query: z.strictObject({
    userId: z.string().max(64).meta({ description: 'The end user.' }),
    dryRun: z
      .enum(['true', 'false'])
      .optional()
      .meta({ description: 'Whether to return the outcome without any change.' }),
  }),
  success: {
    status: 200,
    description: 'Whether it was upgraded.',
    schema: upgradeShape,
  },
  errors: [...NOT_FOUND, ...CREDENTIAL_ERRORS],
  async handler({ context, caller, params, query: { userId, dryRun } }) {
    const key = { environment: caller.environment, ...params, userId };
    return {
      body: await withConnectLink(context, key, upgrade(context, key, { dryRun: dryRun === 'true' })),
    };
  },
});

export const rollbackRoute = defineRoute({
  ...ofUpgrade,
  method: 'POST',
  path: '/workflows/{workflowId}/rollback',
  operationId: 'rollbackWorkflow',
  summary: 'Undo the last upgrade for an end user',
  query: z.strictObject({ userId: z.string().max(64) }),
  success: {
    status: 200,
    description: 'Whether it returned to the previous version.',
    schema: z.object({
      rolledBack: z.boolean(),
      from: z.int(),
      to: z.int(),
      reason: z.string().optional(),
    }),
  },
  errors: [...NOT_FOUND, ...CREDENTIAL_ERRORS],
  async handler({ context, caller, params, query: { userId } }) {
    const key = { environment: caller.environment, ...params, userId };
    return { body: await rollback(context, key) };
  },
});

export const upgradeAllRoute = defineRoute({
  ...ofUpgrade,
  method: 'POST',
  path: '/workflows/{workflowId}/upgrade-all',
  operationId: 'upgradeAllInstallations',
  summary: 'Upgrade the installations of a workflow, all or a part',
  description:
    'Upgrades each in its own transaction. A higher `percent` includes the users of a lower one, so a roll-out can be ' +
    '5, 25, 100. Rollback undoes it for one user.',
  body: z.strictObject({
    percent: z.number().min(0).max(100).default(100),
    dryRun: z.boolean().default(false),
  }),
  success: {
    status: 200,
    description: 'The outcome. Lists name at most 100 installations.',
    schema: upgradeReportShape,
  },
  errors: ['workflow_not_found'],
  async handler({ context, caller, params, body }) {
    return { body: await upgradeAll(context, { environment: caller.environment, ...params }, body) };
  },
});

/** Adds the link that connects a missing account to the error. */
async function withConnectLink<T>(
  context: Context,
  { environment, userId }: { environment: Environment; userId: string },
  work: Promise<T>,
): Promise<T> {
  try {
    return await work;
  } catch (error) {
    const connectorId = error instanceof GatehouseError ? error.details?.['connectorId'] : undefined;
    if (typeof connectorId !== 'string') throw error;
    await requireUser(context.db, environment, userId);
    throw await withLink(context, error, { environment, userId, connectorId });
  }
}
