import { collectDefaultMetrics, Counter, Gauge, Histogram, register, Registry } from 'prom-client';
import type { Family, Series } from './series.ts';

/* Loaded at the first scrape. */

/** A page of metrics in Prometheus' text format. */
export interface MetricsPage {
  text: string;
  contentType: string;
}

/** Returns the families and the metrics of the process and of Node.js as text. */
export async function renderPrometheus(families: readonly Family[]): Promise<MetricsPage> {
  // The library's own registry holds what belongs to the process, so several services in a process share it.
  if (register.getMetricsAsArray().length === 0) collectDefaultMetrics();
  const registry = new Registry();
  for (const family of families) addTo(registry, family);
  const text = `${await registry.metrics()}\n${withoutEmptyLag(await register.metrics())}`;
  return { text, contentType: registry.contentType };
}

/**
 * Leaves out the gauges of the event loop's lag when nothing was measured since the last scrape. The library then gives NaN
 * as the mean and its largest number as the minimum.
 */
function withoutEmptyLag(text: string): string {
  if (!/^nodejs_eventloop_lag_mean_seconds nan$/im.test(text)) return text;
  return text.replaceAll(/^nodejs_eventloop_lag_\w+_seconds .*\n/gm, '');
}

function addTo(registry: Registry, family: Family): void {
  const { kind, name, help, labels } = family;
  const options = { name, help, labelNames: labels, registers: [registry] };
  if (kind === 'histogram') {
    registry.registerMetric(new CountedHistogram({ ...options, registers: [] }, family));
    return;
  }
  if (kind === 'counter') {
    const counter = new Counter(options);
    for (const series of family.series()) counter.inc(labelsOf(family, series), series.value);
    return;
  }
  const gauge = new Gauge(options);
  for (const series of family.series()) gauge.set(labelsOf(family, series), series.value);
}

/** A histogram whose observations were counted before: the library can only count them itself. */
class CountedHistogram extends Histogram {
  readonly #family: Family;

  constructor(options: ConstructorParameters<typeof Histogram>[0], family: Family) {
    super(options);
    this.#family = family;
  }

  /** Returns the lines of the text format: a cumulated count for each bound, the sum and the count. */
  async getForPromString() {
    const { name, help, kind: type, bounds } = this.#family;
    const values = [...this.#family.series()].flatMap((series) => {
      const sharedLabels = labelsOf(this.#family, series);
      let below = 0;
      const buckets = series.buckets.map((count, index) => {
        below += count;
        const labels = { le: bounds[index] ?? '+Inf' };
        return { metricName: `${name}_bucket`, labels, sharedLabels, value: below };
      });
      return [
        ...buckets,
        { metricName: `${name}_sum`, labels: {}, sharedLabels, value: series.sum },
        { metricName: `${name}_count`, labels: {}, sharedLabels, value: series.value },
      ];
    });
    return { name, help, type, values };
  }
}

function labelsOf({ labels }: Family, series: Series): Record<string, string> {
  return Object.fromEntries(labels.map((label, index) => [label, series.labels[index] ?? '']));
}
