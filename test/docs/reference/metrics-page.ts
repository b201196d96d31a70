import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createStoredValues } from '../../../src/runtime/stored-values.ts';
import { createLog } from '../../../src/log.ts';
import { migrate } from '../../../src/store/migrate.ts';
import { openStore } from '../../../src/store/open-database.ts';
import { buildInfo, createMetrics } from '../../../src/telemetry/metrics.ts';
import type { Family } from '../../../src/telemetry/series.ts';
import { prose, table } from './tables.ts';

/* docs/metrics.md: each metric with its labels, from the registry of a process and of a store. */

const INTRODUCTION = `# Metrics

\`GET /metrics\` answers in Prometheus' text format, and a collector of OpenTelemetry receives the same values. This page is printed from
the code. [Observability](observability.md) says how to read them, with alert rules and a dashboard.

Labels name connectors, actions, routes and codes. They never hold ids of users, servers or credentials. Names that the catalogue does
not have are \`unknown\`. A metric has 2,000 series at most (5,000 by action); label values beyond them count as \`other\`.
`;

const PROCESS = `## Process

| Metric | Type | Labels | Meaning |
| --- | --- | --- | --- |
| \`process_*\`, \`nodejs_*\` | | | CPU, memory, file descriptors, event loop lag and garbage collection, as \`prom-client\` names them. They are measured from the first scrape on. |
`;

/** Returns the page. */
export async function metricsPage(): Promise<string> {
  const own = [...createMetrics().families(), buildInfo('')];
  return [
    INTRODUCTION,
    '## Counts of a process\n',
    'Each process counts its own work. Scrape each process, not the load balancer, and add the values.\n',
    familyTable(own),
    '## Values of the store\n',
    'These values are the same in every process, so take their maximum.\n',
    familyTable(await storedFamilies()),
    PROCESS,
  ].join('\n');
}

function familyTable(families: Family[]): string {
  return table(
    ['Metric', 'Type', 'Labels', 'Meaning'],
    families.map(({ name, kind, labels, help }) => [
      `\`${name}\``,
      kind,
      labels.map((label) => `\`${label}\``).join(', '),
      prose(help),
    ]),
  );
}

/** Returns the metrics that a new store has. */
async function storedFamilies(): Promise<Family[]> {
  const folder = mkdtempSync(join(tmpdir(), 'gatehouse-metrics-'));
  try {
    await using store = await openStore({ kind: 'sqlite', path: join(folder, 'gatehouse.db') });
    await migrate(store, 1);
    const log = createLog('silent');
    return await createStoredValues({ db: store.db, log, clock: { now: () => 1 } }).read();
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
