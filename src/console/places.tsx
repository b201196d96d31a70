import {
  IconActivity,
  IconHistory,
  IconHome,
  IconKey,
  IconMessageReport,
  IconPlayerPlay,
  IconPlug,
  IconRoute,
  IconServer2,
  IconSettings,
  IconWebhook,
  IconUsers,
} from '@tabler/icons-react';
import { lazy, type ComponentType } from 'react';

interface Area {
  to: string;
  label: string;
  icon: typeof IconHome;
  also?: readonly string[];
}

/** The pages by their path. Each is loaded when it is first shown. */
export const PLACES: { path: string; page: ComponentType }[] = [
  { path: '/', page: lazy(async () => ({ default: (await import('./pages/start.tsx')).Start })) },
  {
    path: '/executions',
    page: lazy(async () => ({ default: (await import('./pages/executions.tsx')).Executions })),
  },
  {
    path: '/executions/:executionId',
    page: lazy(async () => ({ default: (await import('./pages/execution.tsx')).Execution })),
  },
  {
    path: '/workflows',
    page: lazy(async () => ({ default: (await import('./pages/workflow-list.tsx')).WorkflowList })),
  },
  {
    path: '/workflows/runs',
    page: lazy(async () => ({ default: (await import('./pages/run-list.tsx')).RunList })),
  },
  {
    path: '/workflows/new',
    page: lazy(async () => ({ default: (await import('./pages/edit-workflow.tsx')).EditWorkflow })),
  },
  {
    path: '/workflows/:workflowId/edit',
    page: lazy(async () => ({ default: (await import('./pages/edit-workflow.tsx')).EditWorkflow })),
  },
  {
    path: '/workflows/:workflowId',
    page: lazy(async () => ({ default: (await import('./pages/workflow-page.tsx')).WorkflowPage })),
  },
  {
    path: '/workflows/:workflowId/runs/:runId',
    page: lazy(async () => ({ default: (await import('./pages/run-page.tsx')).RunPage })),
  },
  {
    path: '/webhooks',
    page: lazy(async () => ({ default: (await import('./pages/webhook-list.tsx')).WebhookList })),
  },
  {
    path: '/webhooks/:subscriptionId',
    page: lazy(async () => ({ default: (await import('./pages/webhook-page.tsx')).WebhookPage })),
  },
  {
    path: '/feedback',
    page: lazy(async () => ({ default: (await import('./pages/feedback.tsx')).Feedback })),
  },
  { path: '/keys', page: lazy(async () => ({ default: (await import('./pages/keys.tsx')).Keys })) },
  {
    path: '/settings',
    page: lazy(async () => ({ default: (await import('./pages/settings-page.tsx')).SettingsPage })),
  },
  { path: '/audit', page: lazy(async () => ({ default: (await import('./pages/audit.tsx')).Audit })) },
  {
    path: '/connectors',
    page: lazy(async () => ({ default: (await import('./pages/connectors.tsx')).Connectors })),
  },
  {
    path: '/connectors/:connectorId',
    page: lazy(async () => ({ default: (await import('./pages/connector.tsx')).ConnectorPage })),
  },
  {
    path: '/add-connector',
    page: lazy(async () => ({ default: (await import('./pages/add-connector.tsx')).AddConnector })),
  },
  {
    path: '/definition-changes',
    page: lazy(async () => ({
      default: (await import('./pages/definition-changes.tsx')).DefinitionChanges,
    })),
  },
  {
    path: '/playground',
    page: lazy(async () => ({ default: (await import('./pages/playground.tsx')).Playground })),
  },
  {
    path: '/servers',
    page: lazy(async () => ({ default: (await import('./pages/server-list.tsx')).ServerList })),
  },
  {
    path: '/servers/new',
    page: lazy(async () => ({ default: (await import('./pages/new-server.tsx')).NewServer })),
  },
  {
    path: '/servers/:serverId',
    page: lazy(async () => ({ default: (await import('./pages/one-server.tsx')).OneServer })),
  },
  {
    path: '/users',
    page: lazy(async () => ({ default: (await import('./pages/user-list.tsx')).UserList })),
  },
  {
    path: '/accounts',
    page: lazy(async () => ({ default: (await import('./pages/account-list.tsx')).AccountList })),
  },
  {
    path: '/users/:userId',
    page: lazy(async () => ({ default: (await import('./pages/one-user.tsx')).OneUser })),
  },
];

/** The entries of the navigation. `also`: other addresses of an area than those below its own. */
export const AREAS: readonly Area[] = [
  { to: '/', label: 'Start', icon: IconHome },
  { to: '/executions', label: 'Executions', icon: IconActivity },
  { to: '/feedback', label: 'Feedback', icon: IconMessageReport },
  { to: '/servers', label: 'Servers', icon: IconServer2 },
  { to: '/users', label: 'Users', icon: IconUsers, also: ['/accounts'] },
  {
    to: '/connectors',
    label: 'Connectors',
    icon: IconPlug,
    also: ['/add-connector', '/definition-changes'],
  },
  { to: '/playground', label: 'Playground', icon: IconPlayerPlay },
  { to: '/workflows', label: 'Workflows', icon: IconRoute },
  { to: '/webhooks', label: 'Webhooks', icon: IconWebhook },
  { to: '/keys', label: 'API keys', icon: IconKey },
  { to: '/audit', label: 'Audit log', icon: IconHistory },
  { to: '/settings', label: 'Settings', icon: IconSettings },
];
