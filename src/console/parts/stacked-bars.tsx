import '@mantine/charts/styles.css';
import { BarChart } from '@mantine/charts';
import { Text } from '@mantine/core';

const HEIGHT = 240;

/** A chart of stacked bars with a legend. */
export function StackedBars({
  label,
  bars,
  series,
}: {
  label: string;
  bars: Record<string, unknown>[];
  /** The parts of a bar, the lowest first. */
  series: { name: string; label: string; color: string }[];
}) {
  return (
    <figure style={{ margin: 0 }} aria-label={label}>
      <Text component="figcaption" size="sm" fw={600} mb="xs">
        {label}
      </Text>
      <BarChart
        h={HEIGHT}
        data={bars}
        dataKey="label"
        type="stacked"
        withLegend
        legendProps={{ verticalAlign: 'bottom' }}
        series={series}
        barProps={{ isAnimationActive: false }}
        yAxisProps={{ allowDecimals: false, width: 44 }}
        tickLine="none"
        gridAxis="y"
      />
    </figure>
  );
}
