import { Anchor, Button, Group, Text } from '@mantine/core';
import { IconFilterOff } from '@tabler/icons-react';
import type { AuditEntry } from '../api-types.ts';
import { callerInWords, useServerName } from '../names.ts';
import { Empty } from '../parts/empty.tsx';
import { Page } from '../parts/page.tsx';
import { List, type Column } from '../parts/records.tsx';
import { useCursor, useFilters } from '../parts/search-params.ts';
import { TimeInput } from '../parts/time-input.tsx';
import { TypedFilter } from '../parts/typed-filter.tsx';
import { Copy, State, When } from '../parts/values.tsx';
import { useRest } from '../queries.ts';

const FILTERS = ['since', 'until', 'caller', 'operation', 'target'] as const;
type Filter = (typeof FILTERS)[number];
const APPROVAL = 'approveDefinitions';
/** Questions of operators, and the operation that answers each. */
const QUESTIONS = [
  ['Who approved definitions?', APPROVAL],
  ['Who changed a server?', 'updateServer'],
  ['Who rotated a token?', 'rotateServerToken'],
  ['Who made a key?', 'createKey'],
  ['Who changed the settings?', 'putSettings'],
  ['Who signed in here?', 'signInToConsole'],
] as const;
type Change = (changes: Partial<Record<Filter, string>>) => void;

/** The acts of administration, newest first, with filters in the address. */
export function Audit() {
  const [filters, change] = useFilters(FILTERS);
  const { cursor, next, back } = useCursor();
  const list = useRest('/api/audit', { query: { ...filters, cursor, limit: 50 } });
  const nameOf = useServerName();
  const isFiltered = FILTERS.some((name) => filters[name] !== '');
  const without = () => change(Object.fromEntries(FILTERS.map((name) => [name, ''])));
  return (
    <Page
      title="Audit log"
      lead="Who changed what, and who was shown an access token. Select a value to see only its entries."
    >
      <Group gap="sm" align="flex-end" role="search" aria-label="Filters">
        <TimeInput label="Since" value={filters.since} change={(since) => change({ since })} />
        <TimeInput label="Until" value={filters.until} change={(until) => change({ until })} />
        <TypedFilter
          label="Caller"
          placeholder="key:key_…"
          value={filters.caller}
          change={(caller) => change({ caller })}
        />
        <TypedFilter
          label="Operation"
          placeholder="updateServer"
          value={filters.operation}
          change={(operation) => change({ operation })}
        />
        <TypedFilter label="Target" value={filters.target} change={(target) => change({ target })} />
        {isFiltered && (
          <Button variant="default" leftSection={<IconFilterOff size={16} aria-hidden />} onClick={without}>
            Remove the filters
          </Button>
        )}
      </Group>
      <Group gap="xs" component="nav" aria-label="Questions">
        {QUESTIONS.map(([question, operation]) => (
          <Button
            key={operation}
            size="compact-sm"
            variant={filters.operation === operation ? 'filled' : 'default'}
            aria-pressed={filters.operation === operation}
            onClick={() => change({ operation: filters.operation === operation ? '' : operation })}
          >
            {question}
          </Button>
        ))}
      </Group>
      <div className="card">
        <List
          label="Audit log"
          list={list}
          columns={columns(change, nameOf)}
          keyOf={(row) => row.auditId}
          empty={
            isFiltered || back ? (
              <Empty title="No entry fits these filters" icon={<IconFilterOff aria-hidden />}>
                {filters.operation === APPROVAL && filters.target !== ''
                  ? 'No person or key approved this definition. Definitions that were there at the first check of the environment count as approved.'
                  : 'Caller, operation and target must be written exactly as in the log.'}
              </Empty>
            ) : (
              <Empty title="No entries yet">Each change of this environment appears here.</Empty>
            )
          }
          pager={{ of: 'entries', back, next }}
        />
      </div>
    </Page>
  );
}

function columns(change: Change, nameOf: (target: string) => string): Column<AuditEntry>[] {
  const only = (filter: Filter, value: string, text: string) => (
    <Anchor
      component="button"
      type="button"
      className="value"
      aria-label={`Only the ${filter} ${value}`}
      onClick={() => change({ [filter]: value })}
    >
      {text}
    </Anchor>
  );
  return [
    { label: 'Operation', cell: (row) => only('operation', row.operation, row.operation) },
    {
      label: 'Target',
      cell: (row) =>
        row.target === null ? (
          '–'
        ) : (
          <div>
            {only('target', row.target, nameOf(row.target))}
            {nameOf(row.target) !== row.target && (
              <Text size="xs" c="dimmed" component="div" className="mono">
                {row.target}
              </Text>
            )}
          </div>
        ),
    },
    {
      label: 'Caller',
      cell: (row) => only('caller', row.caller, row.personName ?? row.keyName ?? callerInWords(row.caller)),
    },
    {
      label: 'Answer',
      cell: (row) => <State value={row.status < 400 ? 'succeeded' : 'failed'}>{row.status}</State>,
    },
    {
      label: 'Request',
      cell: (row) => (
        <Group gap={4} wrap="nowrap">
          <span className="mono">{row.requestId.slice(0, 8)}</span>
          <Copy text={row.requestId} label="Copy the id of the request" />
        </Group>
      ),
    },
    { label: 'When', end: true, cell: (row) => <When at={row.at} /> },
  ];
}
