import { iconPath } from '../connectors/icon.ts';
import type { Base } from '../base.ts';
import { listCredentials } from '../credentials/credential-lists.ts';
import { requireUser } from '../identity/users.ts';
import { GatehouseError } from '../lib/errors.ts';
import { connectorsOf } from './workflow-definition.ts';
import {
  definitionOf,
  describeInstallation,
  findInstallation,
  type InstallationKey,
} from './installations.ts';
import { readSettings } from '../servers/environment-settings.ts';
import { requireWorkflow } from './workflow-records.ts';

const MOST_ACCOUNTS = 50;

/**
 * Returns the form for installing a workflow: its fields, and for each app the user's accounts.
 * @throws GatehouseError `workflow_not_found`, `user_not_found`, `workflow_version_not_found` when nothing is
 * published.
 */
export async function formOf(
  context: Pick<Base, 'db' | 'keys' | 'catalog' | 'publicUrl'>,
  key: InstallationKey,
) {
  const { environment, workflowId, userId } = key;
  const { name, latest } = await requireWorkflow(context.db, environment, workflowId);
  const { username } = await requireUser(context.db, environment, userId);
  const { branding } = await readSettings(context.db, environment);
  if (latest.draft)
    throw new GatehouseError('workflow_version_not_found', 'This workflow has no published version yet.');
  const connectors = [];
  for (const connectorId of connectorsOf(latest.definition)) {
    const connector = context.catalog.connector(environment, connectorId);
    const { credentials } = await listCredentials(context.db, {
      environment,
      userId,
      connectorId,
      limit: MOST_ACCOUNTS,
      offset: 0,
    });
    connectors.push({
      connectorId,
      name: connector?.name ?? connectorId,
      iconUrl: context.publicUrl + (connector ? iconPath(connector) : `/connectors/${connectorId}/icon.svg`),
      needsAccount: connector?.definition.authentication.every(({ type }) => type !== 'none') ?? true,
      credentials: credentials
        .filter(({ state }) => state === 'active')
        .map(({ credentialId, name: account }) => ({ credentialId, name: account })),
    });
  }
  const row = await findInstallation(context.db, key);
  return {
    workflowId,
    name,
    version: latest.version,
    configurableFields: latest.definition.configurableFields,
    branding: { ...branding, name: branding.name ?? 'Gatehouse' },
    user: { username },
    connectors,
    installation: row ? describeInstallation(context, row, await definitionOf(context.db, row)) : null,
  };
}
