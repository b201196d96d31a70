import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { sql } from 'kysely';
import { expect, test } from 'vitest';
import { readConfig } from '../../src/config.ts';
import { openContext } from '../../src/context.ts';
import { createCloseStack } from '../../src/lib/close-stack.ts';
import { createLog } from '../../src/log.ts';
import { openStore } from '../../src/store/open-database.ts';
import { startCollector } from '../support/collector.ts';

test('a start that fails closes what it opened before the fault', async () => {
  await using collector = await startCollector();
  const home = mkdtempSync(join(tmpdir(), 'gatehouse-failed-'));
  const config = readConfig({
    GATEHOUSE_HOME: home,
    OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
    OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json',
  });
  const log = createLog('silent');
  await (await openContext(config, { log })).close();
  {
    await using store = await openStore(config.database);
    await sql`drop table custom_connector_revisions`.execute(store.db);
  }
  const before = collector.exports.length;
  await expect(openContext(config, { log })).rejects.toThrow('custom_connector_revisions');
  // The exporter sends its last metrics when it is closed, and at no other time within a minute.
  expect(collector.exports.slice(before).map(({ path }) => path)).toEqual(['/v1/metrics']);
  rmSync(home, { recursive: true });
});

test('parts close from the newest to the oldest, also after a fault of one', async () => {
  const closed: string[] = [];
  const opened = createCloseStack();
  opened.use({ close: () => closed.push('store') });
  opened.use({ close: () => Promise.reject(new Error('the audit log is lost')) });
  opened.use({ close: async () => closed.push('dispatcher') });
  await expect(opened.close()).rejects.toThrow('the audit log is lost');
  expect(closed).toEqual(['dispatcher', 'store']);
});
