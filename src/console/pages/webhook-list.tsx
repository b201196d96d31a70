import { Anchor, Text } from '@mantine/core';
import { Link } from 'react-router';
import type { SubscriptionRecord } from '../api-types.ts';
import { DeliveryCounts } from '../parts/delivery-counts.tsx';
import { Empty } from '../parts/empty.tsx';
import { Page } from '../parts/page.tsx';
import { List, Pager, type Column } from '../parts/records.tsx';
import { useCursor } from '../parts/search-params.ts';
import { count, State, When } from '../parts/values.tsx';
import { useRest, type ListPage } from '../queries.ts';
import { query } from '../rest-client.ts';

const EVERY_MS = 15_000;

/** The webhook subscriptions of the environment, oldest first. */
export function WebhookList() {
  const { cursor, next, back } = useCursor();
  const list = useRest<ListPage<SubscriptionRecord>>(`/2023-03/one/webhooks${query({ cursor, limit: 50 })}`, {
    topics: ['accounts'],
    everyMs: EVERY_MS,
  });
  const following = list.data?.pagination.nextCursor;
  return (
    <Page
      title="Webhooks"
      lead="Subscriptions send events of accounts to an address. Gatehouse signs each event and repeats what fails."
    >
      {list.data && list.data.data.length > 0 && <DeliveryCounts />}
      <div className="card">
        <List
          label="Webhook subscriptions"
          list={list}
          columns={COLUMNS}
          keyOf={(row) => row.subscriptionId}
          empty={
            <Empty title="No subscriptions yet">
              <span className="mono">POST /2023-03/one/webhooks?connectionId=…</span> subscribes an address to
              the events of an account. Settings have an address for the events of the environment.
            </Empty>
          }
          pager={<Pager of="subscriptions" oldestFirst back={back} next={next} following={following} />}
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
