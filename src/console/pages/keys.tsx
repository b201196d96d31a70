import {
  Anchor,
  Badge,
  Button,
  Checkbox,
  Group,
  Modal,
  NumberInput,
  Select,
  SimpleGrid,
  Stack,
  Text,
  TextInput,
} from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { IconKey, IconPlus } from '@tabler/icons-react';
import { useState, type FormEvent } from 'react';
import { Link } from 'react-router';
import type { KeyRecord, Schemas } from '../api-types.ts';
import { ConfirmButton, SecretDialog, useAct, useSecret } from '../parts/acts.tsx';
import { Empty } from '../parts/empty.tsx';
import { Page } from '../parts/page.tsx';
import { People } from '../parts/people.tsx';
import { List, type Column } from '../parts/records.tsx';
import { useCursor } from '../parts/search-params.ts';
import { ErrorNotice } from '../parts/error-notice.tsx';
import { some, State, When } from '../parts/values.tsx';
import { useRest } from '../queries.ts';
import { query, rest } from '../rest-client.ts';
import { useScope, useSession } from '../signed-in.ts';

const OVERLAPS = [
  { value: '3600', label: 'Works for an hour' },
  { value: '86400', label: 'Works for a day' },
  { value: '604800', label: 'Works for 7 days' },
  { value: '2592000', label: 'Works for 30 days' },
  { value: '0', label: 'Ends at once' },
];
/** The default, because programs keep working while they get the new secret. */
const AN_HOUR = '3600';

type MadeKey = Schemas['ApiKeyWithSecret'];

/** The API keys of the environment. */
export function Keys() {
  const mayWrite = useScope('keys:write');
  const { cursor, next, back } = useCursor();
  const [secret, show, hide] = useSecret();
  const list = useRest('/api/keys', { query: { cursor, limit: 50 } });
  return (
    <Page
      title="API keys"
      lead="Programs and operators sign in with keys. Give each its own key, with the scopes that it needs."
      actions={mayWrite && <CreateKey show={show} />}
    >
      <div className="card">
        <List
          label="API keys"
          list={list}
          columns={columns(mayWrite, show)}
          keyOf={(row) => row.keyId}
          empty={<Empty title="No keys here">Create a key for each program that calls Gatehouse.</Empty>}
          pager={{ of: 'keys', oldestFirst: true, back, next }}
        />
      </div>
      <People />
      <SecretDialog secret={secret} close={hide} title="Copy the key">
        A person who has the key can do everything that its scopes allow.
      </SecretDialog>
    </Page>
  );
}

function columns(mayWrite: boolean, show: (secret: string) => void): Column<KeyRecord>[] {
  return [
    {
      label: 'Name',
      cell: (row) => (
        <Group gap={6} wrap="nowrap">
          <Text fw={600} size="sm" style={{ overflowWrap: 'anywhere' }}>
            {row.name}
          </Text>
          {row.kind === 'environment' && (
            <Badge variant="light" tt="none">
              environment
            </Badge>
          )}
          {row.status === 'expired' && <State value="expired" />}
        </Group>
      ),
    },
    { label: 'Key', cell: (row) => <span className="mono nowrap">…{row.lastFour}</span> },
    { label: 'Scopes', cell: (row) => <Scopes row={row} /> },
    {
      label: 'Last used',
      cell: (row) => (
        <div>
          <When at={row.lastUsedAt} />
          <Anchor
            component={Link}
            to={`/audit${query({ caller: `key:${row.keyId}` })}`}
            size="xs"
            display="block"
          >
            What it changed
          </Anchor>
        </div>
      ),
    },
    {
      label: 'Expires',
      cell: (row) => (
        <div>
          <When at={row.expiresAt} />
          {row.previousExpiresAt && (
            <Text size="xs" c="dimmed">
              The earlier secret ends <When at={row.previousExpiresAt} />.
            </Text>
          )}
        </div>
      ),
    },
    ...(mayWrite ? [{ label: '', end: true, cell: (row: KeyRecord) => <Acts row={row} show={show} /> }] : []),
  ];
}

function Scopes({ row }: { row: KeyRecord }) {
  if (row.kind === 'environment') return 'all';
  return (
    <details>
      <summary>{some(row.scopes.length, 'scope')}</summary>
      <ul className="plain">
        {row.scopes.map((scope) => (
          <li key={scope} className="mono">
            {scope}
          </li>
        ))}
      </ul>
    </details>
  );
}

function Acts({ row, show }: { row: KeyRecord; show: (secret: string) => void }) {
  const [overlapSeconds, setOverlap] = useState(AN_HOUR);
  const { keyId: own } = useSession();
  if (row.kind === 'environment')
    return (
      <Text size="xs" c="dimmed" maw={300} ml="auto">
        To replace it without an outage, give each program a key of its own. Then run{' '}
        <span className="mono">gatehouse keys rotate {row.name}</span>, which ends it at once.
      </Text>
    );
  const path = { keyId: row.keyId };
  const isOwn = row.keyId === own;
  return (
    <Group gap={6} justify="flex-end">
      {row.previousExpiresAt && (
        <ConfirmButton
          size="xs"
          variant="filled"
          label="End the earlier secret"
          title={`End the earlier secret of ${row.name}?`}
          done={`The earlier secret of ${row.name} has ended.`}
          run={() => rest('DELETE', '/api/keys/{keyId}/previous-secret', { path })}
        >
          Requests with it are refused within a second. The new secret …{row.lastFour} stays. End it when
          every program has the new one.
        </ConfirmButton>
      )}
      <ConfirmButton
        size="xs"
        label="Rotate"
        title={`Rotate the key ${row.name}?`}
        run={async () => {
          const made = await rest('POST', '/api/keys/{keyId}/rotate', {
            path,
            body: { overlapSeconds: Number(overlapSeconds) },
          });
          show(made.key);
        }}
      >
        The key gets a new secret, which is shown once. Its scopes and its expiry stay.
        <Select
          my="sm"
          label="The earlier secret"
          data={OVERLAPS}
          value={overlapSeconds}
          allowDeselect={false}
          onChange={(value) => setOverlap(value ?? AN_HOUR)}
        />
        {overlapSeconds === '0'
          ? 'Programs that send the earlier secret are refused at once, until they have the new one.'
          : 'Programs continue with the earlier secret until then. If it leaked, end it as soon as they have the new one.'}
        {isOwn && <p>You are signed in with this key. Your session ends with the earlier secret.</p>}
      </ConfirmButton>
      <ConfirmButton
        size="xs"
        dangerous
        label="Revoke"
        title={`Revoke the key ${row.name}?`}
        run={() => rest('DELETE', '/api/keys/{keyId}', { path })}
      >
        Requests with it are refused within a second. This cannot be undone. Its name can be used again.
        {isOwn && <p>You are signed in with this key. Your session ends at once.</p>}
      </ConfirmButton>
    </Group>
  );
}

function CreateKey({ show }: { show: (secret: string) => void }) {
  const [isOpen, { open, close }] = useDisclosure(false);
  return (
    <>
      <Button leftSection={<IconPlus size={16} aria-hidden />} onClick={open}>
        Create a key
      </Button>
      <Modal opened={isOpen} onClose={close} title="Create a key" size="lg">
        <KeyForm
          done={(made) => {
            close();
            show(made.key);
          }}
        />
      </Modal>
    </>
  );
}

function KeyForm({ done }: { done: (made: MadeKey) => void }) {
  const { scopes: offered } = useSession();
  const [name, setName] = useState('');
  const [scopes, setScopes] = useState<string[]>([]);
  const [days, setDays] = useState<number | string>('');
  const create = useAct(() =>
    rest('POST', '/api/keys', {
      body: {
        name: name.trim(),
        scopes: offered.filter((scope) => scopes.includes(scope)),
        ...(days === '' ? {} : { expiresInDays: Number(days) }),
      },
    }),
  );
  const submit = (event: FormEvent) => {
    event.preventDefault();
    create.mutate(undefined, { onSuccess: done });
  };
  return (
    <form onSubmit={submit}>
      <Stack>
        <TextInput
          label="Name"
          description="Names the key in the audit log. Unique in the environment."
          required
          maxLength={100}
          data-autofocus
          autoComplete="off"
          value={name}
          onChange={(event) => setName(event.currentTarget.value)}
        />
        <NumberInput
          label="Days until it expires"
          description="Empty: as long as the key that creates it."
          min={1}
          max={3650}
          allowDecimal={false}
          value={days}
          onChange={setDays}
        />
        <Checkbox.Group
          label="Scopes"
          description="A key can give only scopes that it has."
          value={scopes}
          onChange={setScopes}
        >
          <Group gap="xs" mt="xs">
            <Button
              size="compact-xs"
              variant="default"
              onClick={() => setScopes(offered.filter((scope) => scope.endsWith(':read')))}
            >
              All that read
            </Button>
            <Button size="compact-xs" variant="default" onClick={() => setScopes([])}>
              None
            </Button>
          </Group>
          <SimpleGrid cols={{ base: 1, xs: 2, sm: 3 }} spacing={8} mt="xs">
            {offered.map((scope) => (
              <Checkbox key={scope} size="xs" value={scope} label={<span className="mono">{scope}</span>} />
            ))}
          </SimpleGrid>
        </Checkbox.Group>
        {create.isError && <ErrorNotice title="The key was not created" error={create.error} />}
        <Group justify="flex-end">
          <Button
            type="submit"
            leftSection={<IconKey size={16} aria-hidden />}
            loading={create.isPending}
            disabled={scopes.length === 0}
          >
            Create the key
          </Button>
        </Group>
      </Stack>
    </form>
  );
}
