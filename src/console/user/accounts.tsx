import { Alert, Badge, Button, Group, Stack, Text } from '@mantine/core';
import { IconPlugConnected, IconStethoscope, IconUnlink } from '@tabler/icons-react';
import type { CredentialRecord, OpenCircuit, Schemas, UserRecord } from '../api-types.ts';
import { ConfirmButton, useAct } from '../parts/acts.tsx';
import { Empty } from '../parts/empty.tsx';
import { Section } from '../parts/page.tsx';
import { Loading } from '../parts/records.tsx';
import { ErrorNotice } from '../parts/error-notice.tsx';
import { Id, State, When } from '../parts/values.tsx';
import { useAll } from '../queries.ts';
import { rest } from '../rest-client.ts';
import { useScope } from '../signed-in.ts';
import { ConnectLink, ReconnectLink } from './links.tsx';

/** The accounts of a user, with their state and what can be done. */
export function Accounts({ user: { userId, username } }: { user: UserRecord }) {
  const mayConnect = useScope('connect:write');
  const list = useAll('/users/{userId}/credentials', {
    path: { userId },
    userId,
    topics: ['accounts'],
  });
  const circuits = useAll('/api/circuits', {
    query: { userId },
    enabled: useScope('executions:read'),
  });
  return (
    <Section
      title="Connected accounts"
      aside={mayConnect && <ConnectLink userId={userId} username={username} />}
    >
      {list.isPending ? (
        <Loading rows={3} />
      ) : !list.data ? (
        <ErrorNotice error={list.error} again={() => void list.refetch()} />
      ) : list.data.length === 0 ? (
        <Empty title="No account yet" icon={<IconPlugConnected aria-hidden />}>
          Make a connect link and send it to the user. The account appears here as soon as it is connected.
        </Empty>
      ) : (
        <ul className="plain-list">
          {list.data.toSorted(brokenFirst).map((credential) => (
            <Account
              key={credential.credentialId}
              credential={credential}
              circuits={(circuits.data ?? []).filter((one) => one.credentialId === credential.credentialId)}
            />
          ))}
        </ul>
      )}
    </Section>
  );
}

function brokenFirst(a: CredentialRecord, b: CredentialRecord): number {
  return Number(a.state !== 'needs_reconnect') - Number(b.state !== 'needs_reconnect');
}

function Account({ credential, circuits }: { credential: CredentialRecord; circuits: OpenCircuit[] }) {
  const { credentialId, connectorId, name, state, account } = credential;
  return (
    <li>
      <Stack gap="xs" py="md">
        <Group gap="xs">
          <Text fw={600} style={{ overflowWrap: 'anywhere' }}>
            {name}
          </Text>
          <State value={state} />
          {credential.default && (
            <Badge variant="light" color="gate" tt="none">
              default
            </Badge>
          )}
        </Group>
        {state !== 'active' && (
          <Alert variant="light" color={state === 'revoked' ? 'gray' : 'red'} maw={720}>
            {credential.reason ?? 'No reason is known.'}
            {credential.appMessage && <Text size="sm">The app said: {credential.appMessage}</Text>}
            {state === 'needs_reconnect' && (
              <Text size="sm" mt="xs">
                To repair it, send the user the reconnect link. Check now asks the app again.
              </Text>
            )}
          </Alert>
        )}
        {circuits.map(({ connectorId: app, actionId, failures, closesAt }) => (
          <Alert key={actionId} variant="light" color="orange" maw={720}>
            The last {failures} calls of {app}.{actionId} failed at the app, so agents cannot call it. The
            next call is tried <When at={closesAt} />.
          </Alert>
        ))}
        <dl className="facts">
          <dt>App</dt>
          <dd>
            {connectorId}, by {credential.type}
          </dd>
          {account && (
            <>
              <dt>Account</dt>
              <dd>{account.name ?? account.id}</dd>
            </>
          )}
          <dt>Last use</dt>
          <dd>
            <When at={credential.lastUsedAt} />
          </dd>
          <dt>Connected</dt>
          <dd>
            <When at={credential.createdAt} />
          </dd>
          {credential.refreshFailures !== undefined && (
            <>
              <dt>Renewals</dt>
              <dd>the last {credential.refreshFailures} failed</dd>
            </>
          )}
          <dt>Credential</dt>
          <dd>
            <Id value={credentialId} />
          </dd>
        </dl>
        <AccountActs credential={credential} />
      </Stack>
    </li>
  );
}

function AccountActs({ credential }: { credential: CredentialRecord }) {
  const { credentialId, userId, name, connectorId } = credential;
  const mayWrite = useScope('credentials:write');
  const mayConnect = useScope('connect:write');
  const path = { userId, credentialId };
  const check = useAct(() =>
    rest('POST', '/users/{userId}/credentials/{credentialId}/check', { path, userId }),
  );
  return (
    <>
      <Group gap="xs">
        {mayWrite && (
          <Button
            size="xs"
            variant="default"
            leftSection={<IconStethoscope size={14} aria-hidden />}
            loading={check.isPending}
            onClick={() => check.mutate()}
          >
            Check now
          </Button>
        )}
        {mayConnect && (
          <ReconnectLink
            userId={userId}
            credentialId={credentialId}
            name={name}
            isNeeded={credential.state === 'needs_reconnect'}
          />
        )}
        {mayWrite && (
          <ConfirmButton
            label="Disconnect"
            size="xs"
            leftSection={<IconUnlink size={14} aria-hidden />}
            dangerous
            done={`${name} is disconnected.`}
            title={`Disconnect ${name}?`}
            run={() => rest('DELETE', '/users/{userId}/credentials/{credentialId}', { path, userId })}
          >
            Gatehouse forgets the account of {connectorId}, and revokes its tokens at the app where the app
            supports it. Calls, webhooks and triggers that need it stop. The user can connect again, under a
            new id.
          </ConfirmButton>
        )}
      </Group>
      <div aria-live="polite">
        {check.data && <Text size="sm">{checkInWords(check.data)}</Text>}
        {check.error && <ErrorNotice error={check.error} title="The account could not be checked" />}
      </div>
    </>
  );
}

function checkInWords({ checked, state }: Schemas['CheckedCredential']): string {
  if (!checked) return 'The connector has no call for a check, so nothing was sent.';
  return state === 'active' ? 'The app accepts the account.' : 'The app refuses the account.';
}
