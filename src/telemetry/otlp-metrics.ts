import { monitorEventLoopDelay } from 'node:perf_hooks';
import { ValueType, type HrTime } from '@opentelemetry/api';
import { emptyResource } from '@opentelemetry/resources';
import {
  AggregationTemporality,
  DataPointType,
  type MetricData,
  type MetricProducer,
} from '@opentelemetry/sdk-metrics';
import { SECOND } from '../lib/clock.ts';
import { gaugeOf, type Family, type Series } from './series.ts';

/**
 * Returns the producer of our metrics for the SDK of OpenTelemetry. Names lose the unit and `_total`, which a collector adds
 * again for Prometheus, so both ways give one name.
 */
export function createProducer(
  families: () => Promise<Family[]>,
  scope: { name: string; version: string },
): MetricProducer {
  const startTime = toHrTime(performance.timeOrigin);
  const processFamilies = watchProcess();
  return {
    async collect() {
      const endTime = toHrTime(performance.timeOrigin + performance.now());
      const all = [...(await families()), ...processFamilies()];
      const metrics = all.map((family) => toMetric(family, { startTime, endTime }));
      return {
        resourceMetrics: { resource: emptyResource(), scopeMetrics: [{ scope, metrics }] },
        errors: [],
      };
    },
  };
}

/** Returns the function that reads memory and event loop, by the names of OpenTelemetry's conventions. */
function watchProcess(): () => Family[] {
  const delay = monitorEventLoopDelay({ resolution: 10 });
  delay.enable();
  const gauge = (name: string, help: string, value: number) => gaugeOf({ name, help, labels: [] }, [[value]]);
  return () => {
    const [p99, max] = [delay.percentile(99) / 1e9, delay.max / 1e9];
    delay.reset();
    return [
      gauge('nodejs.eventloop.delay.p99_seconds', 'Event loop 99th percentile delay.', p99),
      gauge('nodejs.eventloop.delay.max_seconds', 'Event loop maximum delay.', max),
      gauge('process.memory.usage_bytes', 'The amount of physical memory in use.', process.memoryUsage.rss()),
    ];
  };
}

interface Times {
  startTime: HrTime;
  endTime: HrTime;
}

function toMetric(family: Family, times: Times): MetricData {
  const facts = {
    descriptor: {
      name: family.name.replace(/(_total|_seconds|_bytes)$/, ''),
      description: family.help,
      unit: unitOf(family),
      valueType: ValueType.DOUBLE,
    },
    aggregationTemporality: AggregationTemporality.CUMULATIVE,
  };
  const series = [...family.series()];
  const point = (one: Series) => ({ ...times, attributes: attributesOf(family, one) });
  if (family.kind === 'histogram') {
    const boundaries = [...family.bounds];
    const dataPoints = series.map((one) => ({
      ...point(one),
      value: { buckets: { boundaries, counts: [...one.buckets] }, sum: one.sum, count: one.value },
    }));
    return { ...facts, dataPointType: DataPointType.HISTOGRAM, dataPoints };
  }
  const dataPoints = series.map((one) => ({ ...point(one), value: one.value }));
  return family.kind === 'counter'
    ? { ...facts, dataPointType: DataPointType.SUM, isMonotonic: true, dataPoints }
    : { ...facts, dataPointType: DataPointType.GAUGE, dataPoints };
}

function unitOf({ name, kind }: Family): string {
  if (name.endsWith('_seconds')) return 's';
  if (name.endsWith('_bytes')) return 'By';
  return kind === 'counter' ? '{count}' : '';
}

function attributesOf({ labels }: Family, series: Series): Record<string, string> {
  return Object.fromEntries(labels.map((label, index) => [label, series.labels[index] ?? '']));
}

function toHrTime(epochMs: number): HrTime {
  const seconds = Math.trunc(epochMs / SECOND);
  return [seconds, Math.round((epochMs - seconds * SECOND) * 1e6)];
}
