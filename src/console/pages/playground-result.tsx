import { Alert, Anchor, Button, Group, Stack, Text } from '@mantine/core';
import { IconTerminal2 } from '@tabler/icons-react';
import type { UseMutationResult } from '@tanstack/react-query';
import { errorInWords } from '../error-words.ts';
import { Empty } from '../parts/empty.tsx';
import { ExecutionLinks } from '../parts/execution-links.tsx';
import { Loading } from '../parts/records.tsx';
import { ErrorNotice } from '../parts/error-notice.tsx';
import { Copy, count, duration, State } from '../parts/values.tsx';
import { isObject, RestError, type Answer } from '../rest-client.ts';

/** Characters of an answer that the page shows. */
const SHOWN = 100_000;

type Choice = Record<'userId' | 'connectorId' | 'actionId', string>;

/** The answer of the last call: its status, duration, record and content. */
export function RunResult({
  run,
  choice,
  onNext,
}: {
  run: UseMutationResult<Answer, Error, Record<string, unknown>>;
  choice: Choice;
  /** Runs the call for the page of records at an offset. */
  onNext: (offset: number) => void;
}) {
  if (run.isPending) return <Loading rows={4} />;
  if (run.isError) return <ErrorNotice error={run.error} title="The call was not sent" />;
  if (!run.data)
    return (
      <Empty title="Nothing has run yet" icon={<IconTerminal2 aria-hidden />}>
        The answer appears here, with its status, its duration and a link to the execution.
      </Empty>
    );
  const { status, body, durationMs, requestId } = run.data;
  const { userId, connectorId, actionId } = choice;
  const isGood = status < 400;
  const nextOffset = isObject(body) && isObject(body['pagination']) ? body['pagination']['nextOffset'] : null;
  return (
    <Stack aria-live="polite">
      <Group gap="sm" justify="space-between">
        <Group gap="sm">
          <State value={isGood ? 'succeeded' : 'failed'} />
          <Text size="sm">
            Status <strong>{status}</strong>, after {duration(durationMs)}
          </Text>
        </Group>
        {requestId && <ExecutionLinks filter={{ userId, connectorId, actionId }} requestIds={[requestId]} />}
      </Group>
      {!isGood && isObject(body) && <Failure status={status} body={body} />}
      <Content body={isGood && isObject(body) ? body['data'] : body} />
      {typeof nextOffset === 'number' && (
        <Group>
          <Button variant="default" size="xs" onClick={() => onNext(nextOffset)}>
            Next page of records
          </Button>
        </Group>
      )}
    </Stack>
  );
}

/** A refusal in words, with the link that connects a missing account. */
export function Failure({ status, body }: { status: number; body: Record<string, unknown> }) {
  const refused = new RestError(status, body);
  const { connectUrl, reconnectUrl, scope } = refused.details;
  if (typeof scope === 'string') return <ErrorNotice error={refused} />;
  const link = typeof connectUrl === 'string' ? connectUrl : reconnectUrl;
  return (
    <Alert
      variant="light"
      color="red"
      title={errorInWords({ errorCode: refused.code, outcome: 'failed' }).title}
    >
      <Text size="sm">{refused.message}</Text>
      {typeof link === 'string' && (
        <Anchor href={link} target="_blank" rel="noreferrer" size="sm" mt={6} display="inline-block">
          Open the connect page of this user
        </Anchor>
      )}
    </Alert>
  );
}

function Content({ body }: { body: unknown }) {
  const text = typeof body === 'string' ? body : (JSON.stringify(body, null, 2) ?? 'null');
  return (
    <div>
      <Group justify="space-between" mb={4}>
        <Text size="sm" c="dimmed">
          {Array.isArray(body) ? `${count(body.length)} records` : 'Answer'}
        </Text>
        <Copy text={text} label="Copy the answer" />
      </Group>
      <pre className="block" tabIndex={0} aria-label="Answer" style={{ maxHeight: 560 }}>
        {text.slice(0, SHOWN)}
      </pre>
      {text.length > SHOWN && (
        <Text size="xs" c="dimmed" mt={4}>
          The first {count(SHOWN)} of {count(text.length)} characters. Copying takes all.
        </Text>
      )}
    </div>
  );
}
