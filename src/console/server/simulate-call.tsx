import { Alert, Badge, Button, Group, JsonInput, SimpleGrid, Stack, Text, ThemeIcon } from '@mantine/core';
import { IconCheck, IconX } from '@tabler/icons-react';
import { useState, type FormEvent } from 'react';
import type { ServerRecord, Simulation } from '../api-types.ts';
import { useAct } from '../parts/acts.tsx';
import { Section } from '../parts/page.tsx';
import { ConnectorActionPicker, NO_ACTION, UserPicker } from '../parts/pickers.tsx';
import { ErrorNotice } from '../parts/error-notice.tsx';
import { rest } from '../rest-client.ts';

const OUTCOMES: Record<Simulation['outcome'], { title: string; color: string }> = {
  runs: { title: 'The call would run', color: 'green' },
  asks: { title: 'The call would run after the user agrees', color: 'blue' },
  denied: { title: 'A rule would deny the call', color: 'orange' },
  fails: { title: 'The call would fail', color: 'red' },
};

/** Runs the checks of a call without calling the app. */
export function SimulateCall({ server }: { server: ServerRecord }) {
  const [action, setAction] = useState(NO_ACTION);
  const [userId, setUserId] = useState(server.ownerUserId ?? '');
  const [input, setInput] = useState('');
  const [result, setResult] = useState<Simulation>();
  const call = useAct(async () =>
    setResult(
      await rest('POST', '/api/servers/{serverId}/simulate', {
        path: { serverId: server.serverId },
        body: {
          ...action,
          ...(userId === '' ? {} : { userId }),
          ...(input.trim() === '' ? {} : { input: objectOf(input) }),
        },
      }),
    ),
  );
  const submit = (event: FormEvent) => {
    event.preventDefault();
    setResult(undefined);
    call.mutate();
  };
  return (
    <Section title="Simulate a call">
      <form onSubmit={submit}>
        <Stack gap="md">
          <Text size="sm">All checks of a real call run. Nothing is sent to the app.</Text>
          <SimpleGrid cols={{ base: 1, sm: 3 }}>
            <ConnectorActionPicker value={action} onChange={setAction} />
            <UserPicker
              label="User"
              placeholder={server.ownerUserId ? 'The owner' : 'No user'}
              value={userId}
              onChange={setUserId}
            />
          </SimpleGrid>
          <JsonInput
            label="Input"
            description="An object in JSON. Left empty, the input is not checked."
            autosize
            minRows={2}
            maxRows={12}
            value={input}
            onChange={setInput}
            formatOnBlur
            validationError="This is not JSON."
          />
          <Group>
            <Button
              type="submit"
              variant="default"
              disabled={action.connectorId === '' || action.actionId === ''}
              loading={call.isPending}
            >
              Simulate
            </Button>
          </Group>
          {call.error && <ErrorNotice error={call.error} title="The call was not simulated" />}
          <div aria-live="polite">{result && <Outcome result={result} />}</div>
        </Stack>
      </form>
    </Section>
  );
}

/** @throws Error when the text is not JSON. The API rejects JSON that is not an object. */
function objectOf(text: string): Record<string, unknown> {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new Error('The input is not JSON.', { cause });
  }
}

function Outcome({ result }: { result: Simulation }) {
  const { title, color } = OUTCOMES[result.outcome];
  return (
    <Alert variant="light" color={color} title={title}>
      <Stack gap="sm">
        <Text size="sm">{result.reason}</Text>
        <Group gap="xs">
          {result.effect && <Fact label="effect" value={result.effect} />}
          {result.rule && <Fact label="rule" value={result.rule} />}
          {result.code && <Fact label="code" value={result.code} />}
          {result.credentialId && <Fact label="credential" value={result.credentialId} />}
        </Group>
        <ul className="plain-list">
          {result.checks.map(({ check, passed, detail }) => (
            <Group component="li" key={check} gap="xs" wrap="nowrap" align="flex-start" py={5}>
              <ThemeIcon
                size={20}
                radius="xl"
                variant="light"
                color={passed ? 'green' : 'red'}
                aria-label={passed ? 'passed' : 'not passed'}
                role="img"
              >
                {passed ? <IconCheck size={13} /> : <IconX size={13} />}
              </ThemeIcon>
              <Text size="sm" miw={0} style={{ overflowWrap: 'anywhere' }}>
                <strong>{check}</strong>: {detail}
              </Text>
            </Group>
          ))}
        </ul>
      </Stack>
    </Alert>
  );
}

function Fact({ label, value }: { label: string; value: string }) {
  return (
    <Badge variant="default" tt="none" radius="sm" fw={500} h="auto" style={{ whiteSpace: 'normal' }}>
      {label} <span className="mono">{value}</span>
    </Badge>
  );
}
