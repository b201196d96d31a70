import { Anchor } from '@mantine/core';
import type { ReactNode } from 'react';
import { BASE } from '../page-facts.ts';

/** A link to a page of the documentation, such as `workflows#installations`. */
export function DocsLink({ to, children }: { to: string; children: ReactNode }) {
  return (
    <Anchor href={`${BASE}/docs/${to}`} underline="always">
      {children}
    </Anchor>
  );
}
