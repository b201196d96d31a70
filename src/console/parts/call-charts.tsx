import '@mantine/charts/styles.css';
import { LineChart } from '@mantine/charts';
import { SimpleGrid, Text } from '@mantine/core';
import type { ExecutionSummary } from '../api-types.ts';
import { barsOf, sumOf } from './hour-bars.ts';
import { StackedBars } from './stacked-bars.tsx';
import { duration } from './values.tsx';

const HEIGHT = 240;

type Hour = ExecutionSummary['hours'][number];

/** Charts of calls by outcome and of their durations. The same numbers stand above them as text. */
export function CallCharts({ hours }: { hours: Hour[] }) {
  const bars = barsOf(hours, joined);
  return (
    <SimpleGrid cols={{ base: 1, md: 2 }} spacing="lg">
      <StackedBars
        label="Calls by outcome"
        bars={bars}
        series={[
          { name: 'succeeded', label: 'Succeeded', color: 'gate.6' },
          { name: 'failed', label: 'Failed', color: 'red.7' },
          { name: 'denied', label: 'Denied', color: 'orange.5' },
        ]}
      />
      <figure style={{ margin: 0 }} aria-label="Durations">
        <Text component="figcaption" size="sm" fw={600} mb="xs">
          Duration
        </Text>
        <LineChart
          h={HEIGHT}
          data={bars}
          dataKey="label"
          withLegend
          legendProps={{ verticalAlign: 'bottom', height: 36 }}
          series={[
            { name: 'p50Ms', label: 'Half within', color: 'gate.6' },
            { name: 'p95Ms', label: '95 % within', color: 'grape.6' },
          ]}
          valueFormatter={duration}
          lineProps={{ isAnimationActive: false }}
          yAxisProps={{ width: 64 }}
          withDots={bars.filter(({ p50Ms }) => p50Ms !== null).length < 3}
          connectNulls
          curveType="monotone"
          tickLine="none"
          gridAxis="y"
        />
      </figure>
    </SimpleGrid>
  );
}

function joined(group: Hour[]) {
  return {
    succeeded: sumOf(group, 'succeeded'),
    failed: sumOf(group, 'failed'),
    denied: sumOf(group, 'denied'),
    p50Ms: weighted(group, 'p50Ms'),
    p95Ms: weighted(group, 'p95Ms'),
  };
}

/** Returns the mean of the hours, weighted by their calls. */
function weighted(group: Hour[], key: 'p50Ms' | 'p95Ms'): number | null {
  let calls = 0;
  let total = 0;
  for (const hour of group) {
    const tried = hour.succeeded + hour.failed;
    calls += tried;
    total += tried * (hour[key] ?? 0);
  }
  return calls === 0 ? null : Math.round(total / calls);
}
