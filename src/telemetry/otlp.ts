import { AsyncLocalStorage } from 'node:async_hooks';
import { readFileSync } from 'node:fs';
import {
  createTraceState,
  ROOT_CONTEXT,
  SpanKind,
  SpanStatusCode,
  trace,
  type Context,
  type Link,
  type Span as ApiSpan,
  type Tracer,
} from '@opentelemetry/api';
import {
  createOtlpHttpExportDelegate,
  httpAgentFactoryFromOptions,
} from '@opentelemetry/otlp-exporter-base/node-http';
import {
  JsonMetricsSerializer,
  JsonTraceSerializer,
  MetricsExporterMetricsHelper,
  ProtobufMetricsSerializer,
  ProtobufTraceSerializer,
  TraceExporterMetricsHelper,
} from '@opentelemetry/otlp-transformer';
import { resourceFromAttributes } from '@opentelemetry/resources';
import { MeterProvider, PeriodicExportingMetricReader } from '@opentelemetry/sdk-metrics';
import {
  AlwaysOnSampler,
  BatchSpanProcessor,
  ParentBasedSampler,
  TraceIdRatioBasedSampler,
  TracerProvider,
  type Sampler,
} from '@opentelemetry/sdk-trace';
import { MINUTE, SECOND } from '../lib/clock.ts';
import { publicError } from '../lib/errors.ts';
import { withTimeout } from '../lib/with-timeout.ts';
import { createProducer } from './otlp-metrics.ts';
import type { OtlpSettings, Sampling, Signal } from './otlp-settings.ts';
import type { Family } from './series.ts';
import { traceIn } from './trace-context.ts';
import { NO_TRACING, type Span, type SpanOptions, type Tracing } from './tracing.ts';

/* Loaded only when a collector is configured. */

/** Time for the last export when the process stops. A collector that hangs may take no longer. */
const LAST_EXPORT_MS = 2 * SECOND;
const SCOPE = 'gatehouse';

interface OtlpContext {
  log: ReportLog;
  version: string;
  /** A file with a further certificate authority, in PEM. */
  caFile: string | undefined;
  /** Returns the metrics to send. */
  families(): Promise<Family[]>;
  /** Returns whether an app at this origin may see the ids of our traces. */
  reaches(origin: string): boolean;
}

/** Sends traces and metrics to a collector until it is closed. */
export interface Otlp {
  readonly tracing: Tracing;
  /** Sends the rest, for 2 s at most. */
  close(): Promise<void>;
}

export function openOtlp(
  { traces, metrics, resource: attributes }: OtlpSettings,
  context: OtlpContext,
): Otlp {
  const resource = resourceFromAttributes({ 'service.version': context.version, ...attributes });
  const provider =
    traces &&
    new TracerProvider({
      resource,
      sampler: samplerOf(traces.sampling),
      spanProcessors: [
        new BatchSpanProcessor({
          exporter: traceExporter(traces, context),
          scheduledDelayMillis: traces.delayMs,
          exportTimeoutMillis: traces.timeoutMs + SECOND,
        }),
      ],
    });
  const meters =
    metrics &&
    new MeterProvider({
      resource,
      readers: [
        new PeriodicExportingMetricReader({
          exporter: metricExporter(metrics, context),
          exportIntervalMillis: metrics.intervalMs,
          exportTimeoutMillis: Math.min(metrics.intervalMs, metrics.timeoutMs + SECOND),
          metricProducers: [createProducer(context.families, { name: SCOPE, version: context.version })],
        }),
      ],
    });
  return {
    tracing: provider
      ? createTracing(provider.getTracer(SCOPE, context.version), context.reaches)
      : NO_TRACING,
    async close() {
      const ended = Promise.allSettled([provider?.shutdown(), meters?.shutdown()]);
      await withTimeout(ended, LAST_EXPORT_MS).catch(() => {});
    },
  };
}

function samplerOf({ parentBased, ratio }: Sampling): Sampler {
  const root = ratio === 1 ? new AlwaysOnSampler() : new TraceIdRatioBasedSampler(ratio);
  return parentBased ? new ParentBasedSampler({ root }) : root;
}

function traceExporter(signal: Signal, context: OtlpContext) {
  const serializer = signal.protocol === 'http/json' ? JsonTraceSerializer : ProtobufTraceSerializer;
  const delegate = createOtlpHttpExportDelegate(
    transportOf(signal, context),
    serializer,
    'otlp_http_span_exporter',
    TraceExporterMetricsHelper,
    undefined,
  );
  return reported(delegate, createExportReport(context.log, 'traces'));
}

function metricExporter(signal: Signal, context: OtlpContext) {
  const serializer = signal.protocol === 'http/json' ? JsonMetricsSerializer : ProtobufMetricsSerializer;
  const delegate = createOtlpHttpExportDelegate(
    transportOf(signal, context),
    serializer,
    'otlp_http_metric_exporter',
    MetricsExporterMetricsHelper,
    undefined,
  );
  return reported(delegate, createExportReport(context.log, 'metrics'));
}

function transportOf(
  { url, headers, protocol, timeoutMs, compression }: Signal,
  { version, caFile }: OtlpContext,
): Parameters<typeof createOtlpHttpExportDelegate>[0] {
  const contentType = protocol === 'http/json' ? 'application/json' : 'application/x-protobuf';
  const ca = caFile === undefined ? {} : { ca: readFileSync(caFile) };
  return {
    url,
    headers: async () => ({ ...headers, 'Content-Type': contentType }),
    timeoutMillis: timeoutMs,
    compression,
    concurrencyLimit: 4,
    agentFactory: httpAgentFactoryFromOptions({ keepAlive: true, ...ca }),
    userAgent: `Gatehouse/${version}`,
  };
}

interface Delegate<T> {
  export(items: T, done: (result: { code: number; error?: Error }) => void): void;
  forceFlush(): Promise<void>;
  shutdown(): Promise<void>;
}

/** Returns an exporter that reports its failures. */
function reported<T>(delegate: Delegate<T>, report: ExportReport): Delegate<T> {
  return {
    export(items, done) {
      delegate.export(items, (result) => {
        if (result.code === 0) report.succeeded();
        else report.failed(result.error);
        done(result);
      });
    },
    forceFlush: () => delegate.forceFlush(),
    shutdown: () => delegate.shutdown(),
  };
}

const KINDS = { server: SpanKind.SERVER, client: SpanKind.CLIENT, internal: SpanKind.INTERNAL };

function createTracing(tracer: Tracer, reaches: Tracing['reaches']): Tracing {
  const current = new AsyncLocalStorage<{ context: Context; span: Span; ended: boolean }>();
  const start = ({ name, kind, attributes, startedAt, parent }: SpanOptions): ApiSpan => {
    const around = current.getStore();
    // A loop that a request woke may run for hours. Its work begins traces of its own once that request is answered.
    const ambient = around && !around.ended ? around.context : ROOT_CONTEXT;
    const remote = parent && remoteContext(parent);
    const ambientSpan = trace.getSpanContext(ambient);
    // The client's span is the parent of an MCP request, whatever request of HTTP carries it (semantic conventions of MCP).
    const links: Link[] = remote && ambientSpan ? [{ context: ambientSpan }] : [];
    return tracer.startSpan(
      name,
      { kind: KINDS[kind], attributes, links, startTime: startedAt },
      remote ?? ambient,
    );
  };
  return {
    traces: true,
    reaches,
    note: (facts) => current.getStore()?.span.note(facts),
    span(options, work) {
      const started = start(options);
      const span = spanOf(started);
      const here = { context: trace.setSpan(ROOT_CONTEXT, started), span, ended: false };
      return current.run(here, async () => {
        try {
          return await work(span);
        } catch (error) {
          span.fail(publicError(error).code);
          throw error;
        } finally {
          here.ended = true;
          started.end();
        }
      });
    },
  };
}

function spanOf(started: ApiSpan): Span {
  const { traceId, spanId, traceState } = started.spanContext();
  const tracestate = traceState?.serialize();
  return {
    traceId,
    headers: started.isRecording()
      ? { traceparent: `00-${traceId}-${spanId}-01`, ...(tracestate ? { tracestate } : {}) }
      : undefined,
    note({ name, attributes }) {
      if (name !== undefined) started.updateName(name);
      if (attributes) started.setAttributes(attributes);
    },
    fail(type) {
      started.setAttribute('error.type', type);
      started.setStatus({ code: SpanStatusCode.ERROR });
    },
  };
}

/** Returns the context of the trace that a caller sent; undefined without a valid one. */
function remoteContext(values: NonNullable<SpanOptions['parent']>): Context | undefined {
  const { traceparent, tracestate } = traceIn(values) ?? {};
  if (traceparent === undefined || traceparent.startsWith('ff')) return undefined;
  const [, traceId = '', spanId = '', flags = ''] = traceparent.split('-');
  return trace.setSpanContext(ROOT_CONTEXT, {
    traceId,
    spanId,
    traceFlags: Number.parseInt(flags, 16) & 1,
    isRemote: true,
    ...(tracestate === undefined ? {} : { traceState: createTraceState(tracestate) }),
  });
}

/** The part of the log that the report uses. */
interface ReportLog {
  info(facts: object, message: string): void;
  warn(facts: object, message: string): void;
}

/** Reports failed exports to the log, once in five minutes, and their end. */
interface ExportReport {
  succeeded(): void;
  failed(error: Error | undefined): void;
}

const REPORT_INTERVAL_MS = 5 * MINUTE;
const MAX_REASON = 200;

function createExportReport(log: ReportLog, signal: 'traces' | 'metrics'): ExportReport {
  let failures = 0;
  let loggedAt = -Infinity;
  return {
    succeeded() {
      if (failures > 0) log.info({ signal, failures }, 'telemetry exported again');
      failures = 0;
      loggedAt = -Infinity;
    },
    failed(error) {
      failures++;
      const now = performance.now();
      if (now - loggedAt < REPORT_INTERVAL_MS) return;
      loggedAt = now;
      log.warn({ signal, failures, reason: reasonOf(error) }, 'telemetry not exported, will go on');
    },
  };
}

/** Returns the cause without the answer of the collector. */
function reasonOf(error: Error | undefined): string {
  if (!error) return 'no answer';
  const code = 'code' in error && error.code !== undefined ? `${String(error.code)} ` : '';
  return `${code}${error.message}`.slice(0, MAX_REASON);
}
