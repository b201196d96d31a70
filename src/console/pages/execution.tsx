import { Alert, Anchor, Button, Group, SimpleGrid, Stack, Text } from '@mantine/core';
import {
  IconArrowLeft,
  IconCheck,
  IconKey,
  IconPlugConnected,
  IconShieldCheck,
  IconShieldX,
  IconUser,
  IconX,
} from '@tabler/icons-react';
import type { ReactNode } from 'react';
import { Link, useParams } from 'react-router';
import type { ExecutionRecord } from '../api-types.ts';
import { errorInWords } from '../error-words.ts';
import { approvalsOf, useCallerName, useServerName } from '../names.ts';
import { CodeBlock } from '../parts/code-block.tsx';
import { Page, Section } from '../parts/page.tsx';
import { Loading } from '../parts/records.tsx';
import { StoryStep as Step } from '../parts/story-step.tsx';
import { ErrorNotice } from '../parts/error-notice.tsx';
import { UndoCall } from '../parts/undo-call.tsx';
import { UserName } from '../parts/user-name.tsx';
import { duration, Id, Moment, State, When } from '../parts/values.tsx';
import { useRest } from '../queries.ts';
import { isObject, query, RestError } from '../rest-client.ts';
import { useScope } from '../signed-in.ts';

/** One call: who asked, what was decided, which account it used, what the app answered. */
export function Execution() {
  const { executionId = '' } = useParams();
  const found = useRest('/api/executions/{executionId}', { path: { executionId } });
  const back = (
    <Button
      component={Link}
      to="/executions"
      variant="default"
      leftSection={<IconArrowLeft size={16} aria-hidden />}
    >
      All executions
    </Button>
  );
  if (found.isPending)
    return (
      <Page title="Execution" actions={back}>
        <Loading />
      </Page>
    );
  if (found.isError)
    return (
      <Page title="Execution" actions={back}>
        <ErrorNotice error={found.error} again={() => void found.refetch()} />
      </Page>
    );
  const call = found.data;
  return (
    <Page
      title={`${call.connectorId}.${call.actionId}`}
      lead={
        <>
          <State value={call.outcome} /> <When at={call.at} />, in {duration(call.durationMs)}
        </>
      }
      actions={back}
    >
      {call.outcome !== 'succeeded' && <Reason call={call} />}
      <SimpleGrid cols={{ base: 1, md: 2 }} spacing="lg">
        <Section title="What happened">
          <Story call={call} />
        </Section>
        <Section title="Facts">
          <Facts call={call} />
        </Section>
      </SimpleGrid>
      <UndoCall call={call} />
      <Content call={call} />
    </Page>
  );
}

function Reason({ call }: { call: ExecutionRecord }) {
  const words = errorInWords(call);
  const message = messageOf(call);
  const mayRead = useScope('payloads:read');
  return (
    <Alert variant="light" color={call.outcome === 'denied' ? 'orange' : 'red'} title={words.title}>
      <Stack gap="xs" align="flex-start">
        {message !== undefined && (
          <Text fw={600} size="sm" style={{ overflowWrap: 'anywhere' }}>
            {message}
          </Text>
        )}
        <Text size="sm">{words.todo}</Text>
        {message === undefined && call.outcome === 'failed' && (
          <Text size="sm" c="dimmed">
            {mayRead
              ? 'The message of this call is not stored. The settings decide which content of calls is stored, and for how long.'
              : 'A key with the scope payloads:read sees the message of the app.'}
          </Text>
        )}
        <NextPage call={call} />
      </Stack>
    </Alert>
  );
}

/** A link to the page on which the operator can fix the reason. */
function NextPage({ call: { errorCode, userId, serverId } }: { call: ExecutionRecord }) {
  const [to, text] =
    userId && errorCode?.startsWith('credential_')
      ? [`/users/${encodeURIComponent(userId)}`, 'Accounts of the user: check, reconnect, connect']
      : serverId && errorCode === 'restricted'
        ? [`/servers/${serverId}`, 'Restrictions of the server']
        : [];
  if (to === undefined) return null;
  return (
    <Anchor component={Link} to={to} size="sm" fw={600} c="inherit" underline="always">
      {text}
    </Anchor>
  );
}

/** Returns the message that the caller of a failed call got, where it is stored. */
function messageOf({ outcome, output }: ExecutionRecord): string | undefined {
  if (outcome === 'succeeded' || !isObject(output)) return undefined;
  return typeof output['error'] === 'string' ? output['error'] : undefined;
}

/** The input and output of the call, where they are stored. */
function Content({ call: { input, output, outcome } }: { call: ExecutionRecord }) {
  if (input === undefined && (output === undefined || outcome === 'failed')) return null;
  return (
    <Section title="Input and output">
      <SimpleGrid cols={{ base: 1, md: 2 }} spacing="lg">
        {Object.entries({ Input: input, Output: output }).map(
          ([label, value]) =>
            value !== undefined && (
              <div key={label} className="tall">
                <Text size="sm" fw={600} mb={6}>
                  {label}
                </Text>
                <CodeBlock text={JSON.stringify(value, null, 2)} label={label} />
              </div>
            ),
        )}
      </SimpleGrid>
    </Section>
  );
}

function Story({ call }: { call: ExecutionRecord }) {
  const nameOf = useServerName();
  const callerName = useCallerName();
  const isDenied = call.outcome === 'denied';
  const reached = call.upstreamStatus !== null;
  return (
    <ol className="story">
      <Step icon={<IconUser size={16} />} color="gray" title="Asked">
        By {call.caller.startsWith('person:') ? '' : 'the '}
        {callerName(call.caller)}
        {call.serverId ? (
          <>
            , through the server{' '}
            <Anchor component={Link} to={`/servers/${call.serverId}`} fw={600}>
              {nameOf(call.serverId)}
            </Anchor>
          </>
        ) : (
          ', over REST'
        )}
        . <Moment at={call.at} />.
      </Step>
      <Step
        icon={isDenied ? <IconShieldX size={16} /> : <IconShieldCheck size={16} />}
        color={isDenied ? 'orange' : 'green'}
        title={isDenied ? 'Denied' : 'Allowed'}
      >
        {decision(call)}
      </Step>
      {!isDenied && (
        <Step icon={<IconKey size={16} />} color={call.credentialId ? 'green' : 'gray'} title="Account">
          <Account call={call} />
        </Step>
      )}
      {!isDenied && (
        <Step
          icon={<IconPlugConnected size={16} />}
          color={!reached ? 'gray' : (call.upstreamStatus ?? 0) < 400 ? 'green' : 'red'}
          title="The app"
        >
          {reached
            ? `Its last answer had the status ${call.upstreamStatus}.`
            : call.outcome === 'succeeded'
              ? 'The action needed no HTTP answer of an app.'
              : 'It gave no HTTP answer.'}
          <Attempts call={call} />
        </Step>
      )}
      <Step
        icon={call.outcome === 'succeeded' ? <IconCheck size={16} /> : <IconX size={16} />}
        color={call.outcome === 'succeeded' ? 'green' : isDenied ? 'orange' : 'red'}
        title={call.outcome === 'succeeded' ? 'Succeeded' : isDenied ? 'Not run' : 'Failed'}
      >
        After {duration(call.durationMs)}
        {call.errorCode && (
          <>
            , with <span className="mono">{call.errorCode}</span>
          </>
        )}
        .
      </Step>
    </ol>
  );
}

/** The requests to the app, where there were several: repetitions, and further reads and steps. */
function Attempts({ call: { attempts = [] } }: { call: ExecutionRecord }) {
  if (attempts.length === 0) return null;
  return (
    <ol className="attempts">
      {attempts.map(({ actionId, status, errorCode, waitMs, durationMs }, index) => (
        <li key={index}>
          <span className="mono">{actionId}</span>: {status ?? errorCode ?? 'no answer'} in{' '}
          {duration(durationMs)}
          {waitMs >= 1 && `, after a wait of ${duration(waitMs)}`}
        </li>
      ))}
    </ol>
  );
}

function decision(call: ExecutionRecord): ReactNode {
  if (call.outcome !== 'denied')
    return call.serverId
      ? 'The restrictions of the server allow the call.'
      : 'REST with an API key has no restrictions.';
  return call.rule ? (
    <>
      By the rule <span className="mono">{call.rule}</span> of the server.
    </>
  ) : (
    'Gatehouse refused the call before it ran.'
  );
}

function Account({ call: { credentialId, userId } }: { call: ExecutionRecord }) {
  const mayRead = useScope('credentials:read') && credentialId !== null && userId !== null;
  const credential = useRest('/users/{userId}/credentials/{credentialId}', {
    path: { userId: userId ?? '', credentialId: credentialId ?? '' },
    enabled: mayRead,
    userId: userId ?? '',
  });
  if (!credentialId) return 'No stored account was used.';
  const isDeleted = credential.error instanceof RestError && credential.error.code === 'credential_not_found';
  return (
    <Group gap="xs">
      {credential.data ? (
        <>
          <Anchor component={Link} to={`/users/${encodeURIComponent(userId ?? '')}`} fw={600}>
            {credential.data.name}
          </Anchor>{' '}
          <State value={credential.data.state} />
        </>
      ) : (
        <span className="mono">{credentialId}</span>
      )}
      {isDeleted && <span>It was deleted since.</span>}
    </Group>
  );
}

function Facts({ call }: { call: ExecutionRecord }) {
  const nameOf = useServerName();
  const same = query({ connectorId: call.connectorId, actionId: call.actionId });
  return (
    <>
      <dl className="facts">
        <dt>Execution</dt>
        <dd>
          <Id value={call.executionId} />
        </dd>
        <dt>Request</dt>
        <dd>
          <Id value={call.requestId} />
        </dd>
        <dt>User</dt>
        <dd>{call.userId ? <UserName userId={call.userId} /> : 'none'}</dd>
        <dt>Server</dt>
        <dd>
          {call.serverId ? (
            <Anchor component={Link} to={`/servers/${call.serverId}`} size="sm">
              {nameOf(call.serverId)}
            </Anchor>
          ) : (
            'none: REST'
          )}
        </dd>
        <dt>Credential</dt>
        <dd>{call.credentialId ? <Id value={call.credentialId} /> : 'none'}</dd>
        <dt>Caller</dt>
        <dd>
          <span className="mono">{call.caller}</span>
        </dd>
        {call.programId && (
          <>
            <dt>Program</dt>
            <dd>
              <Id value={call.programId} />
            </dd>
          </>
        )}
        <dt>Error code</dt>
        <dd>{call.errorCode ? <span className="mono">{call.errorCode}</span> : 'none'}</dd>
        <dt>App’s status</dt>
        <dd>{call.upstreamStatus ?? 'none'}</dd>
        <dt>Duration</dt>
        <dd>{duration(call.durationMs)}</dd>
      </dl>
      <Group mt="md" gap="md">
        {call.serverId && (
          <>
            <Anchor component={Link} to={`/servers/${call.serverId}`} size="sm">
              Stop this agent, or change what it may do
            </Anchor>
            <Anchor component={Link} to={`/audit${query({ target: call.serverId })}`} size="sm">
              Who allowed this: changes of the server
            </Anchor>
          </>
        )}
        {call.credentialId && (
          <Anchor component={Link} to={`/executions${query({ credentialId: call.credentialId })}`} size="sm">
            Calls of this account
          </Anchor>
        )}
        <Anchor component={Link} to={approvalsOf(call)} size="sm">
          Who approved this definition
        </Anchor>
        <Anchor component={Link} to={`/executions${same}`} size="sm">
          Calls of the same action
        </Anchor>
        {call.programId && (
          <Anchor component={Link} to={`/executions${query({ programId: call.programId })}`} size="sm">
            Calls of the same program
          </Anchor>
        )}
        {call.userId && (
          <Anchor component={Link} to={`/executions${query({ userId: call.userId })}`} size="sm">
            Calls of the same user
          </Anchor>
        )}
      </Group>
    </>
  );
}
