import { execFileSync, spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { readMetrics } from '../support/metrics.ts';
import { startService, type Service } from '../support/service.ts';

const DOCS = resolve(import.meta.dirname, '../../docs');
const RULES = resolve(DOCS, 'observability/prometheus-alerts.yaml');
const PAGE = readFileSync(resolve(DOCS, 'metrics.md'), 'utf8');
/** Prometheus' own tool, in Debian's package `prometheus`. */
const hasPromtool = spawnSync('promtool', ['--version']).status === 0;

let service: Service;
let metrics: string;
beforeAll(async () => {
  service = await startService();
  await service.call('GET', '/health');
  metrics = (await readMetrics(service.url)).text;
});
afterAll(() => service.stop());

const namesIn = (text: string) =>
  new Set([...text.matchAll(/\b(?:gatehouse|nodejs|process)_[a-z0-9_]+\b/g)].map(([name]) => name));
const families = () => new Set([...metrics.matchAll(/^# TYPE (\S+)/gm)].map(([, name = '']) => name));

test('a service reports the metrics of docs/metrics.md, and no other of its own', () => {
  const own = [...families()].filter((name) => name.startsWith('gatehouse_')).toSorted();
  expect(own.length).toBeGreaterThan(30);
  const rows = [...PAGE.matchAll(/^\| `(gatehouse_\w+)` \|/gm)].map(([, name = '']) => name);
  expect(rows.toSorted()).toEqual(own);
});

test.each(['observability/prometheus-alerts.yaml', 'observability/grafana-dashboard.json'])(
  'docs/%s uses only metrics that exist',
  (file) => {
    const known = families();
    const used = [...namesIn(readFileSync(resolve(DOCS, file), 'utf8'))];
    expect(used.length).toBeGreaterThan(10);
    expect(used.filter((name) => !known.has(name.replace(/_(bucket|sum|count)$/, '')))).toEqual([]);
  },
);

test.skipIf(!hasPromtool)('promtool accepts the metrics and the rules (skipped without promtool)', () => {
  const checked = spawnSync('promtool', ['check', 'metrics'], { input: metrics, encoding: 'utf8' });
  const faults = checked.stderr.split('\n').filter((line) => line.startsWith('gatehouse_'));
  expect(faults).toEqual([]);
  expect(checked.stderr).not.toContain('error while linting');
  expect(execFileSync('promtool', ['check', 'rules', RULES], { encoding: 'utf8' })).toContain('SUCCESS');
});
