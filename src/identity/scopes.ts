import type { ConsoleRole } from '../lib/oidc-settings.ts';

/** The permissions of keys. Every route names one scope; the two environment keys have all. */
export const SCOPES = {
  'servers:read': 'Read MCP servers',
  'servers:write': 'Create, change and delete MCP servers',
  'servers:token': 'See and rotate the access tokens of MCP servers',
  'tools:read': 'See how tool definitions differ from those that were approved',
  'tools:approve': 'Approve tool definitions',
  'mcp:use': 'Use MCP servers',
  'users:read': 'Read end users',
  'users:write': 'Create, change and delete end users',
  'users:token': 'Issue and revoke user tokens',
  'connectors:read': 'Read connectors and their actions',
  'connectors:write': 'Add, change and delete custom connectors',
  'credentials:read': 'Read the metadata of credentials',
  'credentials:write': 'Create, change, check and delete credentials',
  'oauth-apps:read': 'Read the OAuth apps of connectors, never their secrets',
  'oauth-apps:write': 'Set and delete the OAuth apps of connectors',
  'connect:write': 'Create links that connect accounts',
  'connect:use':
    'Connect and disconnect the user’s own accounts, and see and replay the deliveries of their events',
  'actions:execute': 'Run actions on behalf of end users',
  'files:read': 'Read files of end users',
  'files:write': 'Store and delete files of end users',
  'unified:read': 'Read unified records and field mappings',
  'unified:write': 'Change field mappings',
  'webhooks:read': 'Read webhook subscriptions and their deliveries',
  'webhooks:write': 'Create, change, delete, test and replay webhook subscriptions',
  'workflows:read': 'Read workflows, their installations and runs',
  'workflows:write': 'Create, change, delete and upgrade workflows',
  'workflows:install': 'Install, change and uninstall workflows for end users',
  'workflows:run': 'Start, read, cancel and retry runs of workflows',
  'executions:read': 'Read the record of executions',
  'payloads:read': 'Read the inputs and outputs of executions, where they are stored',
  'audit:read': 'Read the record of administration',
  'settings:read': 'Read the settings of the environment',
  'settings:write': 'Change the settings of the environment',
  'keys:read': 'Read the names, scopes and uses of API keys, never the keys',
  'keys:write': 'Create, rotate and revoke API keys',
} satisfies Record<string, string>;

export type Scope = keyof typeof SCOPES;

export function isScope(text: string): text is Scope {
  return Object.hasOwn(SCOPES, text);
}

/** The scopes that a named key may have. Users alone connect accounts, by their JWTs. */
export const KEY_SCOPES: readonly Scope[] = Object.keys(SCOPES)
  .filter(isScope)
  .filter((scope) => scope !== 'connect:use');

/** The scopes of a user's JWT: the user's own servers, accounts, files and installations, and MCP. */
export const USER_SCOPES: ReadonlySet<Scope> = new Set<Scope>([
  'servers:read',
  'servers:write',
  'servers:token',
  'mcp:use',
  'connect:use',
  'files:read',
  'files:write',
  'workflows:install',
  'workflows:run',
]);

/** Scopes that show contents of customers' apps, or secrets. A viewer has the other scopes that read. */
const CONFIDENTIAL: readonly Scope[] = ['payloads:read', 'files:read', 'unified:read'];

const VIEWER: readonly Scope[] = KEY_SCOPES.filter(
  (scope) => scope.endsWith(':read') && !CONFIDENTIAL.includes(scope),
);

const OPERATOR: readonly Scope[] = [
  ...VIEWER,
  ...CONFIDENTIAL,
  'servers:write',
  'servers:token',
  'tools:approve',
  'mcp:use',
  'users:write',
  'credentials:write',
  'connect:write',
  'actions:execute',
  'files:write',
  'unified:write',
  'webhooks:write',
  'workflows:write',
  'workflows:install',
  'workflows:run',
];

/** The scopes of each role of the console (docs/console.md). An owner has the rights of the environment's key. */
export const ROLE_SCOPES: Record<ConsoleRole, 'all' | ReadonlySet<Scope>> = {
  viewer: new Set(VIEWER),
  operator: new Set(OPERATOR),
  owner: 'all',
};
