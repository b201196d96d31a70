import type { ConsoleRole } from '../lib/oidc-settings.ts';
import { KEY_SCOPES, type Scope } from './scopes.ts';

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
