import { Anchor, SegmentedControl, Text } from '@mantine/core';
import { IconCircleCheck } from '@tabler/icons-react';
import { Link } from 'react-router';
import type { CredentialRecord } from '../api-types.ts';
import { Empty } from '../parts/empty.tsx';
import { Page } from '../parts/page.tsx';
import { List, type Column } from '../parts/records.tsx';
import { chosen, useCursor, useFilters } from '../parts/search-params.ts';
import { UserName } from '../parts/user-name.tsx';
import { When } from '../parts/values.tsx';
import { useRest } from '../queries.ts';

const STATES = [
  { value: '', label: 'To reconnect' },
  { value: 'active', label: 'Active' },
  { value: 'revoked', label: 'Revoked' },
] as const;

/** The accounts of all users by state: first those that work no longer. */
export function AccountList() {
  const [filters, change] = useFilters(['state']);
  const state = chosen(STATES, filters.state);
  const { cursor, next, back } = useCursor();
  const list = useRest('/api/credentials', {
    query: { state: state || 'needs_reconnect', cursor, limit: 50 },
    topics: ['accounts'],
  });
  return (
    <Page
      title="Accounts"
      lead="Accounts that stopped working, with the reason. Open the user to check one or to send a link that reconnects it; ids and settings stay."
    >
      <SegmentedControl
        aria-label="State of the accounts"
        value={state}
        onChange={(value) => change({ state: value })}
        data={[...STATES]}
        style={{ alignSelf: 'flex-start' }}
      />
      <div className="card">
        <List
          label="Accounts"
          list={list}
          columns={COLUMNS}
          keyOf={(row) => row.credentialId}
          empty={
            <Empty
              title={state === '' ? 'No account needs its user' : 'No account has this state'}
              icon={<IconCircleCheck aria-hidden />}
            >
              Gatehouse renews tokens on its own. An account appears here when its app refuses it.
            </Empty>
          }
          pager={{ of: 'accounts', oldestFirst: true, back, next }}
        />
      </div>
    </Page>
  );
}

const COLUMNS: Column<CredentialRecord>[] = [
  {
    label: 'Account',
    cell: (row) => (
      <div>
        <Anchor component={Link} to={`/users/${encodeURIComponent(row.userId)}`} fw={600}>
          {row.name}
        </Anchor>
        <Text size="xs" c="dimmed">
          {row.connectorId}
        </Text>
      </div>
    ),
  },
  {
    label: 'Reason',
    cell: (row) => (
      <div style={{ overflowWrap: 'anywhere' }}>
        {row.reason ?? '–'}
        {row.appMessage && (
          <Text size="xs" c="dimmed">
            The app said: {row.appMessage}
          </Text>
        )}
      </div>
    ),
  },
  { label: 'User', cell: (row) => <UserName userId={row.userId} /> },
  { label: 'Last used', cell: (row) => <When at={row.lastUsedAt} /> },
  { label: 'Since', end: true, cell: (row) => <When at={row.updatedAt} /> },
];
