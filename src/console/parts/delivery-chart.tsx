import type { DeliverySummary } from '../api-types.ts';
import { barsOf, sumOf } from './hour-bars.ts';
import { StackedBars } from './stacked-bars.tsx';

type Hour = DeliverySummary['hours'][number];

/** A chart of deliveries by state. The same numbers stand above it as text. */
export function DeliveryChart({ hours }: { hours: Hour[] }) {
  return (
    <StackedBars
      label="Deliveries by state"
      bars={barsOf(hours, joined)}
      series={[
        { name: 'succeeded', label: 'Arrived', color: 'gate.6' },
        { name: 'waiting', label: 'Waiting', color: 'orange.5' },
        { name: 'dead', label: 'Given up', color: 'red.7' },
        { name: 'cancelled', label: 'Cancelled', color: 'gray.5' },
      ]}
    />
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
