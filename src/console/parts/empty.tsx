import { Stack, Text, ThemeIcon, Title } from '@mantine/core';
import { IconInbox } from '@tabler/icons-react';
import type { ReactNode } from 'react';

/** Shown in place of an empty list: why it is empty, and what to do. */
export function Empty({
  title,
  children,
  icon = <IconInbox aria-hidden />,
  action,
}: {
  title: string;
  children: ReactNode;
  icon?: ReactNode;
  action?: ReactNode;
}) {
  return (
    <Stack align="center" gap="xs" py="xl" px="md" ta="center">
      <ThemeIcon variant="light" size={44} radius="xl">
        {icon}
      </ThemeIcon>
      <Title order={3}>{title}</Title>
      <Text size="sm" c="dimmed" maw={460} component="div">
        {children}
      </Text>
      {action}
    </Stack>
  );
}
