import * as admin from './admin.ts';
import * as connectors from './connectors.ts';
import * as credentials from './credentials.ts';
import * as executions from './executions.ts';
import * as health from './health.ts';
import type { Route } from './route.ts';
import * as servers from './servers.ts';
import * as users from './users.ts';

/** Every REST endpoint, in the order of the reference page. */
export const ROUTES: Route[] = [
  ...Object.values(health),
  servers.createServerRoute,
  servers.listServersRoute,
  servers.getServerRoute,
  servers.updateServerRoute,
  servers.deleteServerRoute,
  servers.rotateServerTokenRoute,
  ...Object.values(users),
  ...Object.values(connectors),
  ...Object.values(credentials),
  ...Object.values(executions),
  ...Object.values(admin),
];
