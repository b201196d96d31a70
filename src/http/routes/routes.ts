import * as admin from './admin.ts';
import { executeBatchRoute } from './batch-route.ts';
import * as connect from './connect/connect-routes.ts';
import * as connectAccounts from './connect/connect-accounts.ts';
import * as connectionWebhook from './connection-webhook.ts';
import * as connectChoice from './connect/connect-choice.ts';
import * as connectLinks from './connect/connect-links.ts';
import * as connectors from './connectors/connectors.ts';
import * as custom from './connectors/custom-connectors.ts';
import * as credentials from './credentials.ts';
import * as executions from './execution-routes.ts';
import * as files from './file-routes.ts';
import { listFruitlessSearchesRoute } from './fruitless-route.ts';
import { listOpenCircuitsRoute } from './circuit-routes.ts';
import { listProblemReportsRoute } from './problem-report-routes.ts';
import { summarizeDeliveriesRoute } from './delivery-summary-route.ts';
import { summarizeExecutionsRoute } from './execution-summary-route.ts';
import { getOverviewRoute } from './overview-route.ts';
import * as health from './health.ts';
import { metricsRoute } from './metrics-route.ts';
import * as oauthApps from './oauth-app-routes.ts';
import * as portal from './connect/portal-routes.ts';
import type { Route } from '../server/route.ts';
import * as keys from './key-routes.ts';
import { oauthCallbackRoute } from './connect/oauth-callback.ts';
import { protectedResourceRoute } from './protected-resource-route.ts';
import { listServerToolsRoute } from './server-tools.ts';
import * as servers from './server-routes.ts';
import { simulatePastRoute, simulateRoute } from './simulate-route.ts';
import { callServerToolRoute } from './call-tool-route.ts';
import * as toolDefinitions from './tool-definitions.ts';
import * as fieldMappings from './field-mapping-routes.ts';
import { undoExecutionRoute } from './undo-route.ts';
import * as unified from './unified.ts';
import * as unifiedWrites from './unified-writes.ts';
import * as users from './user-routes.ts';
import * as hooks from './hooks.ts';
import * as deliveries from './webhook-deliveries.ts';
import * as webhooks from './webhooks.ts';
import * as installations from './workflow-installations.ts';
import * as runLists from './workflow-run-lists.ts';
import * as runs from './run-routes.ts';
import * as starters from './workflow-starters.ts';
import * as workflows from './workflows.ts';
import { deleteOverlayRoute, getOverlayRoute, putOverlayRoute } from './connectors/connector-overlays.ts';
import { reimportConnectorRoute } from './connectors/reimport.ts';
import { clientMetadataRoute } from './connectors/remote-servers.ts';

/** Every REST endpoint, in the order of the reference page. */
export const ROUTES: Route[] = [
  servers.createServerRoute,
  servers.listServersRoute,
  servers.getServerRoute,
  servers.updateServerRoute,
  servers.deleteServerRoute,
  servers.rotateServerTokenRoute,
  simulateRoute,
  simulatePastRoute,
  callServerToolRoute,
  toolDefinitions.listDefinitionChangesRoute,
  toolDefinitions.approveDefinitionsRoute,
  listServerToolsRoute,
  users.createUserRoute,
  users.createUnifiedUserRoute,
  users.listUsersRoute,
  users.getUserRoute,
  users.updateUserRoute,
  users.deleteUserRoute,
  users.getUserTokenRoute,
  users.revokeUserTokensRoute,
  connectors.listConnectorsRoute,
  connectors.getConnectorRoute,
  connectors.getConnectorTypesRoute,
  connectors.getConnectorIconRoute,
  connectors.getCredentialMetadataRoute,
  connectors.listActionsRoute,
  connectors.getActionRoute,
  connectors.executeActionRoute,
  executeBatchRoute,
  files.uploadFileRoute,
  files.getFileRoute,
  files.deleteFileRoute,
  custom.createCustomConnectorRoute,
  custom.listCustomConnectorsRoute,
  custom.getCustomConnectorRoute,
  custom.putCustomConnectorRoute,
  custom.deleteCustomConnectorRoute,
  custom.listConnectorVersionsRoute,
  custom.getConnectorVersionRoute,
  custom.diffConnectorVersionsRoute,
  reimportConnectorRoute,
  getOverlayRoute,
  putOverlayRoute,
  deleteOverlayRoute,
  clientMetadataRoute,
  credentials.createCredentialRoute,
  credentials.listCredentialsRoute,
  credentials.listAllCredentialsRoute,
  credentials.getCredentialRoute,
  credentials.updateCredentialRoute,
  credentials.deleteCredentialRoute,
  credentials.checkCredentialRoute,
  connectionWebhook.getConnectionWebhookRoute,
  connectionWebhook.setUpConnectionWebhookRoute,
  connectionWebhook.deleteConnectionWebhookRoute,
  oauthApps.putOAuthAppRoute,
  oauthApps.getOAuthAppRoute,
  oauthApps.deleteOAuthAppRoute,
  connectLinks.reconnectCredentialRoute,
  connectLinks.createConnectSessionRoute,
  connectChoice.getUserConnectSessionRoute,
  connectChoice.chooseUserAccountRoute,
  connect.createModalSessionRoute,
  connect.openConnectLinkRoute,
  connect.getConnectSessionRoute,
  connect.submitConnectFormRoute,
  connect.authorizeConnectRoute,
  connect.cancelConnectRoute,
  connectChoice.chooseConnectAccountRoute,
  connectAccounts.listAccountsRoute,
  connectAccounts.markAccountRoute,
  connectAccounts.disconnectAccountRoute,
  portal.getPortalRoute,
  portal.listPortalAccountsRoute,
  portal.checkAccountRoute,
  portal.listPortalSubscriptionsRoute,
  portal.listPortalDeliveriesRoute,
  portal.replayPortalDeliveryRoute,
  oauthCallbackRoute,
  unified.listUnifiedRoute,
  unified.getUnifiedRoute,
  unifiedWrites.createUnifiedRoute,
  unifiedWrites.updateUnifiedRoute,
  fieldMappings.putFieldMappingRoute,
  fieldMappings.listFieldMappingsRoute,
  fieldMappings.deleteFieldMappingRoute,
  webhooks.createSubscriptionRoute,
  webhooks.listSubscriptionsRoute,
  webhooks.getSubscriptionRoute,
  webhooks.updateSubscriptionRoute,
  webhooks.deleteSubscriptionRoute,
  webhooks.rotateSecretRoute,
  webhooks.enableSubscriptionRoute,
  // Must precede the address for apps, which would match it too.
  runs.callWorkflowRoute,
  hooks.receiveHookRoute,
  hooks.checkHookRoute,
  deliveries.listDeliveriesRoute,
  summarizeDeliveriesRoute,
  deliveries.replayDeliveryRoute,
  deliveries.recoverRoute,
  deliveries.sendTestRoute,
  workflows.createWorkflowRoute,
  workflows.listWorkflowsRoute,
  workflows.getWorkflowRoute,
  workflows.deleteWorkflowRoute,
  workflows.addVersionRoute,
  workflows.listVersionsRoute,
  workflows.getVersionRoute,
  workflows.publishVersionRoute,
  runs.tryVersionRoute,
  workflows.diffVersionsRoute,
  installations.getInstallFormRoute,
  installations.installRoute,
  installations.updateInstallationRoute,
  installations.uninstallRoute,
  installations.rotateHookRoute,
  installations.listInstallationsRoute,
  installations.upgradeRoute,
  installations.upgradeAllRoute,
  installations.rollbackRoute,
  runLists.listAllRunsRoute,
  runs.runWorkflowRoute,
  runLists.listRunsRoute,
  runs.getRunRoute,
  runs.cancelRunRoute,
  runs.retryRunRoute,
  starters.listStartersRoute,
  starters.getStarterRoute,
  starters.createFromStarterRoute,
  executions.listExecutionsRoute,
  // Must precede the address of one execution, which would match it too.
  summarizeExecutionsRoute,
  executions.getExecutionRoute,
  undoExecutionRoute,
  listProblemReportsRoute,
  listOpenCircuitsRoute,
  listFruitlessSearchesRoute,
  getOverviewRoute,
  admin.getSettingsRoute,
  admin.putSettingsRoute,
  keys.createKeyRoute,
  keys.listKeysRoute,
  keys.rotateKeyRoute,
  keys.rotateNamedKeyRoute,
  keys.endPreviousSecretRoute,
  keys.revokeKeyRoute,
  admin.listAuditRoute,
  health.healthRoute,
  health.readyRoute,
  metricsRoute,
  admin.jwksRoute,
  protectedResourceRoute,
];
