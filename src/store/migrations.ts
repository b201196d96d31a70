import { budgets, circuits } from './migration-call-limits.ts';
import { chainsOfRuns } from './migration-chains.ts';
import { usedStates } from './migration-states.ts';
import type { Tx } from './schema.ts';

import {
  accounts,
  oauthAppFields,
  oneAccountOneCredential,
  presence,
  scopesOfSessions,
  unchosenGrants,
  wordsOfApps,
} from './migration-accounts.ts';
import { duplicateGuards, problemReports, undos } from './migration-agents.ts';
import { auditChains, executionChains } from './migration-audit.ts';
import {
  eventIndexes,
  eventsOfSources,
  firstAttempts,
  holdsOfSubscriptions,
  newestStates,
  offeredDeliveries,
  oneFieldMapping,
  silentRecords,
} from './migration-event-indexes.ts';
import { consolePeople, consoleSessions, countedServers, countedUsers } from './migration-console.ts';
import { boundOrigins, connectorOverlays, customConnectors, remoteServers } from './migration-connectors.ts';
import { events, manualHooks } from './migration-events.ts';
import { files } from './migration-files.ts';
import { foundation } from './migration-foundation.ts';
import { namedKeys } from './migration-keys.ts';
import { countedStates } from './migration-metrics.ts';
import { callsOfAccounts, listCursors, listFilters, listOrders } from './migration-lists.ts';
import { workflows } from './migration-workflows.ts';
import { runsOfAllWorkflows, testsOfSteps } from './migration-runs.ts';
import { attemptsOfExecutions, executionPayloads } from './migration-payloads.ts';
import { programs } from './migration-programs.ts';
import { policy } from './migration-policy.ts';
import { writeProbes } from './migration-probes.ts';
import { sealsOfCredentials } from './migration-seals.ts';
import { sandboxWrites } from './migration-sandbox.ts';
import { searches } from './migration-searches.ts';
import { tasks } from './migration-tasks.ts';
import { largeResults, searchDocuments, searchInMemory } from './migration-results.ts';
import { wrappedKeys } from './migration-wrapped-keys.ts';

interface Migration {
  name: string;
  up(tx: Tx): Promise<void>;
}

/**
 * All migrations in order. The version of a database is how many it has. Never edit a released migration: append one.
 */
export const MIGRATIONS: Migration[] = [
  { name: 'foundation', up: foundation },
  { name: 'accounts', up: accounts },
  { name: 'events', up: events },
  { name: 'workflows', up: workflows },
  { name: 'oauth app fields', up: oauthAppFields },
  { name: 'policy', up: policy },
  { name: 'large results', up: largeResults },
  { name: 'search documents', up: searchDocuments },
  { name: 'event indexes', up: eventIndexes },
  { name: 'first attempts', up: firstAttempts },
  { name: 'offered deliveries', up: offeredDeliveries },
  { name: 'events of sources', up: eventsOfSources },
  { name: 'holds of subscriptions', up: holdsOfSubscriptions },
  { name: 'one field mapping', up: oneFieldMapping },
  { name: 'newest states', up: newestStates },
  { name: 'seals of credentials', up: sealsOfCredentials },
  { name: 'runs of all workflows', up: runsOfAllWorkflows },
  { name: 'one account one credential', up: oneAccountOneCredential },
  { name: 'write probes', up: writeProbes },
  { name: 'list orders', up: listOrders },
  { name: 'presence', up: presence },
  { name: 'words of apps', up: wordsOfApps },
  { name: 'list filters', up: listFilters },
  { name: 'list cursors', up: listCursors },
  { name: 'search in memory', up: searchInMemory },
  { name: 'custom connectors', up: customConnectors },
  { name: 'bound origins', up: boundOrigins },
  { name: 'remote servers', up: remoteServers },
  { name: 'files', up: files },
  { name: 'connector overlays', up: connectorOverlays },
  { name: 'unchosen grants', up: unchosenGrants },
  { name: 'named keys', up: namedKeys },
  { name: 'manual hooks', up: manualHooks },
  { name: 'counted states', up: countedStates },
  { name: 'wrapped keys', up: wrappedKeys },
  { name: 'audit chains', up: auditChains },
  { name: 'execution payloads', up: executionPayloads },
  { name: 'console sessions', up: consoleSessions },
  { name: 'attempts of executions', up: attemptsOfExecutions },
  { name: 'console people', up: consolePeople },
  { name: 'counted users', up: countedUsers },
  { name: 'execution chains', up: executionChains },
  { name: 'problem reports', up: problemReports },
  { name: 'budgets', up: budgets },
  { name: 'duplicate guards', up: duplicateGuards },
  { name: 'circuits', up: circuits },
  { name: 'programs', up: programs },
  { name: 'searches', up: searches },
  { name: 'undos', up: undos },
  { name: 'tests of steps', up: testsOfSteps },
  { name: 'tasks', up: tasks },
  { name: 'silent records', up: silentRecords },
  { name: 'calls of accounts', up: callsOfAccounts },
  { name: 'scopes of sessions', up: scopesOfSessions },
  { name: 'counted servers', up: countedServers },
  { name: 'sandbox writes', up: sandboxWrites },
  { name: 'chains of runs', up: chainsOfRuns },
  { name: 'used states', up: usedStates },
];
