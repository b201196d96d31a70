import { Button, Group, Modal, Stack, Text } from '@mantine/core';
import { useState } from 'react';
import type { AttemptRecord, DeliveryRecord } from '../api-types.ts';
import { useRest } from '../queries.ts';
import { rest } from '../rest-client.ts';
import { ConfirmButton } from './acts.tsx';
import { Empty } from './empty.tsx';
import { List, Records, type Column } from './records.tsx';
import { chosen, useCursor, useFilters } from './search-params.ts';
import { StateFilter } from './state-filter.tsx';
import { duration, Id, Moment, some, State, When } from './values.tsx';

/** No topic covers deliveries. */
const EVERY_MS = 3000;
const FILTERS = ['status'] as const;
const STATUSES = [
  { value: '', label: 'All' },
  { value: 'waiting', label: 'Waiting' },
  { value: 'succeeded', label: 'Succeeded' },
  { value: 'dead', label: 'Given up' },
  { value: 'cancelled', label: 'Cancelled' },
] as const;

/** The deliveries of a subscription, newest first, with a filter in the address. */
export function Deliveries({ subscriptionId, mayReplay }: { subscriptionId: string; mayReplay: boolean }) {
  const [filters, change] = useFilters(FILTERS);
  const status = chosen(STATUSES, filters.status);
  const { cursor, next, back } = useCursor();
  const [shownId, setShown] = useState<string>();
  const list = useRest('/webhooks/{subscriptionId}/deliveries', {
    path: { subscriptionId },
    query: { status, cursor, limit: 25 },
    everyMs: cursor === '' ? EVERY_MS : false,
  });
  const shown = list.data?.data.find(({ deliveryId }) => deliveryId === shownId);
  return (
    <Stack>
      <StateFilter
        label="State of the deliveries"
        value={status}
        onChange={(value) => change({ status: value })}
        data={STATUSES}
      />
      <div>
        <List
          label="Deliveries"
          list={list}
          columns={columns(subscriptionId, mayReplay, setShown)}
          keyOf={(row) => row.deliveryId}
          empty={
            status !== '' || back ? (
              <Empty title="No delivery has this state">Deliveries are kept for 30 days.</Empty>
            ) : (
              <Empty title="No deliveries yet">Send a test event to see one.</Empty>
            )
          }
          pager={{ of: 'deliveries', back, next }}
        />
      </div>
      <Modal
        opened={shown !== undefined}
        onClose={() => setShown(undefined)}
        title={shown ? `Attempts of delivery ${shown.sequence}` : ''}
        size="xl"
      >
        {shown && <Attempts delivery={shown} />}
      </Modal>
    </Stack>
  );
}

function columns(
  subscriptionId: string,
  mayReplay: boolean,
  setShown: (deliveryId: string) => void,
): Column<DeliveryRecord>[] {
  return [
    {
      label: 'Event',
      cell: (row) => (
        <div>
          <Text size="sm" fw={600}>
            {row.sequence}: {row.event}
          </Text>
          <span className="mono">{row.recordId}</span>
        </div>
      ),
    },
    {
      label: 'State',
      cell: (row) => (
        <div>
          <Group gap={6}>
            <State value={row.status} />
            {row.status !== 'succeeded' && (
              <span className="mono">{reasonOf(row.lastStatus, row.lastError)}</span>
            )}
          </Group>
          {row.status !== 'succeeded' && row.attempts.at(-1)?.excerpt && (
            <Text size="xs" c="dimmed" mt={2} lineClamp={2} style={{ overflowWrap: 'anywhere' }}>
              {row.attempts.at(-1)?.excerpt}
            </Text>
          )}
        </div>
      ),
    },
    {
      label: 'Attempts',
      cell: (row) =>
        row.attempts.length === 0 ? (
          'none yet'
        ) : (
          <Button size="compact-sm" variant="subtle" onClick={() => setShown(row.deliveryId)}>
            {some(row.attemptCount, 'attempt')}
          </Button>
        ),
    },
    {
      label: 'Next attempt',
      cell: (row) => (row.nextAttemptAt ? <When at={row.nextAttemptAt} /> : '–'),
    },
    { label: 'When', end: true, cell: (row) => <When at={row.createdAt} /> },
    ...(mayReplay
      ? [
          {
            label: '',
            end: true,
            cell: (row: DeliveryRecord) => <Replay row={row} subscriptionId={subscriptionId} />,
          },
        ]
      : []),
  ];
}

function Replay({ row, subscriptionId }: { row: DeliveryRecord; subscriptionId: string }) {
  return (
    <ConfirmButton
      size="xs"
      label="Replay"
      title={`Send delivery ${row.sequence} again?`}
      run={() =>
        rest('POST', '/webhooks/{subscriptionId}/deliveries/{deliveryId}/replay', {
          path: { subscriptionId, deliveryId: row.deliveryId },
        })
      }
    >
      {row.status === 'succeeded' && 'The receiver accepted it before. '}
      It keeps its id and its number, so a receiver can recognise it. Its schedule of attempts starts again.
    </ConfirmButton>
  );
}

function Attempts({ delivery }: { delivery: DeliveryRecord }) {
  return (
    <Stack>
      <Text size="sm" component="div">
        Sent as <span className="mono">webhook-id</span> <Id value={delivery.deliveryId} />
      </Text>
      <Records
        label="Attempts"
        columns={ATTEMPTS}
        rows={delivery.attempts}
        keyOf={(row) => String(row.number)}
      />
    </Stack>
  );
}

const ATTEMPTS: Column<AttemptRecord>[] = [
  {
    label: 'Attempt',
    cell: (row) => (
      <Text size="sm">
        {row.number}: <Moment at={row.at} />
      </Text>
    ),
  },
  { label: 'Took', cell: (row) => duration(row.durationMs) },
  {
    label: 'Result',
    cell: (row) => (
      <State value={row.error === null ? 'succeeded' : 'failed'}>{reasonOf(row.status, row.error)}</State>
    ),
  },
  {
    label: 'Answer of the receiver',
    cell: (row) => (row.excerpt ? <pre className="block">{row.excerpt}</pre> : 'none'),
  },
];

/** Returns the status of an answer, or why there was none. */
function reasonOf(status: number | null, error: string | null): string {
  if (error !== null && error !== 'status') return error.replaceAll('_', ' ');
  return status === null ? '' : String(status);
}
