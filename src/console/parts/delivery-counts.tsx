import { SimpleGrid, Stack, Text } from '@mantine/core';
import { lazy, Suspense, useState } from 'react';
import type { DeliverySummary } from '../api-types.ts';
import { useRest } from '../queries.ts';
import { ErrorNotice } from './error-notice.tsx';
import { Figure, SpanChoice } from './figures.tsx';
import { Section } from './page.tsx';
import { Loading } from './records.tsx';
import { count } from './values.tsx';

const Chart = lazy(async () => ({ default: (await import('./delivery-chart.tsx')).DeliveryChart }));

const EVERY_MS = 15_000;

/** The deliveries of a day or a week in numbers and a chart. */
export function DeliveryCounts() {
  const [span, setSpan] = useState('24');
  const summary = useRest('/api/deliveries/summary', { query: { hours: Number(span) }, everyMs: EVERY_MS });
  return (
    <Section title="Deliveries" aside={<SpanChoice span={span} onChange={setSpan} />}>
      {summary.isError ? (
        <ErrorNotice error={summary.error} again={() => void summary.refetch()} />
      ) : summary.data ? (
        <Counts summary={summary.data} />
      ) : (
        <Loading rows={4} />
      )}
    </Section>
  );
}

function Counts({ summary: { total, hours } }: { summary: DeliverySummary }) {
  const all = total.succeeded + total.waiting + total.dead + total.cancelled;
  if (all === 0) return <Text c="dimmed">There were no deliveries in this time.</Text>;
  return (
    <Stack gap="lg">
      <SimpleGrid cols={{ base: 2, sm: 4 }}>
        <Figure label="Deliveries" value={count(all)} />
        <Figure label="Arrived" value={count(total.succeeded)} />
        <Figure label="Waiting" value={count(total.waiting)} />
        <Figure label="Given up" value={count(total.dead)} />
      </SimpleGrid>
      <Suspense fallback={<Loading rows={6} />}>
        <Chart hours={hours} />
      </Suspense>
    </Stack>
  );
}
