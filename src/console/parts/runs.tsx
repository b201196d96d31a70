import { Anchor, Stack, Text } from '@mantine/core';
import { Link } from 'react-router';
import type { RunRecord } from '../api-types.ts';
import { useRest } from '../queries.ts';
import { isObject } from '../rest-client.ts';
import { Empty } from './empty.tsx';
import { List, type Column } from './records.tsx';
import { chosen, useCursor, useFilters } from './search-params.ts';
import { StateFilter } from './state-filter.tsx';
import { UserName } from './user-name.tsx';
import { duration, State, When } from './values.tsx';

const FILTERS = ['status'] as const;
const STATUSES = [
  { value: '', label: 'All' },
  { value: 'queued', label: 'Queued' },
  { value: 'running', label: 'Running' },
  { value: 'waiting', label: 'Waiting' },
  { value: 'succeeded', label: 'Succeeded' },
  { value: 'failed', label: 'Failed' },
  { value: 'cancelled', label: 'Cancelled' },
] as const;
/** No topic covers the changes of a run between its begin and its end. */
const EVERY_MS = 5000;

/** Runs, newest first, with a filter in the address. `nameOf` returns the names of workflows. */
export function Runs({
  workflowId,
  nameOf,
}: {
  /** Undefined for the runs of all workflows. */
  workflowId?: string;
  nameOf?: (workflowId: string) => string;
}) {
  const [filters, change] = useFilters(FILTERS);
  const status = chosen(STATUSES, filters.status);
  const { cursor, next, back } = useCursor();
  const list = useRest('/runs', {
    query: { workflowId, status, cursor, limit: 25 },
    topics: cursor === '' ? ['runs'] : [],
    everyMs: cursor === '' ? EVERY_MS : false,
  });
  return (
    <Stack>
      <StateFilter
        label="State of the runs"
        value={status}
        onChange={(value) => change({ status: value })}
        data={STATUSES}
      />
      <div className="card">
        <List
          label="Runs"
          list={list}
          columns={columns(nameOf)}
          keyOf={(row) => row.runId}
          empty={
            status !== '' || back ? (
              <Empty title="No run has this state">Runs are kept for 30 days.</Empty>
            ) : (
              <Empty title="No runs yet">
                A run begins when the trigger of an installed workflow fires. “Run now” at an installation on
                the page of the workflow begins one by hand.
              </Empty>
            )
          }
          pager={{ of: 'runs', back, next }}
        />
      </div>
    </Stack>
  );
}

function columns(nameOf: ((workflowId: string) => string) | undefined): Column<RunRecord>[] {
  return [
    {
      label: 'Run',
      cell: (row) => (
        <Anchor
          component={Link}
          to={`/workflows/${row.workflowId}/runs/${row.runId}`}
          className="mono"
          fw={600}
        >
          {row.runId}
        </Anchor>
      ),
    },
    {
      label: nameOf ? 'Workflow' : 'Version',
      cell: (row) => (nameOf ? `${nameOf(row.workflowId)}, version ${row.version}` : row.version),
    },
    {
      label: 'State',
      cell: (row) => (
        <div>
          <State value={row.status} />
          {row.error !== undefined && (
            <Text size="xs" c="dimmed" mt={2} lineClamp={4} maw={360} style={{ overflowWrap: 'anywhere' }}>
              {failureInWords(row.error)}
            </Text>
          )}
        </div>
      ),
    },
    { label: 'Begun by', cell: (row) => row.trigger },
    { label: 'User', cell: (row) => <UserName userId={row.userId} /> },
    { label: 'Took', end: true, cell: (row) => <span className="nowrap">{duration(timeOf(row))}</span> },
    { label: 'When', end: true, cell: (row) => <When at={row.createdAt} /> },
  ];
}

/** Returns the step that failed, and why. */
function failureInWords(error: unknown): string {
  const { stepId, error: sentence } = isObject(error) ? error : {};
  const step = typeof stepId === 'string' ? `Step ${stepId}: ` : '';
  return step + (typeof sentence === 'string' ? sentence : JSON.stringify(error));
}

/** Returns the time from the start of something to its end; null while it has none. */
export function timeOf({ startedAt, endedAt }: { startedAt: string | null; endedAt: string | null }) {
  return startedAt && endedAt ? Date.parse(endedAt) - Date.parse(startedAt) : null;
}
