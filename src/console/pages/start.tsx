import { Anchor, Button, Group, SimpleGrid, Stack, Text, ThemeIcon } from '@mantine/core';
import { IconArrowRight, IconCircleCheck, IconPointFilled } from '@tabler/icons-react';
import { lazy, Suspense, useState, type ReactNode } from 'react';
import { Link } from 'react-router';
import type { ExecutionSummary, Overview } from '../api-types.ts';
import { attentionOf, nextSteps, type Note } from '../attention.ts';
import { errorInWords } from '../error-words.ts';
import { Empty } from '../parts/empty.tsx';
import { Figure, SpanChoice } from '../parts/figures.tsx';
import { Page, Section } from '../parts/page.tsx';
import { Loading, Records } from '../parts/records.tsx';
import { ErrorNotice } from '../parts/error-notice.tsx';
import { UserName } from '../parts/user-name.tsx';
import { count, duration, Name, When } from '../parts/values.tsx';
import { useRest } from '../queries.ts';
import { useScope, useSession } from '../signed-in.ts';

const Charts = lazy(async () => ({ default: (await import('../parts/call-charts.tsx')).CallCharts }));

/** The first page: running things, broken things, and next steps. */
export function Start() {
  const { environment } = useSession();
  const [span, setSpan] = useState('24');
  const overview = useRest('/api/overview', { topics: ['accounts', 'runs'], everyMs: 30_000 });
  const summary = useRest('/api/executions/summary', {
    query: { hours: Number(span) },
    topics: ['executions'],
  });
  const stopped = useRest('/api/circuits', {
    query: { limit: 50 },
    topics: ['executions'],
    enabled: useScope('executions:read'),
  });

  const steps = overview.data ? nextSteps(overview.data, summary.data, environment === 'development') : [];
  const failures = (
    <Section title="Last failures" flush>
      <Failures />
    </Section>
  );
  return (
    <Page title="Start" lead={`What runs in ${environment}, what is broken, and what to do next.`}>
      <SimpleGrid cols={{ base: 1, md: 2 }} spacing="lg">
        <Section title="Needs attention">
          {overview.isError ? (
            <ErrorNotice error={overview.error} again={() => void overview.refetch()} />
          ) : overview.data ? (
            <Attention notes={attentionOf(overview.data, summary.data, stopped.data?.data ?? [])} />
          ) : (
            <Loading rows={4} />
          )}
        </Section>
        {steps.length > 0 ? (
          <Section title="Next steps">
            <Notes notes={steps} />
          </Section>
        ) : (
          failures
        )}
      </SimpleGrid>
      <Section title="Calls" aside={<SpanChoice span={span} onChange={setSpan} />}>
        {summary.isError ? (
          <ErrorNotice error={summary.error} again={() => void summary.refetch()} />
        ) : summary.data ? (
          <Calls summary={summary.data} />
        ) : (
          <Loading rows={4} />
        )}
      </Section>
      {steps.length > 0 && failures}
      {!overview.isError && (
        <Section title="In this environment">
          {overview.data ? <Numbers overview={overview.data} /> : <Loading rows={4} />}
        </Section>
      )}
    </Page>
  );
}

function Attention({ notes }: { notes: Note[] }) {
  if (notes.length > 0) return <Notes notes={notes} />;
  return (
    <Group gap="sm" wrap="nowrap">
      <ThemeIcon variant="light" color="green" radius="xl" size={32}>
        <IconCircleCheck size={20} aria-hidden />
      </ThemeIcon>
      <Text>Everything works. No account, subscription or run needs you.</Text>
    </Group>
  );
}

function Notes({ notes }: { notes: Note[] }) {
  return (
    <Stack gap="sm" component="ul" m={0} p={0} style={{ listStyle: 'none' }}>
      {notes.map((note) => (
        <Group key={note.text} component="li" gap="xs" wrap="nowrap" align="flex-start">
          <IconPointFilled
            size={20}
            aria-hidden
            style={{ flex: 'none', color: `var(--mantine-color-${note.color}-6)`, marginTop: 2 }}
          />
          <div>
            <Text fw={600}>{note.text}</Text>
            <Text size="sm" c="dimmed">
              {note.todo}
            </Text>
            {note.to && (
              <Anchor component={Link} to={note.to} size="sm">
                {note.link}
              </Anchor>
            )}
          </div>
        </Group>
      ))}
    </Stack>
  );
}

function Calls({ summary }: { summary: ExecutionSummary }) {
  const { environment } = useSession();
  const { total } = summary;
  const all = total.succeeded + total.failed + total.denied;
  if (all === 0)
    return (
      <Empty title="No calls in this time">
        The charts fill as soon as an agent or a program calls an action.
        {environment === 'development' && ' The sandbox connector needs no account.'}
      </Empty>
    );
  const tried = total.succeeded + total.failed;
  return (
    <Stack gap="lg">
      <SimpleGrid cols={{ base: 2, sm: 4 }}>
        <Figure label="Calls" value={count(all)} />
        <Figure
          label="Failed"
          value={tried === 0 ? '–' : `${((total.failed / tried) * 100).toFixed(1)} %`}
          note={count(total.failed)}
        />
        <Figure label="Denied" value={count(total.denied)} />
        <Figure
          label="Half of them within"
          value={duration(total.p50Ms)}
          note={`95 % within ${duration(total.p95Ms)}`}
        />
      </SimpleGrid>
      <Suspense fallback={<Loading rows={6} />}>
        <Charts hours={summary.hours} />
      </Suspense>
    </Stack>
  );
}

function Failures() {
  const list = useRest('/api/executions', {
    query: { outcome: 'failed', limit: 5 },
    topics: ['executions'],
  });
  if (list.isPending) return <Loading rows={3} />;
  if (list.isError)
    return (
      <Stack p="md">
        <ErrorNotice error={list.error} />
      </Stack>
    );
  if (list.data.data.length === 0)
    return (
      <Empty title="No call has failed" icon={<IconCircleCheck aria-hidden />}>
        Failed calls appear here with their reason.
      </Empty>
    );
  return (
    <>
      <Records
        label="Last failures"
        rows={list.data.data}
        keyOf={(row) => row.executionId}
        columns={[
          {
            label: 'Action',
            cell: (row) => (
              <div>
                <Anchor component={Link} to={`/executions/${row.executionId}`} size="sm" fw={600}>
                  <Name value={`${row.connectorId}.${row.actionId}`} />
                </Anchor>
                <Text size="xs" c="dimmed">
                  {errorInWords(row).title}
                </Text>
              </div>
            ),
          },
          { label: 'User', cell: (row) => (row.userId ? <UserName userId={row.userId} /> : '–') },
          { label: 'When', end: true, cell: (row) => <When at={row.at} /> },
        ]}
      />
      <Group p="sm" style={{ borderTop: '1px solid var(--line)' }}>
        <Button
          component={Link}
          to="/executions?outcome=failed"
          variant="subtle"
          size="xs"
          rightSection={<IconArrowRight size={14} aria-hidden />}
        >
          All failures
        </Button>
      </Group>
    </>
  );
}

function Numbers({ overview }: { overview: Overview }) {
  const lines: [string, ReactNode][] = [
    ['MCP servers', withRest(overview.servers.enabled, overview.servers.disabled, 'disabled')],
    ['End users', withRest(overview.users.enabled, overview.users.disabled, 'disabled')],
    [
      'Connected accounts',
      withRest(overview.credentials.active, overview.credentials.needsReconnect, 'to reconnect'),
    ],
    [
      'Webhook subscriptions',
      withRest(overview.subscriptions.active, overview.subscriptions.disabled, 'disabled'),
    ],
    ['Deliveries given up', count(overview.deliveries.dead)],
    ['Runs failed in 24 hours', count(overview.runs.failed)],
  ];
  return (
    <dl className="facts numbers">
      {lines.map(([label, value]) => (
        <Line key={label} label={label} value={value} />
      ))}
    </dl>
  );
}

function Line({ label, value }: { label: string; value: ReactNode }) {
  return (
    <>
      <dt>{label}</dt>
      <dd style={{ fontVariantNumeric: 'tabular-nums' }}>{value}</dd>
    </>
  );
}

function withRest(good: number, other: number, word: string): string {
  return other === 0 ? count(good) : `${count(good)}, and ${count(other)} ${word}`;
}
