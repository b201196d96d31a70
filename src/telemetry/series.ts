/* Counts in memory, by label values. Prometheus and OTLP read them; recording one costs a few look-ups in maps. */

/** Values of one combination of labels. A counter and a gauge use `value`; a histogram uses the others. */
export interface Series {
  readonly labels: readonly string[];
  value: number;
  /** Number of observations, by index of the bound; the last one is above all bounds. */
  readonly buckets: number[];
  sum: number;
}

/** A metric with all its series, as readers see it. */
export interface Family {
  readonly kind: 'counter' | 'gauge' | 'histogram';
  /** Name of Prometheus, with unit, and with `_total` for a counter. */
  readonly name: string;
  readonly help: string;
  readonly labels: readonly string[];
  /** Upper bounds of the buckets, ascending; empty unless it is a histogram. */
  readonly bounds: readonly number[];
  series(): Iterable<Series>;
}

/** One value for each label. */
type ValuesOf<L extends readonly string[]> = { [K in keyof L]: string };

export interface Counter<L extends readonly string[]> extends Family {
  /** Adds one. */
  count(...values: ValuesOf<L>): void;
}

export interface Histogram<L extends readonly string[]> extends Family {
  observe(seconds: number, ...values: ValuesOf<L>): void;
}

export interface Gauge extends Family {
  /** Adds a part of the value, read when a reader asks. Returns the function that removes the part. */
  watch(read: () => number): () => void;
}

interface Description<L extends readonly string[]> {
  name: string;
  help: string;
  labels: L;
  /** Number of series; further label values are counted as `other`. */
  maxSeries?: number;
}

const MAX_SERIES = 2000;
/** Label value of everything beyond the limit of series. */
const OTHER = 'other';

export function createCounter<const L extends readonly string[]>(of: Description<L>): Counter<L> {
  const { find, all } = createSeries(of, 0);
  return {
    ...familyOf('counter', of, all),
    count(...values) {
      find(values).value += 1;
    },
  };
}

export function createHistogram<const L extends readonly string[]>(
  of: Description<L>,
  bounds: readonly number[],
): Histogram<L> {
  const { find, all } = createSeries(of, bounds.length + 1);
  return {
    ...familyOf('histogram', of, all),
    bounds,
    observe(seconds, ...values) {
      const series = find(values);
      let at = 0;
      while (at < bounds.length && seconds > (bounds[at] ?? 0)) at++;
      series.buckets[at] = (series.buckets[at] ?? 0) + 1;
      series.sum += seconds;
      series.value += 1;
    },
  };
}

export function createGauge(of: Omit<Description<[]>, 'labels'>): Gauge {
  const parts = new Set<() => number>();
  const valueOf = () => [...parts].reduce((sum, read) => sum + read(), 0);
  return {
    ...familyOf('gauge', { ...of, labels: [] }, () => [seriesOf([], valueOf())]),
    watch(read) {
      parts.add(read);
      return () => parts.delete(read);
    },
  };
}

/** Returns a gauge with values that were read before. */
export function gaugeOf(
  { name, help, labels }: Omit<Description<readonly string[]>, 'maxSeries'>,
  values: readonly (readonly [value: number, ...labels: string[]])[],
): Family {
  const series = values.map(([value, ...given]) => seriesOf(given, value));
  return familyOf('gauge', { name, help, labels }, () => series);
}

function familyOf(
  kind: Family['kind'],
  { name, help, labels }: Description<readonly string[]>,
  series: () => Iterable<Series>,
): Family {
  return { kind, name, help, labels, bounds: [], series };
}

function seriesOf(labels: readonly string[], value = 0, buckets = 0): Series {
  return { labels, value, buckets: Array.from({ length: buckets }, () => 0), sum: 0 };
}

/** A step of the way to a series: one map for each label. */
interface Step {
  readonly next: Map<string, Step>;
  series: Series | undefined;
}

function createSeries(
  { labels, maxSeries = MAX_SERIES }: Description<readonly string[]>,
  buckets: number,
): { find(values: readonly string[]): Series; all(): Iterable<Series> } {
  const root: Step = { next: new Map(), series: undefined };
  const all: Series[] = [];
  const rest = labels.map(() => OTHER);
  const create = (values: readonly string[]): Series => {
    if (all.length >= maxSeries && values !== rest) return find(rest);
    let step = root;
    for (const value of values) {
      const known = step.next.get(value) ?? { next: new Map(), series: undefined };
      step.next.set(value, known);
      step = known;
    }
    step.series = seriesOf([...values], 0, buckets);
    all.push(step.series);
    return step.series;
  };
  const find = (values: readonly string[]): Series => {
    let step: Step | undefined = root;
    for (const value of values) {
      step = step.next.get(value);
      if (!step) return create(values);
    }
    return step.series ?? create(values);
  };
  return { find, all: () => all };
}
