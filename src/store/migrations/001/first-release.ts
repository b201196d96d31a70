import type { Tx } from '../../schema.ts';
import { createAuditTables } from './audit-tables.ts';
import { createConnectorTables } from './connector-tables.ts';
import { createCredentialTables } from './credential-tables.ts';
import { createEventTables } from './event-tables.ts';
import { createExecutionTables } from './execution-tables.ts';
import { createIdentityTables } from './identity-tables.ts';
import { createResultTables } from './result-tables.ts';
import { createRuntimeTables } from './runtime-tables.ts';
import { createSearchTables } from './search-tables.ts';
import { createServerTables } from './server-tables.ts';
import { createWorkflowTables } from './workflow-tables.ts';

/** Creates the tables of the first release, 0.2.0. A table follows the tables that it refers to. */
export async function firstRelease(tx: Tx): Promise<void> {
  await createIdentityTables(tx);
  await createServerTables(tx);
  await createCredentialTables(tx);
  await createConnectorTables(tx);
  await createExecutionTables(tx);
  await createResultTables(tx);
  await createSearchTables(tx);
  await createAuditTables(tx);
  await createEventTables(tx);
  await createWorkflowTables(tx);
  await createRuntimeTables(tx);
}
