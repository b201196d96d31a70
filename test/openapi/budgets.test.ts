import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { monitorEventLoopDelay, performance } from 'node:perf_hooks';
import { expect, test } from 'vitest';
import { connectorText } from '../../src/author/connector-text.ts';
import { estimateTokens } from '../../src/lib/token-estimate.ts';
import { rpc } from '../support/mcp.ts';
import { startService } from '../support/service.ts';
import { DOCUMENTS, importedFrom, MISSING } from './public-documents.ts';

/* Budgets of search and lists with all public documents installed together: `npm run proof:openapi`. */

/** A page holds 2 MiB of tools. */
const MAX_PAGE_BYTES = 2 * 1024 * 1024 + 1000;

const QUERIES = [
  'create an issue',
  'refund a charge',
  'list droplets of the account',
  'send an email',
  'upload a file',
  'create an order and capture its payment',
  'invite a user to a meeting',
  'post a message to a channel',
  'delete a database page',
  'look up a phone number',
];

test('search and lists keep their budgets over all documents', async ({ skip }) => {
  skip(process.env['PROOF'] !== 'full', 'this is a proof: npm run proof:openapi');
  skip(DOCUMENTS.length === 0, MISSING);
  const folder = mkdtempSync(join(tmpdir(), 'gatehouse-budgets-'));
  let actions = 0;
  for (const [index, document] of DOCUMENTS.entries()) {
    if (document.includes('webhook-example')) continue;
    const id = `api-${index}`;
    const { written, include, definition } = importedFrom(document, { id });
    actions += Object.keys(definition.actions).length;
    mkdirSync(join(folder, id));
    writeFileSync(join(folder, id, 'connector.yaml'), connectorText(written, { document, include }));
  }
  const began = performance.now();
  await using service = await startService({ env: { GATEHOUSE_CONNECTORS: folder } });
  const started = performance.now() - began;
  const make = async (toolMode: string) =>
    (await service.call('POST', '/api/servers', { body: { name: toolMode, toolMode } })).text('accessUrl');
  const measured: Record<string, string> = { actions: String(actions), start: `${Math.round(started)} ms` };
  const measure = async (name: string, url: string, method: string, params: object = {}) => {
    const cpu = process.cpuUsage();
    const answer = await rpc(url, method, params);
    const { user, system } = process.cpuUsage(cpu);
    const text = JSON.stringify(answer.at('result'));
    measured[name] =
      `${Math.round((user + system) / 1000)} ms of CPU, ${text.length} bytes, ${estimateTokens(text)} tokens`;
    return { tokens: estimateTokens(text), bytes: text.length, answer };
  };
  const auto = await make('auto');
  const first = await measure('first tools/list, auto', auto, 'tools/list');
  expect(first.tokens).toBeLessThan(8000);
  await measure('second tools/list, auto', auto, 'tools/list');
  let largest = 0;
  for (const query of QUERIES) {
    const params = { name: 'search_actions_svc', arguments: { query, limit: 10 } };
    const found = await measure(`search: ${query}`, auto, 'tools/call', params);
    largest = Math.max(largest, found.tokens);
    expect(found.answer.at('result.isError')).not.toBe(true);
  }
  expect(largest).toBeLessThan(8000);
  const direct = await make('direct');
  const waits = monitorEventLoopDelay({ resolution: 1 });
  waits.enable();
  const page = await measure('first tools/list, direct, a page', direct, 'tools/list');
  waits.disable();
  measured['longest wait of other requests'] = `${Math.round(waits.max / 1e6)} ms`;
  expect(page.bytes).toBeLessThan(MAX_PAGE_BYTES);
  expect(page.answer.at('result.nextCursor')).toBeTypeOf('string');
  // 0.2 s on a quiet machine. In one piece, the work takes seconds.
  expect(waits.max).toBeLessThan(1e9);
  measured['heap'] = `${Math.round(process.memoryUsage().heapUsed / 1e6)} MB`;
  process.stdout.write(
    `${Object.entries(measured)
      .map(([name, value]) => `${name}: ${value}\n`)
      .join('')}`,
  );
}, 600_000);
