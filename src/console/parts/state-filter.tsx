import { Group, SegmentedControl } from '@mantine/core';
import { useEffect, useRef } from 'react';

/** A row of states, of which one is chosen. On a narrow screen it scrolls, and the chosen one is in view. */
export function StateFilter({
  label,
  value,
  data,
  onChange,
}: {
  label: string;
  value: string;
  data: readonly { value: string; label: string }[];
  onChange: (value: string) => void;
}) {
  const row = useRef<HTMLDivElement>(null);
  useEffect(() => {
    row.current?.querySelector('[data-active]')?.scrollIntoView({ block: 'nearest', inline: 'center' });
  }, [value]);
  return (
    <Group ref={row} style={{ overflowX: 'auto' }}>
      <SegmentedControl aria-label={label} value={value} onChange={onChange} data={[...data]} />
    </Group>
  );
}
