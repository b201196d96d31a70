import { Anchor, Button, Group, SegmentedControl, Text } from '@mantine/core';
import { IconFilterOff } from '@tabler/icons-react';
import { Link } from 'react-router';
import type { SubscriptionRecord } from '../api-types.ts';
import { DeliveryCounts } from '../parts/delivery-counts.tsx';
import { DocsLink } from '../parts/docs-link.tsx';
import { Empty } from '../parts/empty.tsx';
import { Page } from '../parts/page.tsx';
import { UserPicker } from '../parts/pickers.tsx';
import { List, type Column } from '../parts/records.tsx';
import { chosen, useCursor, useFilters } from '../parts/search-params.ts';
import { TypedFilter } from '../parts/typed-filter.tsx';
import { UserName } from '../parts/user-name.tsx';
import { count, State, When } from '../parts/values.tsx';
import { useRest } from '../queries.ts';

const EVERY_MS = 15_000;
const FILTERS = ['state', 'userId', 'connectionId'] as const;
const STATES = [
  { value: '', label: 'All' },
  { value: 'active', label: 'Active' },
  { value: 'failing', label: 'Failing' },
  { value: 'disabled', label: 'Disabled' },
] as const;

/** The webhook subscriptions of the environment, oldest first. */
export function WebhookList() {
  const [filters, setFilters] = useFilters(FILTERS);
  const state = chosen(STATES, filters.state);
  const { cursor, next, back } = useCursor();
  const list = useRest('/2023-03/one/webhooks', {
    query: { ...filters, state, cursor, limit: 50 },
    topics: ['accounts'],
    everyMs: EVERY_MS,
  });
  const isFiltered = FILTERS.some((name) => filters[name] !== '');
  return (
    <Page
      title="Webhooks"
      lead="Subscriptions send events of accounts to an address. Gatehouse signs each event and repeats what fails."
    >
      {list.data && list.data.data.length > 0 && <DeliveryCounts />}
      <Group gap="sm" align="flex-end" role="search" aria-label="Filters">
        <SegmentedControl
          aria-label="State of the subscriptions"
          value={state}
          onChange={(value) => setFilters({ state: value })}
          data={[...STATES]}
        />
        <UserPicker
          label="User"
          placeholder="All users"
          width={240}
          value={filters.userId}
          onChange={(userId) => setFilters({ userId })}
        />
        <TypedFilter
          label="Account"
          placeholder="cred_…"
          width={240}
          value={filters.connectionId}
          change={(connectionId) => setFilters({ connectionId })}
        />
      </Group>
      <div className="card">
        <List
          label="Webhook subscriptions"
          list={list}
          columns={COLUMNS}
          keyOf={(row) => row.subscriptionId}
          empty={
            isFiltered || back ? (
              <Empty
                title="No subscription fits these filters"
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
                Another state, user or account may have some.
              </Empty>
            ) : (
              <Empty title="No subscriptions yet">
                Your server subscribes an address to the events of an account. See{' '}
                <DocsLink to="webhooks">webhooks in the documentation</DocsLink>. Settings have an address for
                the events of the environment.
              </Empty>
            )
          }
          pager={{ of: 'subscriptions', oldestFirst: true, back, next }}
        />
      </div>
    </Page>
  );
}

/** Returns a number of deliveries, of which the API counts no more than 100. */
export function deliveriesInWords(n: number): string {
  return n === 1 ? '1 delivery' : `${count(n)}${n === 100 ? ' or more' : ''} deliveries`;
}

const COLUMNS: Column<SubscriptionRecord>[] = [
  {
    label: 'Address',
    cell: (row) => (
      <Anchor
        component={Link}
        to={`/webhooks/${row.subscriptionId}`}
        fw={600}
        size="sm"
        style={{ overflowWrap: 'anywhere' }}
      >
        {row.address}
      </Anchor>
    ),
  },
  { label: 'User', cell: (row) => (row.userId ? <UserName userId={row.userId} /> : '–') },
  {
    label: 'Account',
    cell: (row) => (
      <div>
        {row.connectorId ?? '–'}
        {row.connectionId && (
          <Text size="xs" c="dimmed" className="mono" style={{ overflowWrap: 'anywhere' }}>
            {row.connectionId}
          </Text>
        )}
      </div>
    ),
  },
  { label: 'Events of', cell: (row) => <span className="mono">{row.scope}</span> },
  {
    label: 'State',
    cell: (row) => (
      <div>
        <State value={row.status} />
        {(row.reason ?? row.sourceReason) && (
          <Text size="xs" c="dimmed" mt={2}>
            {row.reason ?? row.sourceReason}
          </Text>
        )}
      </div>
    ),
  },
  {
    label: 'Failing since',
    cell: (row) => (row.failingSince ? <When at={row.failingSince} /> : '–'),
  },
  {
    label: 'Given up',
    cell: (row) =>
      row.deadDeliveries === 0 ? (
        'none'
      ) : (
        <Anchor component={Link} to={`/webhooks/${row.subscriptionId}?status=dead`} className="nowrap">
          <State value="dead">{deliveriesInWords(row.deadDeliveries)}</State>
        </Anchor>
      ),
  },
  { label: 'Created', end: true, cell: (row) => <When at={row.createdAt} /> },
];
