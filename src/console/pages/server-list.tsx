import { Anchor, Button, Group, Text, TextInput } from '@mantine/core';
import { IconFilterOff, IconPlus, IconSearch, IconServer2 } from '@tabler/icons-react';
import { Link } from 'react-router';
import type { ServerRecord } from '../api-types.ts';
import { Empty } from '../parts/empty.tsx';
import { KillSwitch } from '../parts/kill-switch.tsx';
import { Page } from '../parts/page.tsx';
import { Loading, Records, type Column } from '../parts/records.tsx';
import { useFilters } from '../parts/search-params.ts';
import { ErrorNotice } from '../parts/error-notice.tsx';
import { UserName } from '../parts/user-name.tsx';
import { some, State, When } from '../parts/values.tsx';
import { useRest } from '../queries.ts';
import { useScope } from '../signed-in.ts';

const COLUMNS: Column<ServerRecord>[] = [
  {
    label: 'Server',
    cell: (row) => (
      <div>
        <Anchor component={Link} to={`/servers/${row.serverId}`} fw={600}>
          {row.name}
        </Anchor>{' '}
        {!row.enabled && <State value="disabled">switched off</State>}
        {row.description && (
          <Text size="xs" c="dimmed" lineClamp={1} maw={380}>
            {row.description}
          </Text>
        )}
      </div>
    ),
  },
  { label: 'Restrictions', cell: (row) => (row.hasRestrictions ? 'restricted' : 'everything allowed') },
  {
    label: 'Owner',
    cell: (row) => (row.ownerUserId ? <UserName userId={row.ownerUserId} /> : 'none'),
  },
  { label: 'Changed', cell: (row) => <When at={row.updatedAt} /> },
  { label: 'On', end: true, cell: (row) => <KillSwitch server={row} /> },
];

/** The MCP servers, with a search and a switch for each. */
export function ServerList() {
  const [{ search }, change] = useFilters(['search']);
  const list = useRest('/api/servers', { query: { token: 'false' } });
  const mayWrite = useScope('servers:write');
  const create = mayWrite && (
    <Button component={Link} to="/servers/new" leftSection={<IconPlus size={16} aria-hidden />}>
      New server
    </Button>
  );
  const words = search.toLowerCase().split(/\s+/).filter(Boolean);
  const shown = (list.data?.servers ?? []).filter((one) => {
    const text = `${one.name} ${one.description} ${one.serverId} ${one.ownerUserId ?? ''}`.toLowerCase();
    return words.every((word) => text.includes(word));
  });

  return (
    <Page
      title="Servers"
      lead="An MCP server is one address for agents. It decides which tools they see and what they may do. Its switch stops them at once."
      actions={create}
    >
      <TextInput
        role="searchbox"
        aria-label="Search servers"
        placeholder="Name, description, id or owner"
        leftSection={<IconSearch size={16} aria-hidden />}
        maw={360}
        value={search}
        onChange={(event) => change({ search: event.currentTarget.value })}
      />
      <div className="card">
        {list.isPending ? (
          <Loading />
        ) : list.isError && !list.data ? (
          <Group p="md">
            <ErrorNotice error={list.error} again={() => void list.refetch()} />
          </Group>
        ) : shown.length > 0 ? (
          <Records label="Servers" columns={COLUMNS} rows={shown} keyOf={(row) => row.serverId} />
        ) : words.length > 0 ? (
          <Empty
            title="No server fits this search"
            icon={<IconFilterOff aria-hidden />}
            action={
              <Button variant="default" onClick={() => change({ search: '' })}>
                Remove the search
              </Button>
            }
          >
            All words must be in the name, the description, the id or the owner.
          </Empty>
        ) : (
          <Empty title="No servers yet" icon={<IconServer2 aria-hidden />} action={create}>
            Create one, add its access URL to an MCP client, and ask the agent for something.
          </Empty>
        )}
      </div>
      {list.data && list.data.servers.length < list.data.count && (
        <Text size="sm" c="dimmed">
          These are the first {list.data.servers.length} of {some(list.data.count, 'server')}.
        </Text>
      )}
    </Page>
  );
}
