import { Anchor, Button, Group, Modal, Stack, TextInput } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { IconFilterOff, IconPlus, IconUsers } from '@tabler/icons-react';
import { useState, type FormEvent } from 'react';
import { Link, useNavigate } from 'react-router';
import type { UserRecord } from '../api-types.ts';
import { useAct } from '../parts/acts.tsx';
import { Empty } from '../parts/empty.tsx';
import { Page } from '../parts/page.tsx';
import { List, Records, type Column } from '../parts/records.tsx';
import { useCursor, useFilters } from '../parts/search-params.ts';
import { ErrorNotice } from '../parts/error-notice.tsx';
import { TypedFilter } from '../parts/typed-filter.tsx';
import { Id, State, When } from '../parts/values.tsx';
import { useRest } from '../queries.ts';
import { rest } from '../rest-client.ts';
import { useScope } from '../signed-in.ts';

const COLUMNS: Column<UserRecord>[] = [
  {
    label: 'User',
    cell: (row) => (
      <Anchor component={Link} to={`/users/${encodeURIComponent(row.userId)}`} fw={600}>
        {row.username}
      </Anchor>
    ),
  },
  { label: 'Id', cell: (row) => <Id value={row.userId} /> },
  { label: 'State', cell: (row) => <State value={row.enabled ? 'enabled' : 'disabled'} /> },
  { label: 'Created', end: true, cell: (row) => <When at={row.createdAt} /> },
];
const TABLE = { label: 'Users', columns: COLUMNS, keyOf: (row: UserRecord) => row.userId };

/** The end users, found by a part of their username, or their id. */
export function UserList() {
  const [{ search }, change] = useFilters(['search']);
  const { cursor, next, back } = useCursor();
  const mayWrite = useScope('users:write');
  const list = useRest('/users', { query: { search, cursor, limit: 50 } });
  const byId = useRest('/users/{userId}', {
    path: { userId: search },
    enabled: search.startsWith('usr_'),
  });
  const found = search.startsWith('usr_') && byId.data?.userId === search ? byId.data : undefined;
  return (
    <Page
      title="Users"
      lead="End users own the accounts that agents use. No user reaches the accounts of another."
      actions={
        <>
          <Button component={Link} to="/accounts" variant="default">
            Accounts to reconnect
          </Button>
          {mayWrite && <CreateUser />}
        </>
      }
    >
      <Group role="search" aria-label="Search">
        <TypedFilter
          label="Part of a username, or a user id"
          width={320}
          value={search}
          change={(text) => change({ search: text })}
        />
      </Group>
      <div className="card">
        {found ? (
          <Records {...TABLE} rows={[found]} />
        ) : (
          <List
            {...TABLE}
            list={list}
            empty={
              search || back ? (
                <Empty
                  title="No user has such a name or id"
                  icon={<IconFilterOff aria-hidden />}
                  action={
                    <Button variant="default" onClick={() => change({ search: '' })}>
                      Show all users
                    </Button>
                  }
                >
                  Enter a part of the username, or the whole id.
                </Empty>
              ) : (
                <Empty title="No users yet" icon={<IconUsers aria-hidden />}>
                  “New user” above creates one, and so may your application. Then send the user a link that
                  connects an account, from the page of the user.
                </Empty>
              )
            }
            pager={{ of: 'users', oldestFirst: true, back, next }}
          />
        )}
      </div>
    </Page>
  );
}

function CreateUser() {
  const [isOpen, { open, close }] = useDisclosure(false);
  const [username, setUsername] = useState('');
  const goTo = useNavigate();
  const create = useAct(async () => {
    const made = await rest('POST', '/users', { body: { username: username.trim() } });
    await goTo(`/users/${made.userId}`);
  }, 'The user is created.');
  const submit = (event: FormEvent) => {
    event.preventDefault();
    create.mutate();
  };
  const leave = () => {
    create.reset();
    setUsername('');
    close();
  };
  return (
    <>
      <Button leftSection={<IconPlus size={16} aria-hidden />} onClick={open}>
        New user
      </Button>
      <Modal opened={isOpen} onClose={leave} title="New user" centered>
        <form onSubmit={submit}>
          <Stack>
            <TextInput
              label="Username"
              description="The name of the user in your application. It is unique in this environment."
              required
              maxLength={200}
              data-autofocus
              value={username}
              onChange={(event) => setUsername(event.currentTarget.value)}
            />
            {create.error && <ErrorNotice error={create.error} title="The user was not created" />}
            <Group justify="flex-end">
              <Button variant="default" onClick={leave}>
                Cancel
              </Button>
              <Button type="submit" loading={create.isPending} disabled={username.trim() === ''}>
                Create the user
              </Button>
            </Group>
          </Stack>
        </form>
      </Modal>
    </>
  );
}
