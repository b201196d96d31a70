import { Group, Text } from '@mantine/core';
import type { Effect } from '../api-types.ts';
import { State } from './values.tsx';

/** Options that a list shows at once. The rest is found by typing. */
export const SHOWN_OPTIONS = 100;

/** An option for something that runs: its name, its id below it, and its effect unless it only reads. */
export function EffectOption({ name, id, effect }: { name: string; id: string; effect: Effect }) {
  return (
    <Group justify="space-between" gap="xs" wrap="nowrap" flex={1}>
      <div>
        {name}
        <Text size="xs" c="dimmed" className="mono">
          {id}
        </Text>
      </div>
      {effect !== 'read' && <State value={effect} />}
    </Group>
  );
}
