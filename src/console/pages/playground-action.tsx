import { Select, SimpleGrid } from '@mantine/core';
import { IconPlayerPlay } from '@tabler/icons-react';
import { useMutation } from '@tanstack/react-query';
import { useState } from 'react';
import type { ActionRecord, ConnectorRecord, CredentialRecord, UserRecord } from '../api-types.ts';
import { effectOfCall } from '../names.ts';
import { ConfirmDialog } from '../parts/acts.tsx';
import { CallForm, type Input } from '../parts/call-form.tsx';
import { EffectOption, SHOWN_OPTIONS } from '../parts/effect-option.tsx';
import { Empty } from '../parts/empty.tsx';
import { Section } from '../parts/page.tsx';
import { UserPicker } from '../parts/pickers.tsx';
import { Loading } from '../parts/records.tsx';
import { useFilters } from '../parts/search-params.ts';
import { ErrorNotice } from '../parts/error-notice.tsx';
import { useAll, useRest } from '../queries.ts';
import { exchange, type Answer } from '../rest-client.ts';
import { useScope, useSession } from '../signed-in.ts';
import { RunResult } from './playground-result.tsx';

const CHOICES = ['userId', 'connectorId', 'actionId', 'credentialId'] as const;
type Choice = Record<(typeof CHOICES)[number], string>;

/** Runs an action of a connector for a user, with a form made from its schema. */
export function ActionPlayground() {
  const [choice, choose] = useFilters(CHOICES);
  const { environment } = useSession();
  const user = useRest('/users/{userId}', {
    path: { userId: choice.userId },
    enabled: choice.userId !== '',
  });
  const connectors = useAll('/connectors');
  const actions = useAll('/connectors/{connectorId}/actions', {
    path: { connectorId: choice.connectorId },
    enabled: choice.connectorId !== '',
  });
  const accounts = useAll('/users/{userId}/credentials', {
    path: { userId: choice.userId },
    query: { connectorId: choice.connectorId },
    topics: ['accounts'],
    userId: choice.userId,
    enabled: choice.userId !== '' && choice.connectorId !== '' && user.isSuccess,
  });
  const connector = connectors.data?.find((one) => one.connectorId === choice.connectorId);
  const action = actions.data?.find((one) => one.actionId === choice.actionId);
  const failed = [user, connectors, actions, accounts].find((one) => one.isError);

  return (
    <>
      {failed?.error && <ErrorNotice error={failed.error} again={() => void failed.refetch()} />}
      <div className="card">
        <SimpleGrid cols={{ base: 1, xs: 2, lg: 4 }} p="md">
          <UserPicker
            label="User"
            placeholder="Choose a user"
            value={choice.userId}
            onChange={(userId) => choose({ userId, credentialId: '' })}
          />
          <Select
            label="Connector"
            placeholder={connectors.isPending ? 'Loading…' : 'Choose a connector'}
            searchable
            limit={SHOWN_OPTIONS}
            value={connector ? choice.connectorId : null}
            onChange={(connectorId) =>
              choose({ connectorId: connectorId ?? '', actionId: '', credentialId: '' })
            }
            data={(connectors.data ?? []).map((one) => ({ value: one.connectorId, label: one.name }))}
            nothingFoundMessage="No such connector"
          />
          <ActionSelect
            actions={actions.data ?? []}
            value={action ? choice.actionId : null}
            disabled={!connector}
            onChange={(actionId) => choose({ actionId })}
          />
          <AccountSelect
            accounts={accounts.data}
            connector={connector}
            value={choice.credentialId}
            onChange={(credentialId) => choose({ credentialId })}
          />
        </SimpleGrid>
      </div>
      {connector && actions.isLoading && <Loading />}
      {action && connector ? (
        <Call
          key={`${action.connectorId}.${action.actionId}`}
          action={action}
          connector={connector}
          user={choice.userId === '' ? undefined : user.data}
          choice={choice}
          account={accounts.data?.find((one) => one.credentialId === choice.credentialId)}
        />
      ) : (
        !actions.isLoading && (
          <div className="card">
            <Empty title="Choose what to run" icon={<IconPlayerPlay aria-hidden />}>
              Choose a user, a connector and an action.
              {environment === 'development' && ' The connector Sandbox needs no account anywhere.'}
            </Empty>
          </div>
        )
      )}
    </>
  );
}

function ActionSelect({
  actions,
  value,
  disabled,
  onChange,
}: {
  actions: ActionRecord[];
  value: string | null;
  disabled: boolean;
  onChange: (actionId: string) => void;
}) {
  const byId = new Map(actions.map((one) => [one.actionId, one]));
  return (
    <Select
      label="Action"
      placeholder={disabled ? 'Choose a connector first' : 'Search by name or id'}
      searchable
      disabled={disabled}
      limit={SHOWN_OPTIONS}
      value={value}
      onChange={(actionId) => onChange(actionId ?? '')}
      data={actions.map(({ actionId, name }) => ({ value: actionId, label: `${name} (${actionId})` }))}
      renderOption={({ option }) => {
        const one = byId.get(option.value);
        return <EffectOption name={one?.name ?? ''} id={option.value} effect={one?.effect ?? 'read'} />;
      }}
      nothingFoundMessage="No such action"
    />
  );
}

function AccountSelect({
  accounts,
  connector,
  value,
  onChange,
}: {
  accounts: CredentialRecord[] | undefined;
  connector: ConnectorRecord | undefined;
  value: string;
  onChange: (credentialId: string) => void;
}) {
  const none = accounts?.length === 0 && connector && connector.authentication.length > 0;
  return (
    <Select
      label="Account"
      description={none ? `The user has no account of ${connector.name}.` : undefined}
      placeholder={(accounts?.length ?? 0) > 1 ? 'The default account' : 'The only account'}
      inputWrapperOrder={['label', 'input', 'description']}
      clearable
      disabled={!accounts || accounts.length === 0}
      value={value || null}
      onChange={(credentialId) => onChange(credentialId ?? '')}
      data={(accounts ?? []).map(({ credentialId, name, state }) => ({
        value: credentialId,
        label: state === 'active' ? name : `${name} (${state.replaceAll('_', ' ')})`,
      }))}
    />
  );
}

interface CallProps {
  action: ActionRecord;
  connector: ConnectorRecord;
  user: UserRecord | undefined;
  account: CredentialRecord | undefined;
  choice: Choice;
}

/** The input of a call, the button that runs it, and its result. */
function Call({ action, connector, user, account, choice }: CallProps) {
  const [input, setInput] = useState<Input>({});
  const [isAsking, setAsking] = useState(false);
  const mayRun = useScope('actions:execute');
  const run = useMutation({ mutationFn: (sent: Input) => execute(choice, sent) });
  const effect = effectOfCall(action, input);
  return (
    <SimpleGrid cols={{ base: 1, md: 2 }} spacing="lg">
      <CallForm
        description={action.description}
        schema={action.inputSchema}
        effect={effect}
        input={input}
        onChange={setInput}
        obstacle={obstacle(mayRun, user)}
        isPending={run.isPending}
        run={() => (effect === 'destructive' ? setAsking(true) : run.mutate(input))}
      />
      <Section title="Result">
        <RunResult
          run={run}
          choice={choice}
          onNext={(offset) => {
            const next = { ...input, offset };
            setInput(next);
            run.mutate(next);
          }}
        />
      </Section>
      <ConfirmDialog
        title={`Run “${action.name}”?`}
        label={`Run ${action.actionId}`}
        dangerous
        isOpen={isAsking}
        close={() => setAsking(false)}
        run={() => run.mutateAsync(input)}
      >
        {warning({ connector, user, account })}
      </ConfirmDialog>
    </SimpleGrid>
  );
}

/** Returns what a destructive call will do. */
function warning({ connector, user, account }: Pick<CallProps, 'connector' | 'user' | 'account'>): string {
  const whose = account ? ` with the account ${account.name}` : '';
  return (
    `The call runs now at ${connector.name}, for the user ${user?.username}${whose}. ` +
    'It can delete or overwrite data, and Gatehouse cannot bring it back.'
  );
}

function obstacle(mayRun: boolean, user: UserRecord | undefined): string | undefined {
  if (!mayRun) return 'You may not run actions: the scope actions:execute is missing.';
  return user ? undefined : 'Choose a user first.';
}

function execute({ userId, connectorId, actionId, credentialId }: Choice, input: Input): Promise<Answer> {
  return exchange('POST', '/connectors/{connectorId}/actions/{actionId}/execute', {
    path: { connectorId, actionId },
    userId,
    body: { input, ...(credentialId === '' ? {} : { credentialId }) },
  });
}
