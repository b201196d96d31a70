import { Button } from '@mantine/core';
import { IconArrowLeft } from '@tabler/icons-react';
import { Link } from 'react-router';
import { Page } from '../parts/page.tsx';
import { Runs } from '../parts/runs.tsx';
import { useAll } from '../queries.ts';

/** The runs of all workflows, which Start opens with those that failed. */
export function RunList() {
  const { data } = useAll('/workflows');
  return (
    <Page
      title="Runs"
      lead="Runs of all workflows. A run that failed shows its step and the reason. Open it to retry it."
      actions={
        <Button
          component={Link}
          to="/workflows"
          variant="default"
          leftSection={<IconArrowLeft size={16} aria-hidden />}
        >
          All workflows
        </Button>
      }
    >
      <Runs nameOf={(workflowId) => data?.find((one) => one.workflowId === workflowId)?.name ?? workflowId} />
    </Page>
  );
}
