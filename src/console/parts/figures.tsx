import { SegmentedControl, Text } from '@mantine/core';

const SPANS = [
  { value: '24', label: 'Day' },
  { value: '168', label: 'Week' },
];

/** The choice of the hours that a chart shows, as text. */
export function SpanChoice({ span, onChange }: { span: string; onChange: (span: string) => void }) {
  return <SegmentedControl size="xs" aria-label="Time span" value={span} onChange={onChange} data={SPANS} />;
}

/** A number with its name above it and a note below it. */
export function Figure({ label, value, note }: { label: string; value: string; note?: string }) {
  return (
    <div>
      <Text size="sm" c="dimmed">
        {label}
      </Text>
      <Text fw={650} style={{ fontSize: '1.6rem', lineHeight: 1.3, fontVariantNumeric: 'tabular-nums' }}>
        {value}
      </Text>
      {note && (
        <Text size="xs" c="dimmed">
          {note}
        </Text>
      )}
    </div>
  );
}
