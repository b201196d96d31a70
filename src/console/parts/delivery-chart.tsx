import '@mantine/charts/styles.css';
import { BarChart } from '@mantine/charts';
import type { DeliverySummary } from '../api-types.ts';
import { barsOf, sumOf } from './hour-bars.ts';

const HEIGHT = 220;

type Hour = DeliverySummary['hours'][number];

/** A chart of deliveries by state. The same numbers stand above it as text. */
export function DeliveryChart({ hours }: { hours: Hour[] }) {
  return (
    <figure style={{ margin: 0 }} aria-label="Deliveries by state">
      <BarChart
        h={HEIGHT}
        data={barsOf(hours, joined)}
        dataKey="label"
        type="stacked"
        withLegend
        legendProps={{ verticalAlign: 'bottom' }}
        series={[
          { name: 'succeeded', label: 'Arrived', color: 'gate.6' },
          { name: 'waiting', label: 'Waiting', color: 'orange.5' },
          { name: 'dead', label: 'Given up', color: 'red.7' },
          { name: 'cancelled', label: 'Cancelled', color: 'gray.5' },
        ]}
        barProps={{ isAnimationActive: false }}
        yAxisProps={{ allowDecimals: false, width: 44 }}
        tickLine="none"
        gridAxis="y"
      />
    </figure>
  );
}

function joined(group: Hour[]) {
  return {
    succeeded: sumOf(group, 'succeeded'),
    waiting: sumOf(group, 'waiting'),
    dead: sumOf(group, 'dead'),
    cancelled: sumOf(group, 'cancelled'),
  };
}
