import { Anchor, Group, Stack, Text } from '@mantine/core';
import { useEffect, useState } from 'react';
import { Link } from 'react-router';
import type { ActionRecord, JsonSchema } from '../api-types.ts';
import { CodeBlock } from '../parts/code-block.tsx';
import { ErrorNotice } from '../parts/error-notice.tsx';
import { Loading } from '../parts/records.tsx';
import { Fault, StepEnd } from '../parts/run-step.tsx';
import { useRest } from '../queries.ts';
import { isObject } from '../rest-client.ts';

/** Interval of reads of a run that has not ended. */
const EVERY_MS = 500;

/** The end of the test of a step: its input after templates, its output, or its error with the schema. */
export function StepResult({
  workflowId,
  runId,
  action,
}: {
  workflowId: string;
  runId: string;
  action: ActionRecord | undefined;
}) {
  const [isLive, setLive] = useState(true);
  const found = useRest('/workflows/{workflowId}/runs/{runId}', {
    path: { workflowId, runId },
    topics: ['runs'],
    everyMs: isLive && EVERY_MS,
  });
  const run = found.data;
  const ended = run?.endedAt;
  useEffect(() => setLive(ended === null || ended === undefined), [ended]);
  if (found.isError) return <ErrorNotice error={found.error} />;
  if (!run || run.runId !== runId) return <Loading rows={2} />;
  const step = run.steps.find((one) => one.stepId === run.stepId);
  const items = step?.items ?? [];
  return (
    <section aria-label="Result of the step" aria-live="polite" className="ruled">
      <Stack gap="xs">
        <Group justify="space-between" gap="xs">
          <Text fw={600}>Result of {run.stepId}</Text>
          <Anchor component={Link} to={`/workflows/${workflowId}/runs/${runId}`} size="sm">
            Show the run
          </Anchor>
        </Group>
        {run.endedAt === null && (!step || step.status === 'running') && <Loading rows={2} />}
        {!step && run.error !== undefined && <Fault error={run.error} />}
        {step && (
          <Text size="sm" component="div">
            <StepEnd step={step} isOpen />
          </Text>
        )}
        {step?.status === 'skipped' && <Text size="sm">Its condition was not true, so it made no call.</Text>}
        {items.map((item) => (
          <Text key={item.item} size="sm" component="div">
            <strong>Item {item.item + 1}:</strong> <StepEnd step={item} isOpen />
          </Text>
        ))}
        {action && (
          <SchemaHelp error={items.find((one) => one.error)?.error ?? step?.error} action={action} />
        )}
      </Stack>
    </section>
  );
}

/** The schema of the input, with the description of each field that an error names. */
function SchemaHelp({ error, action }: { error: unknown; action: ActionRecord }) {
  const fields = isObject(error) ? fieldsIn(error['details']) : [];
  if (fields.length === 0) return null;
  const { properties = {} } = action.inputSchema;
  return (
    <Stack gap={4}>
      <Text size="sm" fw={600}>
        The schema of {action.name} says
      </Text>
      <ul className="notes">
        {fields.map((field) => (
          <li key={field}>
            <span className="mono">{field}</span>: {inWords(properties[field.split('.')[0] ?? ''])}
          </li>
        ))}
      </ul>
      <details className="small">
        <summary>Show the schema of its input</summary>
        <div className="tall">
          <CodeBlock text={JSON.stringify(action.inputSchema, null, 2)} label="Schema of the input" />
        </div>
      </details>
    </Stack>
  );
}

function fieldsIn(details: unknown): string[] {
  const faults: unknown[] = isObject(details) && Array.isArray(details['faults']) ? details['faults'] : [];
  const fields = faults.map((one) => (isObject(one) ? String(one['field']).replace(/^input\./, '') : ''));
  return [...new Set(fields)].filter((field) => field !== '');
}

function inWords(schema: JsonSchema | undefined): string {
  if (!schema) return 'the action has no such field';
  const { type, enum: choices, format, description } = schema;
  const kind = [[type ?? []].flat().join(' or '), format].filter(Boolean).join(', ');
  const among = choices ? `one of ${choices.map((one) => JSON.stringify(one)).join(', ')}` : '';
  return [kind, among, description].filter(Boolean).join('. ') || 'any value';
}
