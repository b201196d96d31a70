import { SimpleGrid, Text } from '@mantine/core';

/** Two values next to each other: before and after. */
export function Difference({ before, after }: { before: unknown; after: unknown }) {
  return (
    <SimpleGrid cols={{ base: 1, sm: 2 }} spacing="xs">
      <Value title="Before" value={before} />
      <Value title="After" value={after} />
    </SimpleGrid>
  );
}

function Value({ title, value }: { title: string; value: unknown }) {
  const isNone = value === undefined || value === null;
  return (
    <div style={{ minWidth: 0 }}>
      <Text size="xs" c="dimmed" mb={2}>
        {title}
      </Text>
      <pre className="block" tabIndex={0} aria-label={title} style={{ maxHeight: 320 }}>
        {isNone ? 'none' : typeof value === 'string' ? value : JSON.stringify(value, null, 2)}
      </pre>
    </div>
  );
}
