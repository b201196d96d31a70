import { Alert, Button, Group, Select, Stack, Text } from '@mantine/core';
import { IconPlayerPlay } from '@tabler/icons-react';
import { useState } from 'react';
import type { ActionRecord, DefinedStep, Effect } from '../api-types.ts';
import { effectOfHttp, limitsOf, readBy, stepsIn, workOf } from '../defined-steps.ts';
import { effectOfCall } from '../names.ts';
import { ConfirmDialog, useAct } from '../parts/acts.tsx';
import { ErrorNotice } from '../parts/error-notice.tsx';
import { useFaultyFields } from '../parts/faulty-fields.ts';
import { JsonField } from '../parts/json-field.tsx';
import { State } from '../parts/values.tsx';
import { useRest } from '../queries.ts';
import { isObject } from '../rest-client.ts';
import { StepResult } from './step-result.tsx';
import { startTest, type DraftProps, type Start } from './draft-test.ts';
import { useEarlierResults, type EarlierResults } from './earlier-results.ts';

/** Tests one step of the edited definition, with results of the steps before it. */
export function TestStep({
  definition,
  workflowId,
  store,
  storeError,
  userId,
  start,
  isReady,
}: DraftProps & { userId: string; start: Start; isReady: boolean }) {
  const [stepId, setStepId] = useState('');
  const [typed, setTyped] = useState<Record<string, unknown>>({});
  const [faulty, onFault] = useFaultyFields();
  const [runId, setRunId] = useState('');
  const [isAsking, setAsking] = useState(false);
  const steps = stepsIn(definition);
  const step = steps.find((one) => one.stepId === stepId);
  const read = step ? readBy(step, steps) : [];
  const earlier = useEarlierResults({ workflowId, userId, read });
  const missing = read.filter((id) => typed[id] === undefined && earlier.results[id] === undefined);
  const action = useActionOf(step);
  const effect = step && effectOf(step, action);
  const test = useAct(async () => {
    const draft = await store();
    const given = Object.fromEntries(read.flatMap((id) => (isObject(typed[id]) ? [[id, typed[id]]] : [])));
    const from = earlier.runId === undefined ? {} : { fromRunId: earlier.runId };
    setRunId(await startTest(draft, userId, { ...start, ...from, stepId, given }));
  });
  const isReal = effect === 'write' || effect === 'destructive';
  return (
    <>
      <Select
        label="Step"
        placeholder={steps.length === 0 ? 'The definition has no steps yet' : 'Choose a step'}
        value={step ? stepId : null}
        onChange={(id) => {
          setStepId(id ?? '');
          setRunId('');
        }}
        data={steps.map((one) => ({ value: one.stepId, label: `${one.stepId} (${workOf(one)})` }))}
      />
      {step && <Limits step={step} />}
      {read.map((id) => (
        <GivenResult
          key={id}
          id={id}
          earlier={earlier}
          value={typed[id]}
          onChange={(value) => setTyped((before) => ({ ...before, [id]: value }))}
          onFault={(isFaulty) => onFault(id, isFaulty)}
        />
      ))}
      {isReal && (
        <Alert variant="light" color={effect === 'destructive' ? 'red' : 'orange'}>
          The effect of this step is real: it changes data in the account of the user.
        </Alert>
      )}
      {test.error && test.error !== storeError && (
        <ErrorNotice error={test.error} title="The step was not run" />
      )}
      <Group gap="sm">
        <Button
          variant="default"
          leftSection={<IconPlayerPlay size={16} aria-hidden />}
          disabled={!isReady || !step || missing.length > 0 || faulty.length > 0}
          loading={test.isPending}
          onClick={() => (isReal ? setAsking(true) : test.mutate())}
        >
          Run the step
        </Button>
        {effect && <State value={effect} />}
        {missing.length > 0 && (
          <Text size="xs" c="dimmed">
            Enter the result of {missing.join(', ')}, or run the whole draft once.
          </Text>
        )}
      </Group>
      <ConfirmDialog
        title={`Run the step ${stepId}?`}
        label="Run it"
        dangerous={effect === 'destructive'}
        isOpen={isAsking}
        close={() => setAsking(false)}
        run={() => test.mutateAsync()}
      >
        It calls {step && workOf(step)} now, in the account of the chosen user. Its effect is real: {effect}.
        Later steps do not run.
      </ConfirmDialog>
      {runId !== '' && workflowId !== undefined && step && (
        <StepResult key={runId} workflowId={workflowId} runId={runId} action={action} />
      )}
    </>
  );
}

/** Says what the test of a step alone does not show. */
function Limits({ step }: { step: DefinedStep }) {
  const limits = limitsOf(step);
  if (limits.length === 0) return null;
  return (
    <ul className="notes">
      {limits.map((limit) => (
        <li key={limit}>{limit}</li>
      ))}
    </ul>
  );
}

/** The result of an earlier step: from a test run, or as the person types it. */
function GivenResult({
  id,
  earlier: { results, runId },
  value,
  onChange,
  onFault,
}: {
  id: string;
  earlier: EarlierResults;
  value: unknown;
  onChange: (value: unknown) => void;
  onFault: (isFaulty: boolean) => void;
}) {
  const known = results[id];
  const isTyped = value !== undefined;
  return (
    <Stack gap={4}>
      <JsonField
        label={`Result of ${id}`}
        description={sourceOf({ isTyped, runId: known === undefined ? undefined : runId })}
        placeholder={'{"data": …}'}
        value={value ?? known}
        check={(one) =>
          one === undefined || isObject(one) ? undefined : 'A result is an object, such as {"data": …}.'
        }
        onChange={onChange}
        onFault={onFault}
        minRows={3}
      />
      {isTyped && known !== undefined && (
        <Group>
          <Button size="compact-xs" variant="subtle" onClick={() => onChange(undefined)}>
            Use the result of the run again
          </Button>
        </Group>
      )}
    </Stack>
  );
}

function sourceOf({ isTyped, runId }: { isTyped: boolean; runId: string | undefined }): string {
  if (isTyped) return 'As you entered it.';
  if (runId !== undefined) return `From the test run ${runId}. Changes count for this test.`;
  return 'No test run has it. Enter what the step would return.';
}

function useActionOf(step: DefinedStep | undefined): ActionRecord | undefined {
  const { connectorId = '', actionId = '' } = step ?? {};
  const { data } = useRest('/connectors/{connectorId}/actions/{actionId}', {
    path: { connectorId, actionId },
    enabled: connectorId !== '' && actionId !== '',
  });
  return data?.actionId === actionId ? data : undefined;
}

/** Returns the effect of a step; undefined when it calls no app. */
function effectOf(step: DefinedStep, action: ActionRecord | undefined): Effect | undefined {
  if (step.http) return effectOfHttp(step.http);
  if (step.actionId === undefined) return undefined;
  return action ? effectOfCall(action, step.input ?? {}) : 'write';
}
