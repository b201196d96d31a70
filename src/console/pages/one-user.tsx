import { Alert, Anchor, Button, Group, SimpleGrid, Stack, Text } from '@mantine/core';
import { IconArrowLeft, IconBan } from '@tabler/icons-react';
import { Link, useParams } from 'react-router';
import type { UserRecord } from '../api-types.ts';
import { useServers } from '../names.ts';
import { ConfirmButton } from '../parts/acts.tsx';
import { Empty } from '../parts/empty.tsx';
import { KillSwitch } from '../parts/kill-switch.tsx';
import { Jumps, Page, Section } from '../parts/page.tsx';
import { List, Loading, Records } from '../parts/records.tsx';
import { ErrorNotice } from '../parts/error-notice.tsx';
import { Id, Name, State, When } from '../parts/values.tsx';
import { useRest } from '../queries.ts';
import { query, rest } from '../rest-client.ts';
import { useScope } from '../signed-in.ts';
import { Accounts } from '../user/accounts.tsx';

/** One end user: the accounts, the tokens and the last calls. */
export function OneUser() {
  const { userId = '' } = useParams();
  const found = useRest('/users/{userId}', { path: { userId } });
  const back = (
    <Button
      component={Link}
      to="/users"
      variant="default"
      leftSection={<IconArrowLeft size={16} aria-hidden />}
    >
      All users
    </Button>
  );
  if (!found.data)
    return (
      <Page title="User" actions={back}>
        {found.error ? <ErrorNotice error={found.error} again={() => void found.refetch()} /> : <Loading />}
      </Page>
    );
  const user = found.data;
  return (
    <Page title={user.username} lead={<State value={user.enabled ? 'enabled' : 'disabled'} />} actions={back}>
      {!user.enabled && (
        <Alert variant="light" color="orange" title="The user is disabled">
          Calls, tokens and links of this user are refused until the user is enabled again.
        </Alert>
      )}
      <Jumps>
        <Anchor component={Link} to={`/executions${query({ userId, span: '1' })}`} size="sm">
          Calls of the last hour
        </Anchor>
        <Anchor component={Link} to={`/executions${query({ userId })}`} size="sm">
          All calls
        </Anchor>
        <Anchor href="#agents" size="sm">
          Agents
        </Anchor>
        <Anchor component={Link} to={`/audit${query({ target: userId })}`} size="sm">
          Who changed this user
        </Anchor>
      </Jumps>
      <Accounts key={user.userId} user={user} />
      <SimpleGrid cols={{ base: 1, md: 2 }} spacing="lg">
        <Stack gap="lg">
          <Section id="agents" title="Agents" flush>
            <Agents userId={user.userId} />
          </Section>
          <Section title="Last calls" flush>
            <LastCalls userId={user.userId} />
          </Section>
        </Stack>
        <Stack gap="lg">
          <Section title="Facts">
            <Facts user={user} />
          </Section>
          <Tokens user={user} />
        </Stack>
      </SimpleGrid>
    </Page>
  );
}

/** The MCP servers of the user, each with what its agent did and a switch that stops it. */
function Agents({ userId }: { userId: string }) {
  const servers = useServers().filter(({ ownerUserId }) => ownerUserId === userId);
  if (servers.length === 0)
    return <Empty title="No MCP server">A server that the user owns appears here.</Empty>;
  return (
    <Records
      label="Agents"
      rows={servers}
      keyOf={(row) => row.serverId}
      columns={[
        {
          label: 'Server',
          cell: (row) => (
            <Anchor component={Link} to={`/servers/${row.serverId}`} size="sm" fw={600}>
              {row.name}
            </Anchor>
          ),
        },
        {
          label: 'What it did',
          cell: (row) => (
            <Anchor
              component={Link}
              to={`/executions${query({ serverId: row.serverId, userId, span: '1' })}`}
              size="sm"
            >
              Calls of the last hour
            </Anchor>
          ),
        },
        { label: 'On', end: true, cell: (row) => <KillSwitch server={row} /> },
      ]}
    />
  );
}

function LastCalls({ userId }: { userId: string }) {
  const list = useRest('/api/executions', {
    query: { userId, limit: 6 },
    topics: ['executions'],
  });
  return (
    <>
      <List
        label="Last calls"
        list={list}
        keyOf={(row) => row.executionId}
        columns={[
          {
            label: 'Action',
            cell: (row) => (
              <Anchor component={Link} to={`/executions/${row.executionId}`} size="sm">
                <Name value={`${row.connectorId}.${row.actionId}`} />
              </Anchor>
            ),
          },
          { label: 'Outcome', cell: (row) => <State value={row.outcome} /> },
          { label: 'When', end: true, cell: (row) => <When at={row.at} /> },
        ]}
        empty={<Empty title="No calls yet">Calls on behalf of this user appear here.</Empty>}
      />
      <Group p="sm" style={{ borderTop: '1px solid var(--line)' }}>
        <Anchor component={Link} to={`/executions${query({ userId })}`} size="sm">
          All calls of this user
        </Anchor>
      </Group>
    </>
  );
}

function Facts({ user }: { user: UserRecord }) {
  return (
    <dl className="facts">
      <dt>User</dt>
      <dd>
        <Id value={user.userId} />
      </dd>
      <dt>Created</dt>
      <dd>
        <When at={user.createdAt} />
      </dd>
      <dt>Metadata</dt>
      <dd>
        {Object.keys(user.metadata).length === 0 ? (
          'none'
        ) : (
          <pre className="block" tabIndex={0} aria-label="Metadata">
            {JSON.stringify(user.metadata, null, 2)}
          </pre>
        )}
      </dd>
    </dl>
  );
}

function Tokens({ user: { userId, username } }: { user: UserRecord }) {
  const mayRevoke = useScope('users:token');
  return (
    <Section title="Tokens">
      <Stack gap="sm" align="flex-start">
        <Text size="sm">Your application gets JWTs for this user. Each lasts for an hour.</Text>
        {mayRevoke ? (
          <ConfirmButton
            label="Revoke all tokens"
            leftSection={<IconBan size={16} aria-hidden />}
            dangerous
            done={`The tokens of ${username} are revoked.`}
            title={`Revoke all tokens of ${username}?`}
            run={() => rest('POST', '/users/{userId}/tokens/revoke', { path: { userId } })}
          >
            Every JWT that was issued for {username} until now is refused within a second. Pages and agents
            that use one stop until your application gets a new one. Accounts and access URLs stay.
          </ConfirmButton>
        ) : (
          <Text size="sm" c="dimmed">
            To revoke them, sign in with a key that has the scope <span className="mono">users:token</span>.
          </Text>
        )}
      </Stack>
    </Section>
  );
}
