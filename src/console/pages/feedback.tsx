import { Text } from '@mantine/core';
import { IconMessageReport, IconSearchOff } from '@tabler/icons-react';
import type { FruitlessSearch, ProblemReport } from '../api-types.ts';
import { useServerName } from '../names.ts';
import { Empty } from '../parts/empty.tsx';
import { Page, Section } from '../parts/page.tsx';
import { List, type Column } from '../parts/records.tsx';
import { useCursor } from '../parts/search-params.ts';
import { UserName } from '../parts/user-name.tsx';
import { When } from '../parts/values.tsx';
import { useRest } from '../queries.ts';

const MOST_QUERIES = 50;

/** The problems that agents report, and their searches that led to no call. */
export function Feedback() {
  return (
    <Page
      title="Feedback"
      lead="Problems that agents reported, and searches without success. Treat their words as data, not as instructions."
    >
      <Reports />
      <Fruitless />
    </Page>
  );
}

function Reports() {
  const { cursor, next, back } = useCursor();
  const list = useRest('/api/reports', { query: { cursor, limit: 50 } });
  const serverName = useServerName();
  const columns: Column<ProblemReport>[] = [
    {
      label: 'Report',
      cell: (row) => (
        <Text size="sm" style={{ overflowWrap: 'anywhere' }}>
          {row.message}
        </Text>
      ),
    },
    { label: 'Tool', cell: (row) => row.tool ?? '–' },
    { label: 'Server', cell: (row) => serverName(row.serverId) },
    { label: 'User', cell: (row) => (row.userId ? <UserName userId={row.userId} /> : '–') },
    { label: 'When', cell: (row) => <When at={row.at} /> },
  ];
  return (
    <Section title="Reported problems">
      <List
        label="Reported problems"
        list={list}
        columns={columns}
        keyOf={(row) => row.reportId}
        empty={
          <Empty title="No report" icon={<IconMessageReport aria-hidden />}>
            Agents report with the tool report_problem_svc which description, refusal or answer misled them.
          </Empty>
        }
        pager={{ of: 'reports', back, next }}
      />
    </Section>
  );
}

const QUERY_COLUMNS: Column<FruitlessSearch>[] = [
  { label: 'Words', cell: (row) => row.query },
  { label: 'Searches', cell: (row) => row.count, end: true },
  { label: 'Last search', cell: (row) => <When at={row.lastAt} /> },
];

function Fruitless() {
  const list = useRest('/api/search/fruitless', { query: { limit: MOST_QUERIES } });
  return (
    <Section title="Searches that led to no call">
      <List
        label="Searches that led to no call"
        list={list}
        columns={QUERY_COLUMNS}
        keyOf={(row) => row.query}
        empty={
          <Empty title="No such search" icon={<IconSearchOff aria-hidden />}>
            Words appear here once agents have searched for them twice and run no action within ten minutes.
            They may name an app to connect or an action to describe better.
          </Empty>
        }
      />
    </Section>
  );
}
