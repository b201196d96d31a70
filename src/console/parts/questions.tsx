import { Anchor, Button, Group, Stack, Text } from '@mantine/core';
import { useState } from 'react';
import type { JsonSchema, ToolAnswer } from '../api-types.ts';
import { isObject } from '../rest-client.ts';
import { useFaultyFields } from './faulty-fields.ts';
import { SchemaForm } from './schema-form.tsx';

/** The answers of the user, by the key of the question. */
export type Answers = Record<string, Record<string, unknown>>;

type Request = NonNullable<ToolAnswer['inputRequests']>[string];

/** The questions of a call to its user. The answers are sent together when the last one is given. */
export function Questions({
  requests,
  onAnswer,
}: {
  requests: Record<string, Request>;
  onAnswer: (answers: Answers) => void;
}) {
  const [given, setGiven] = useState<Answers>({});
  const answer = (key: string, value: Record<string, unknown>) => {
    const next = { ...given, [key]: value };
    setGiven(next);
    if (Object.keys(requests).every((one) => next[one])) onAnswer(next);
  };
  return (
    <Stack>
      {Object.entries(requests)
        .filter(([key]) => !given[key])
        .map(([key, request]) => (
          <Question key={key} request={request} answer={(value) => answer(key, value)} />
        ))}
    </Stack>
  );
}

function Question({
  request: { params },
  answer,
}: {
  request: Request;
  answer: (value: Record<string, unknown>) => void;
}) {
  const isLink = params['mode'] === 'url';
  const schema: JsonSchema = isObject(params['requestedSchema']) ? params['requestedSchema'] : {};
  const hasFields = !isLink && Object.keys(schema.properties ?? {}).length > 0;
  const [value, setValue] = useState<Record<string, unknown>>(() => defaultsOf(schema));
  const [faulty, onFault] = useFaultyFields();
  const missing = (schema.required ?? []).filter((name) => value[name] === undefined);
  const accept = () => answer({ action: 'accept', ...(isLink ? {} : { content: value }) });
  return (
    <div className="question" role="group" aria-label="Question to the user">
      <Stack gap="sm">
        <Text fw={600}>The user is asked</Text>
        <Text size="sm" className="words">
          {String(params['message'] ?? '')}
        </Text>
        {isLink && <Link url={String(params['url'])} />}
        {hasFields && <SchemaForm schema={schema} value={value} onChange={setValue} onFault={onFault} />}
        <Group gap="sm">
          <Button disabled={faulty.length > 0 || missing.length > 0} onClick={accept}>
            {agreement({ isLink, hasFields })}
          </Button>
          <Button variant="default" onClick={() => answer({ action: 'decline' })}>
            Decline
          </Button>
        </Group>
        <Text size="xs" c="dimmed">
          You answer in place of the user. The call then goes on.
        </Text>
      </Stack>
    </div>
  );
}

function defaultsOf({ properties = {} }: JsonSchema): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(properties).flatMap(([name, member]) =>
      member.default === undefined ? [] : [[name, member.default]],
    ),
  );
}

function agreement({ isLink, hasFields }: { isLink: boolean; hasFields: boolean }): string {
  if (isLink) return 'The link was opened';
  return hasFields ? 'Send the answer' : 'Agree';
}

function Link({ url }: { url: string }) {
  if (!/^https?:/.test(url)) return <span className="mono">{url}</span>;
  return (
    <Anchor href={url} target="_blank" rel="noreferrer" size="sm" style={{ overflowWrap: 'anywhere' }}>
      {url}
    </Anchor>
  );
}
