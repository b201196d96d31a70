import { createServer, type IncomingHttpHeaders, type Server } from 'node:http';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { ConfigError, readConfig } from '../../src/config.ts';
import { createLog } from '../../src/log.ts';
import { openOtlp } from '../../src/telemetry/otlp.ts';
import { startCollector, type Collector, type ReceivedSpan } from '../support/collector.ts';
import { rpc } from '../support/mcp.ts';
import { startService, type Service } from '../support/service.ts';
import { STORE_KINDS } from '../support/stores.ts';

/** An app, and the headers that it received. */
interface App {
  server: Server;
  port: number;
  seen: IncomingHttpHeaders[];
}

/** Starts an app that answers 500 at /fail. */
async function startApp(): Promise<App> {
  const seen: IncomingHttpHeaders[] = [];
  const server = createServer((req, res) => {
    seen.push(req.headers);
    res.statusCode = req.url?.startsWith('/fail') ? 500 : 200;
    res.setHeader('content-type', 'application/json').end('{"ok":true}');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  return { server, port: typeof address === 'object' && address ? address.port : 0, seen };
}

const folder = mkdtempSync(join(tmpdir(), 'gatehouse-traces-'));
let own: App;
let foreign: App;
beforeAll(async () => {
  [own, foreign] = await Promise.all([startApp(), startApp()]);
  for (const [id, { port }] of Object.entries({ own, foreign })) {
    mkdirSync(join(folder, id));
    writeFileSync(
      join(folder, id, 'connector.yaml'),
      `id: ${id}
name: ${id}
description: Sees what it is sent.
categories: [tests]
website: https://example.com
sources: [{ title: This test, read: '2026-11-25' }]
baseUrl: http://127.0.0.1:${port}
authentication: [{ type: none }]
actions:
  look:
    description: Looks.
    request: GET /look/{word}
    path: { word: { type: string } }
  fail: { description: Fails., request: GET /fail }
`,
    );
  }
});
afterAll(() => {
  own.server.close();
  foreign.server.close();
  rmSync(folder, { recursive: true });
});
beforeEach(() => {
  own.seen.length = 0;
  foreign.seen.length = 0;
});

const TRACE = '0af7651916cd43dd8448eb211c80319c';
const PARENT = 'b7ad6b7169203331';
const TRACEPARENT = `00-${TRACE}-${PARENT}-01`;
const SECRET = 'word-of-the-input';
const KEY = 'key-of-the-collector';

const start = (collector: Collector, env: Record<string, string> = {}, kind = STORE_KINDS[0]) =>
  startService({
    ...(kind === undefined ? {} : { kind }),
    catalogFolder: folder,
    env: {
      GATEHOUSE_SANDBOX: '0',
      GATEHOUSE_ALLOWED_NETWORKS: `127.0.0.1:${own.port}`,
      OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
      OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json',
      OTEL_EXPORTER_OTLP_HEADERS: `x-key=${KEY}, x-other=a%20b`,
      OTEL_SERVICE_NAME: 'traced',
      OTEL_RESOURCE_ATTRIBUTES: 'deployment.environment=tests',
      OTEL_BSP_SCHEDULE_DELAY: '20',
      OTEL_METRIC_EXPORT_INTERVAL: '100',
      ...env,
    },
  });

/** Calls a direct tool over MCP. */
async function call(
  service: Service,
  tool: string,
  more: { meta?: object; headers?: Record<string, string> } = {},
) {
  const created = await service.call('POST', '/api/servers', {
    body: { name: `${tool} ${Math.random()}`, toolMode: 'direct' },
  });
  const args = tool.endsWith('look') ? { word: SECRET } : {};
  const params = { name: tool, arguments: args, ...(more.meta ? { _meta: more.meta } : {}) };
  const answer = await rpc(created.text('accessUrl'), 'tools/call', params, { headers: more.headers ?? {} });
  return { answer, accessToken: created.text('accessToken') };
}

/** Waits for the spans of a trace, outermost first. Each is the parent of the next one. */
async function spansOf(collector: Collector, traceId: string, count: number): Promise<ReceivedSpan[]> {
  const found = () => collector.spans().filter((span) => span.traceId === traceId);
  await expect.poll(() => found().length).toBe(count);
  const chain: ReceivedSpan[] = [];
  const from = (parent: string | undefined) => found().find(({ parentSpanId }) => parentSpanId === parent);
  for (let next = from(PARENT); next; next = from(next.spanId)) chain.push(next);
  expect(chain).toHaveLength(count);
  return chain;
}

describe.each(STORE_KINDS)('traces on %s', (kind) => {
  let collector: Collector;
  let service: Service;
  beforeAll(async () => {
    collector = await startCollector();
    service = await start(collector, {}, kind);
  });
  afterAll(async () => {
    await service.stop();
    await collector[Symbol.asyncDispose]();
  });

  test('a call continues the trace of its HTTP request through MCP to the app', async () => {
    const { accessToken } = await call(service, 'own_look', { headers: { traceparent: TRACEPARENT } });
    const spans = await spansOf(collector, TRACE, 4);
    expect(spans.map(({ name, kind }) => [name, kind])).toEqual([
      ['POST /mcp/{serverId}/{accessToken}', 2],
      ['tools/call own_look', 2],
      ['action own.look', 1],
      ['GET /look/{word}', 3],
    ]);
    const [http, mcp, action, attempt] = spans;
    expect(http?.attributes).toMatchObject({
      'http.request.method': 'POST',
      'http.route': '/mcp/{serverId}/{accessToken}',
      'http.response.status_code': 200,
    });
    expect(mcp?.attributes).toEqual({
      'mcp.method.name': 'tools/call',
      'gen_ai.operation.name': 'execute_tool',
      'gen_ai.tool.name': 'own_look',
    });
    expect(action?.attributes).toMatchObject({
      'gatehouse.action': 'look',
      'gatehouse.outcome': 'succeeded',
    });
    expect(attempt?.attributes).toMatchObject({
      'url.template': '/look/{word}',
      'http.response.status_code': 200,
    });
    expect(own.seen[0]?.['traceparent']).toBe(`00-${TRACE}-${attempt?.spanId}-01`);
    expect(collector.resource()).toMatchObject({
      'service.name': 'traced',
      'service.version': expect.stringMatching(/^\d+\./),
      'deployment.environment': 'tests',
    });
    const sent = collector.exports.map(({ body }) => body.toString()).join('');
    for (const secret of [SECRET, accessToken, service.developmentKey]) expect(sent).not.toContain(secret);
    expect(service.logged.join('')).toContain(`"traceId":"${TRACE}"`);
  });

  test('an MCP request continues the trace of _meta, and links to its HTTP request', async () => {
    const traceId = TRACE.replace('0af7', '1111');
    const meta = { traceparent: TRACEPARENT.replace(TRACE, traceId), tracestate: 'vendor=1', baggage: 'a=b' };
    await call(service, 'foreign_look', { meta });
    const [mcp, , attempt] = await spansOf(collector, traceId, 3);
    expect(mcp).toMatchObject({ name: 'tools/call foreign_look', parentSpanId: PARENT });
    const http = () => collector.spans().find(({ spanId }) => spanId === mcp?.links[0]?.spanId);
    await expect.poll(() => http()?.name).toBe('POST /mcp/{serverId}/{accessToken}');
    // The client asked for it, so also an app that the operator did not list continues the trace.
    expect(foreign.seen[0]).toMatchObject({
      traceparent: `00-${traceId}-${attempt?.spanId}-01`,
      tracestate: 'vendor=1',
      baggage: 'a=b',
    });
  });

  test('an app that the operator did not list receives no trace', async () => {
    const traceId = TRACE.replace('0af7', '2222');
    await call(service, 'foreign_look', { headers: { traceparent: TRACEPARENT.replace(TRACE, traceId) } });
    await spansOf(collector, traceId, 4);
    expect(foreign.seen).toHaveLength(1);
    expect(Object.keys(foreign.seen[0] ?? {})).not.toContain('traceparent');
  });

  test('a failed attempt fails its span, its action and its tool call', async () => {
    const traceId = TRACE.replace('0af7', '3333');
    await call(service, 'own_fail', { headers: { traceparent: TRACEPARENT.replace(TRACE, traceId) } });
    const [http, mcp, action, attempt] = await spansOf(collector, traceId, 4);
    expect(http?.status.code ?? 0).toBe(0);
    for (const [span, type] of [
      [mcp, 'tool_error'],
      [action, 'upstream_failed'],
      [attempt, '500'],
    ] as const) {
      expect(span?.attributes['error.type']).toBe(type);
      expect(span?.status.code).toBe(2);
    }
  });

  test('metrics arrive with the same names as a collector gives Prometheus', async () => {
    await service.call('GET', '/health');
    await expect.poll(() => collector.metrics().has('gatehouse_http_requests')).toBe(true);
    const requests = () =>
      collector
        .metrics()
        .get('gatehouse_http_requests')
        ?.sum?.dataPoints.find(({ attributes }) => attributes['route'] === '/health');
    await expect.poll(() => requests()?.asDouble).toBe(1);
    const duration = collector.metrics().get('gatehouse_http_request_duration');
    expect(duration?.unit).toBe('s');
    const [first] = duration?.histogram?.dataPoints ?? [];
    expect(first?.bucketCounts).toHaveLength((first?.explicitBounds?.length ?? 0) + 1);
    expect(first?.bucketCounts?.reduce((sum, one) => sum + one)).toBe(first?.count);
    const storeUp = () => collector.metrics().get('gatehouse_store_up')?.gauge?.dataPoints[0]?.asDouble;
    await expect.poll(storeUp).toBe(1);
    expect(collector.metrics().has('process.memory.usage')).toBe(true);
    expect(collector.spans().map(({ name }) => name)).not.toContain('GET /health');
    const [{ headers } = { headers: {} }] = collector.exports;
    expect(headers).toMatchObject({ 'x-key': KEY, 'x-other': 'a b', 'content-type': 'application/json' });
  });
});

test('a trace of the client without a sampled span reaches the app unchanged', async () => {
  await using collector = await startCollector();
  await using service = await start(collector, { OTEL_TRACES_SAMPLER: 'always_off' });
  const meta = { traceparent: TRACEPARENT };
  const { answer } = await call(service, 'own_look', { meta });
  expect(answer.at('result.isError')).toBeUndefined();
  expect(own.seen[0]?.['traceparent']).toBe(TRACEPARENT);
  await call(service, 'own_look', { headers: { traceparent: TRACEPARENT } });
  expect(own.seen[1]?.['traceparent']).toBeUndefined();
  await expect.poll(() => collector.metrics().size).toBeGreaterThan(0);
  expect(collector.spans()).toEqual([]);
});

test('the default protocol is protobuf, and compression is as asked', async () => {
  await using collector = await startCollector();
  const env = { OTEL_EXPORTER_OTLP_PROTOCOL: '', OTEL_EXPORTER_OTLP_COMPRESSION: 'gzip' };
  await using service = await start(collector, { ...env, OTEL_METRICS_EXPORTER: 'none' });
  await call(service, 'own_look');
  await expect
    .poll(() => collector.exports.map(({ body }) => gunzipSync(body).toString('latin1')).join(''))
    .toContain('tools/call own_look');
  expect(collector.exports[0]).toMatchObject({
    path: '/v1/traces',
    headers: { 'content-type': 'application/x-protobuf', 'content-encoding': 'gzip' },
  });
  expect(collector.exports.every(({ path }) => path === '/v1/traces')).toBe(true);
});

test.each(['hang', 'refuse'] as const)('a collector that would %s costs one log line', async (behaviour) => {
  await using collector = await startCollector();
  collector.behaviour = behaviour;
  const service = await start(collector, { OTEL_EXPORTER_OTLP_TIMEOUT: '50' });
  const lines = () => service.logged.filter((line) => line.includes('telemetry not exported'));
  const tries = () => collector.exports.filter(({ path }) => path === '/v1/metrics').length;
  const { answer } = await call(service, 'own_look');
  expect(answer.at('result.isError')).toBeUndefined();
  await expect.poll(tries).toBeGreaterThan(3);
  await expect.poll(() => lines().length).toBe(2);
  expect(lines().filter((line) => line.includes('"signal":"metrics"'))).toHaveLength(1);
  expect(lines().join('')).not.toContain(KEY);
  await service.stop();
  expect(lines()).toHaveLength(2);
});

test('work that outlives its request begins a trace of its own', async () => {
  await using collector = await startCollector();
  const { otlp: settings } = readConfig({
    OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
    OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json',
    OTEL_METRICS_EXPORTER: 'none',
  });
  if (!settings) throw new Error('nothing is sent');
  const otlp = openOtlp(settings, {
    log: createLog('silent'),
    version: '1.0.0',
    caFile: undefined,
    families: async () => [],
    reaches: () => false,
  });
  const { tracing } = otlp;
  const answered = Promise.withResolvers<void>();
  const inside = (name: string) => tracing.span({ name, kind: 'internal' }, async () => {});
  const woken = await tracing.span({ name: 'request', kind: 'server' }, async () => {
    await inside('during');
    return { later: answered.promise.then(() => inside('after')) };
  });
  answered.resolve();
  await woken.later;
  await otlp.close();
  const named = (name: string) => collector.spans().find((span) => span.name === name);
  expect(named('during')).toMatchObject({ parentSpanId: named('request')?.spanId });
  expect(named('after')).toBeDefined();
  expect(named('after')?.traceId).not.toBe(named('request')?.traceId);
});

describe('the variables of OpenTelemetry', () => {
  const ENDPOINT = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:4318/' };

  test('a common address gets the path of each signal, and an own one is used as it is', () => {
    const { otlp } = readConfig({
      ...ENDPOINT,
      OTEL_EXPORTER_OTLP_METRICS_ENDPOINT: 'https://metrics.example.com/in',
      OTEL_TRACES_SAMPLER: 'traceidratio',
      OTEL_TRACES_SAMPLER_ARG: '0.25',
    });
    expect(otlp?.traces?.url).toBe('http://127.0.0.1:4318/v1/traces');
    expect(otlp?.traces?.sampling).toEqual({ parentBased: false, ratio: 0.25 });
    expect(otlp?.metrics?.url).toBe('https://metrics.example.com/in');
  });

  test('traces are not sent without an address, or when the SDK is disabled', () => {
    expect(readConfig({ OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc' }).otlp).toBeUndefined();
    expect(readConfig({ ...ENDPOINT, OTEL_SDK_DISABLED: 'TRUE' }).otlp).toBeUndefined();
    const none = readConfig({
      ...ENDPOINT,
      OTEL_TRACES_EXPORTER: 'none',
      OTEL_METRICS_EXPORTER: 'prometheus',
    });
    expect(none.otlp).toMatchObject({ traces: undefined, metrics: undefined });
  });

  test.each([
    ['OTEL_EXPORTER_OTLP_ENDPOINT', 'collector:4318', 'must be an http:// or https:// address'],
    ['OTEL_EXPORTER_OTLP_PROTOCOL', 'grpc', 'grpc is not supported'],
    ['OTEL_EXPORTER_OTLP_HEADERS', 'secret', 'part 1 must be a name and a value'],
    ['OTEL_EXPORTER_OTLP_TIMEOUT', 'soon', 'milliseconds from 1 to 60000'],
    ['OTEL_TRACES_SAMPLER', 'jaeger_remote', 'must be one of always_on'],
    ['OTEL_TRACES_SAMPLER_ARG', '2', 'a number from 0 to 1'],
    ['OTEL_METRICS_EXPORTER', 'console', 'must be one of otlp, prometheus, none'],
    ['OTEL_SDK_DISABLED', 'yes', 'must be one of true, false'],
  ])('%s=%s stops the start with the rule', (name, value, rule) => {
    const read = () => readConfig({ ...ENDPOINT, [name]: value });
    expect(read).toThrow(ConfigError);
    expect(read).toThrow(`${name}: `);
    expect(read).toThrow(rule);
  });
});
