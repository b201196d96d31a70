import { describe, expect, test } from 'vitest';
import { freshCredential } from '../../src/credentials/refresh.ts';
import { HOUR } from '../../src/lib/clock.ts';
import type { Family } from '../../src/telemetry/series.ts';
import { rpc, shop } from '../support/mcp.ts';
import { readMetrics } from '../support/metrics.ts';
import { openOAuth } from '../support/oauth.ts';
import { startService } from '../support/service.ts';
import { STORE_KINDS } from '../support/stores.ts';
import { manual, message, startWorkflows } from '../support/workflows.ts';

/** Returns the series of a metric as text: `connector=1`. */
const seriesOf = (family: Family) =>
  [...family.series()].map(({ labels, value }) => `${labels.join(' ')}=${value}`);

describe.each(STORE_KINDS)('counts on %s', (kind) => {
  test('renewals of tokens count by outcome', async () => {
    await using bench = await openOAuth(kind);
    const { tokenRefreshes } = bench.telemetry;
    let credential = await bench.connect();
    bench.clock.advance(2 * HOUR);
    bench.party.mode = '500';
    await freshCredential(bench, bench.connector, { credential }).catch(() => {});
    expect(seriesOf(tokenRefreshes)).toEqual(['oauthy failed=1']);
    bench.party.mode = 'ok';
    bench.clock.advance(HOUR);
    credential = await freshCredential(bench, bench.connector, { credential });
    expect(seriesOf(tokenRefreshes)).toEqual(['oauthy failed=1', 'oauthy succeeded=1']);
  });

  test('a workflow run that ended counts by its status', async () => {
    await using service = await startWorkflows({ kind });
    const workflowId = await service.define(manual([message('hello', 'Hello')]));
    await service.publish(workflowId, manual([message('hello', 'Hello')]));
    await service.install(workflowId);
    expect((await service.run(workflowId)).at('status')).toBe('succeeded');
    const ended = 'gatehouse_workflow_runs_ended_total{status="succeeded"}';
    await expect.poll(async () => (await readMetrics(service.url)).value(ended)).toBe(1);
  });
});

test('requests over a limit of Gatehouse count by limit', async () => {
  await using service = await startService({ env: { GATEHOUSE_RATE_LIMIT_MCP: '1/60s' } });
  const { accessUrl } = await shop(service);
  const statuses = [await rpc(accessUrl, 'tools/list'), await rpc(accessUrl, 'tools/list')];
  expect(statuses.map(({ status }) => status)).toEqual([200, 429]);
  const page = await readMetrics(service.url);
  expect(page.value('gatehouse_rate_limited_requests_total{limit="mcp"}')).toBe(1);
});

test('scrapes between which nothing was measured have no lag in place of NaN', async () => {
  await using service = await startService();
  // The later ones follow at once, before the event loop was measured again.
  const pages = await Promise.all(Array.from({ length: 3 }, () => readMetrics(service.url)));
  const lines = pages.flatMap(({ text }) => text.split('\n').filter((line) => !line.startsWith('#')));
  expect(lines.filter((line) => /NaN$|^nodejs_eventloop_lag_min_seconds 9/i.test(line))).toEqual([]);
  expect(lines.filter((line) => line.startsWith('nodejs_eventloop_lag_seconds '))).toHaveLength(3);
});
