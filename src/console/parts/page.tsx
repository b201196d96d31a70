import { Box, Group, Stack, Text, Title } from '@mantine/core';
import { useEffect, type ReactNode } from 'react';
import { Breakable } from './values.tsx';

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
            <Breakable text={title} />
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

/** Links to what operators look for on a long page, or next. */
export function Jumps({ children }: { children: ReactNode }) {
  return (
    <Group component="nav" aria-label="On this page" gap="lg" mt={-8}>
      {children}
    </Group>
  );
}

/** A bordered part of a page with its own heading. */
export function Section({
  id,
  title,
  aside,
  children,
  flush = false,
}: {
  /** The target of a link to this part. */
  id?: string;
  title: string;
  aside?: ReactNode;
  children: ReactNode;
  /** Without padding, for tables. */
  flush?: boolean;
}) {
  return (
    <section className="card" aria-label={title} id={id}>
      <Group justify="space-between" px="md" pt="md" pb={flush ? 'sm' : 0} gap="xs">
        <Title order={2}>{title}</Title>
        {aside}
      </Group>
      <Box p={flush ? 0 : 'md'}>{children}</Box>
    </section>
  );
}
