import { Alert, Group, SegmentedControl, Stack, Text } from '@mantine/core';
import { IconTerminal2 } from '@tabler/icons-react';
import type { UseMutationResult } from '@tanstack/react-query';
import { useState } from 'react';
import type { ToolAnswer } from '../api-types.ts';
import { CodeBlock } from '../parts/code-block.tsx';
import { ContentBlock, type Block } from '../parts/content-block.tsx';
import { Empty } from '../parts/empty.tsx';
import { ErrorNotice } from '../parts/error-notice.tsx';
import { ExecutionLinks } from '../parts/execution-links.tsx';
import { Questions, type Answers } from '../parts/questions.tsx';
import { Loading } from '../parts/records.tsx';
import { duration, State } from '../parts/values.tsx';
import { isObject, type Answer, type RequestTo } from '../rest-client.ts';
import { Failure } from './playground-result.tsx';

interface ToolResultProps<Turn> {
  call: UseMutationResult<Answer<ToolAnswer>, Error, Turn>;
  /** The filter of the executions that the call can have made. */
  filter: RequestTo<'GET', '/api/executions'>['query'];
  requestIds: readonly string[];
  onAnswer: (requestState: string, answers: Answers) => void;
}

/** The result of the last call of a tool: its content, its failure, or a question to the user. */
export function ToolResult<Turn>({ call, filter, requestIds, onAnswer }: ToolResultProps<Turn>) {
  if (call.isPending) return <Loading rows={4} />;
  if (call.isError) return <ErrorNotice error={call.error} title="The call was not sent" />;
  if (!call.data)
    return (
      <Empty title="Nothing has run yet" icon={<IconTerminal2 aria-hidden />}>
        The result appears here as the agent gets it: text, structured content, images and errors. A question
        to the user can be answered here too.
      </Empty>
    );
  const { status, body, durationMs } = call.data;
  const answer = call.data.ok && isObject(call.data.body) ? call.data.body : undefined;
  const { requestState, inputRequests } = answer ?? {};
  const isQuestion = answer?.resultType === 'input_required';
  const isGood = answer !== undefined && answer.isError !== true;
  return (
    <Stack aria-live="polite">
      <Group gap="sm" justify="space-between">
        <Group gap="sm">
          {isQuestion ? (
            <State value="waiting">asks the user</State>
          ) : (
            <State value={isGood ? 'succeeded' : 'failed'} />
          )}
          <Text size="sm">after {duration(durationMs)}</Text>
        </Group>
        <ExecutionLinks filter={filter} requestIds={requestIds} />
      </Group>
      {!answer && isObject(body) && <Failure status={status} body={body} />}
      {isQuestion && requestState !== undefined && (
        <Questions
          key={requestState}
          requests={inputRequests ?? {}}
          onAnswer={(answers) => onAnswer(requestState, answers)}
        />
      )}
      {answer && !isQuestion && <Complete answer={answer} />}
    </Stack>
  );
}

const VIEWS = [
  { value: 'blocks', label: 'Content' },
  { value: 'json', label: 'JSON' },
];

function Complete({ answer }: { answer: ToolAnswer }) {
  const [view, setView] = useState('blocks');
  const { resultType: _, ...result } = answer;
  return (
    <Stack gap="sm">
      <div>
        <SegmentedControl
          size="xs"
          aria-label="View of the result"
          value={view}
          onChange={setView}
          data={VIEWS}
        />
      </div>
      {view === 'json' ? (
        <div className="tall">
          <CodeBlock text={JSON.stringify(result, null, 2)} label="Result as JSON" />
        </div>
      ) : (
        <Content answer={answer} />
      )}
    </Stack>
  );
}

function Content({ answer: { content = [], structuredContent, isError = false } }: { answer: ToolAnswer }) {
  const blocks = content.filter((block) => !repeats(block, structuredContent));
  const words = isError ? blocks.filter(({ type }) => type === 'text') : [];
  return (
    <>
      {isError && <Refusal words={words.map(({ text }) => String(text))} />}
      {blocks
        .filter((block) => !words.includes(block))
        .map((block, at) => (
          <ContentBlock key={at} block={block} />
        ))}
      {structuredContent && <Structured value={structuredContent} isOpen={!isError} />}
      {content.length === 0 && !structuredContent && <Text size="sm">The result has no content.</Text>}
    </>
  );
}

function Refusal({ words }: { words: string[] }) {
  return (
    <Alert variant="light" color="red" title="The tool answered with an error">
      <Stack gap={6}>
        {words.map((text) => (
          <Text key={text} size="sm" className="words">
            {text}
          </Text>
        ))}
        <Text size="xs">The agent gets these words.</Text>
      </Stack>
    </Alert>
  );
}

function Structured({ value, isOpen }: { value: unknown; isOpen: boolean }) {
  return (
    <details open={isOpen} className="small">
      <summary>Structured content</summary>
      <div className="tall">
        <CodeBlock text={JSON.stringify(value, null, 2)} label="Structured content" />
      </div>
    </details>
  );
}

/** Returns whether a text only repeats the structured content, for clients that do not read that. */
function repeats({ type, text }: Block, structured: unknown): boolean {
  return type === 'text' && structured !== undefined && text === JSON.stringify(structured);
}
