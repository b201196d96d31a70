import { Box } from '@mantine/core';
import { Copy } from './values.tsx';

/** A text to copy, such as a configuration or a link. */
export function CodeBlock({ text, label }: { text: string; label: string }) {
  return (
    <Box pos="relative">
      <pre className="block wrapped" aria-label={label} tabIndex={0}>
        {text}
      </pre>
      <Box pos="absolute" top={7} right={7} bg="var(--surface)" style={{ borderRadius: 6 }}>
        <Copy text={text} label={`Copy: ${label}`} />
      </Box>
    </Box>
  );
}
