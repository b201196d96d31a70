import { Anchor, Button, Group, Select, SegmentedControl, Text } from '@mantine/core';
import { IconFilterOff } from '@tabler/icons-react';
import { Link } from 'react-router';
import type { ExecutionEntry } from '../api-types.ts';
import { errorInWords } from '../error-words.ts';
import { useServerName, useServers } from '../names.ts';
import { Empty } from '../parts/empty.tsx';
import { Page } from '../parts/page.tsx';
import { UserPicker } from '../parts/pickers.tsx';
import { List, type Column } from '../parts/records.tsx';
import { chosen, useCursor, useFilters } from '../parts/search-params.ts';
import { TypedFilter } from '../parts/typed-filter.tsx';
import { UserName } from '../parts/user-name.tsx';
import { duration, Name, State, When } from '../parts/values.tsx';
import { useRest } from '../queries.ts';

const FILTERS = [
  'outcome',
  'serverId',
  'connectorId',
  'actionId',
  'userId',
  'credentialId',
  'programId',
  'span',
] as const;
const OUTCOMES = [
  { value: '', label: 'All' },
  { value: 'succeeded', label: 'Succeeded' },
  { value: 'failed', label: 'Failed' },
  { value: 'denied', label: 'Denied' },
] as const;
const SPANS = [
  { value: '1', label: 'Last hour' },
  { value: '24', label: 'Last day' },
  { value: '168', label: 'Last 7 days' },
];
const HOUR_MS = 3_600_000;
const MINUTE_MS = 60_000;

/** The calls of actions, newest first, with filters in the address. */
export function Executions() {
  const [filters, setFilters] = useFilters(FILTERS);
  const { cursor, next, back } = useCursor();
  const { span, outcome, ...wanted } = filters;
  const list = useRest('/api/executions', {
    query: {
      ...wanted,
      outcome: chosen(OUTCOMES, outcome),
      from: startOf(span),
      cursor,
      limit: 50,
    },
    topics: cursor === '' ? ['executions'] : [],
  });
  const isFiltered = FILTERS.some((name) => filters[name] !== '');

  return (
    <Page
      title="Executions"
      lead="Each call of an action, over MCP or REST: who asked, what was decided, and how it ended."
    >
      <Filters filters={filters} change={setFilters} />
      <div className="card">
        <List
          label="Executions"
          list={list}
          columns={useColumns()}
          keyOf={(row) => row.executionId}
          empty={
            isFiltered || back ? (
              <Empty
                title="No call fits these filters"
                icon={<IconFilterOff aria-hidden />}
                action={
                  <Button
                    variant="default"
                    onClick={() => setFilters(Object.fromEntries(FILTERS.map((name) => [name, ''])))}
                  >
                    Remove the filters
                  </Button>
                }
              >
                Executions are kept for 90 days.
              </Empty>
            ) : (
              <Empty title="No calls yet">
                Connect an MCP client to a server, or run an action over REST. Each call appears here within
                two seconds.
              </Empty>
            )
          }
          pager={{ of: 'calls', back, next }}
        />
      </div>
    </Page>
  );
}

function useColumns(): Column<ExecutionEntry>[] {
  const nameOf = useServerName();
  return [
    {
      label: 'Action',
      cell: (row) => (
        <Anchor component={Link} to={`/executions/${row.executionId}`} size="sm" fw={600}>
          <Name value={`${row.connectorId}.${row.actionId}`} />
        </Anchor>
      ),
    },
    {
      label: 'Outcome',
      cell: (row) => (
        <div>
          <State value={row.outcome} />
          {row.outcome !== 'succeeded' && (
            <Text size="xs" c="dimmed" mt={2}>
              {errorInWords(row).title}
            </Text>
          )}
        </div>
      ),
    },
    { label: 'Server', cell: (row) => (row.serverId ? nameOf(row.serverId) : 'REST') },
    { label: 'User', cell: (row) => (row.userId ? <UserName userId={row.userId} /> : '–') },
    {
      label: 'Duration',
      end: true,
      cell: (row) => <span className="nowrap">{duration(row.durationMs)}</span>,
    },
    { label: 'When', end: true, cell: (row) => <When at={row.at} /> },
  ];
}

interface FilterProps {
  filters: Record<(typeof FILTERS)[number], string>;
  change: (changes: Partial<Record<(typeof FILTERS)[number], string>>) => void;
}

function Filters({ filters, change }: FilterProps) {
  const servers = useServers();
  return (
    <Group gap="sm" align="flex-end" role="search" aria-label="Filters">
      <SegmentedControl
        aria-label="Outcome"
        value={chosen(OUTCOMES, filters.outcome)}
        onChange={(outcome) => change({ outcome })}
        data={[...OUTCOMES]}
      />
      <Select
        label="Server"
        placeholder="All servers"
        clearable
        searchable
        w={190}
        value={filters.serverId || null}
        onChange={(serverId) => change({ serverId: serverId ?? '' })}
        data={servers.map(({ serverId, name }) => ({ value: serverId, label: name }))}
        nothingFoundMessage="No such server"
      />
      <TypedFilter
        label="Connector"
        value={filters.connectorId}
        change={(connectorId) => change({ connectorId })}
      />
      <TypedFilter label="Action" value={filters.actionId} change={(actionId) => change({ actionId })} />
      <TypedFilter
        label="Account"
        value={filters.credentialId}
        change={(credentialId) => change({ credentialId })}
      />
      <TypedFilter label="Program" value={filters.programId} change={(programId) => change({ programId })} />
      <UserPicker
        label="User"
        placeholder="All users"
        width={240}
        value={filters.userId}
        onChange={(userId) => change({ userId })}
      />
      <Select
        label="Time"
        placeholder="All times"
        clearable
        w={140}
        value={filters.span || null}
        onChange={(span) => change({ span: span ?? '' })}
        data={SPANS}
      />
    </Group>
  );
}

/** Returns the start of a span of hours, in whole minutes, so that equal filters are one request for a while. */
function startOf(span: string): string | undefined {
  const hours = Number(span);
  if (!(hours > 0)) return undefined;
  const start = Date.now() - hours * HOUR_MS;
  return new Date(Math.floor(start / MINUTE_MS) * MINUTE_MS).toISOString();
}
