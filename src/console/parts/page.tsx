import { Box, Group, Stack, Text, Title } from '@mantine/core';
import { useEffect, type ReactNode } from 'react';

interface PageProps {
  title: string;
  /** The purpose of the page, in one sentence. */
  lead?: ReactNode;
  /** Buttons next to the title. */
  actions?: ReactNode;
  children: ReactNode;
}

/** The frame of a page: its title, which is also the title of the window, and its content. */
export function Page({ title, lead, actions, children }: PageProps) {
  useEffect(() => {
    document.title = `${title} · Gatehouse`;
  }, [title]);
  return (
    <Stack gap="lg">
      <Group justify="space-between" align="flex-start" gap="sm">
        <Box maw={720} miw={0}>
          <Title order={1} style={{ overflowWrap: 'anywhere' }}>
            {title}
          </Title>
          {lead && (
            <Text c="dimmed" mt={4}>
              {lead}
            </Text>
          )}
        </Box>
        {actions && <Group gap="xs">{actions}</Group>}
      </Group>
      {children}
    </Stack>
  );
}

/** A bordered part of a page with its own heading. */
export function Section({
  title,
  aside,
  children,
  flush = false,
}: {
  title: string;
  aside?: ReactNode;
  children: ReactNode;
  /** Without padding, for tables. */
  flush?: boolean;
}) {
  return (
    <section className="card" aria-label={title}>
      <Group justify="space-between" px="md" pt="md" pb={flush ? 'sm' : 0} gap="xs">
        <Title order={2}>{title}</Title>
        {aside}
      </Group>
      <Box p={flush ? 0 : 'md'}>{children}</Box>
    </section>
  );
}
