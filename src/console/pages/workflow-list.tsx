import { Anchor, Badge, Button, Group } from '@mantine/core';
import { IconPlus } from '@tabler/icons-react';
import { Link } from 'react-router';
import type { VersionRecord, WorkflowRecord } from '../api-types.ts';
import { DocsLink } from '../parts/docs-link.tsx';
import { Empty } from '../parts/empty.tsx';
import { Page, Section } from '../parts/page.tsx';
import { UnpagedList, type Column } from '../parts/records.tsx';
import { Runs } from '../parts/runs.tsx';
import { When } from '../parts/values.tsx';
import { useAll } from '../queries.ts';
import { useScope } from '../signed-in.ts';

/** The workflows of the environment, and the runs of all. */
export function WorkflowList() {
  const list = useAll('/workflows');
  const mayWrite = useScope('workflows:write');
  const nameOf = (workflowId: string) =>
    list.data?.find((one) => one.workflowId === workflowId)?.name ?? workflowId;
  return (
    <Page
      title="Workflows"
      lead="A workflow runs actions in the accounts of its users: at an event, by a schedule, at a call, or on demand."
      actions={
        mayWrite && (
          <Button component={Link} to="/workflows/new" leftSection={<IconPlus size={16} aria-hidden />}>
            New workflow
          </Button>
        )
      }
    >
      <Section title="All workflows" flush>
        <UnpagedList
          label="Workflows"
          list={list}
          columns={COLUMNS}
          keyOf={(row) => row.workflowId}
          empty={
            <Empty title="No workflows yet">
              {mayWrite && '“New workflow” above makes one. '}Six examples come with Gatehouse. See{' '}
              <DocsLink to="workflows#in-two-minutes">workflows in the documentation</DocsLink>.
            </Empty>
          }
        />
      </Section>
      <Section title="Runs of all workflows">
        <Runs nameOf={nameOf} />
      </Section>
    </Page>
  );
}

const COLUMNS: Column<WorkflowRecord>[] = [
  {
    label: 'Name',
    cell: (row) => (
      <Anchor component={Link} to={`/workflows/${row.workflowId}`} fw={600} size="sm">
        {row.name}
      </Anchor>
    ),
  },
  { label: 'Begins', cell: (row) => triggerInWords(row) },
  { label: 'Apps', cell: (row) => row.connectors.join(', ') || 'none' },
  {
    label: 'Version',
    cell: (row) => (
      <Group gap={6} wrap="nowrap">
        {row.version}
        {row.draft && <Draft />}
      </Group>
    ),
  },
  { label: 'Changed', end: true, cell: (row) => <When at={row.updatedAt} /> },
];

/** The mark of a version that no installation gets. */
export function Draft() {
  return (
    <Badge variant="light" color="gray" tt="none">
      draft
    </Badge>
  );
}

/** Returns the trigger of a workflow in words. */
export function triggerInWords({ definition: { trigger } }: Pick<VersionRecord, 'definition'>): string {
  switch (trigger?.type) {
    case 'event':
      return `at events of ${trigger.scope}`;
    case 'schedule':
      return `by the schedule ${trigger.cron}`;
    case 'call':
      return 'at a call of its address';
    default:
      return 'on demand';
  }
}
