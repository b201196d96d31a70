import { Alert, Button, Group, SimpleGrid, Stack, Text, TextInput } from '@mantine/core';
import { IconArrowLeft, IconPlus } from '@tabler/icons-react';
import { useEffect, useState } from 'react';
import { Link, useNavigate, useParams } from 'react-router';
import type { ActionRecord, Defined, Schemas, WorkflowRecord } from '../api-types.ts';
import { stepsIn } from '../defined-steps.ts';
import { useAct } from '../parts/acts.tsx';
import { CodeBlock } from '../parts/code-block.tsx';
import { ErrorNotice } from '../parts/error-notice.tsx';
import { JsonField } from '../parts/json-field.tsx';
import { Page, Section } from '../parts/page.tsx';
import { ConnectorActionPicker, NO_ACTION } from '../parts/pickers.tsx';
import { Loading } from '../parts/records.tsx';
import { useRest } from '../queries.ts';
import { isObject, rest } from '../rest-client.ts';
import { useScope } from '../signed-in.ts';
import type { StoredDraft } from './draft-test.ts';
import { TestDraft } from './test-draft.tsx';

type Definition = Defined['definition'];

const EMPTY: Definition = { trigger: { type: 'manual' }, steps: [] };

/** Edits a workflow: a new one, or the next version of one that is there. */
export function EditWorkflow() {
  const { workflowId } = useParams();
  const found = useRest('/workflows/{workflowId}', {
    path: { workflowId: workflowId ?? '' },
    enabled: workflowId !== undefined,
  });
  if (workflowId === undefined) return <Editor workflow={undefined} />;
  if (found.data) return <Editor key={workflowId} workflow={found.data} />;
  return (
    <Page title="Workflow">
      {found.isError ? <ErrorNotice error={found.error} again={() => void found.refetch()} /> : <Loading />}
    </Page>
  );
}

function Editor({ workflow }: { workflow: WorkflowRecord | undefined }) {
  const [name, setName] = useState('');
  const [definition, setDefinition] = useState<Definition>(() => ({ ...(workflow?.definition ?? EMPTY) }));
  const [isFaulty, setFaulty] = useState(false);
  const [workflowId, setWorkflowId] = useState(workflow?.workflowId);
  const mayWrite = useScope('workflows:write');
  const goTo = useNavigate();
  const store = useAct(async (draft: boolean) => {
    const stored = await save({ workflowId, name: name.trim(), definition, draft });
    // A second draft of a new workflow is a version of it.
    setWorkflowId(stored.workflowId);
    return stored;
  });
  const publish = () =>
    store.mutate(false, { onSuccess: (made) => void goTo(`/workflows/${made.workflowId}`) });
  const canSave = mayWrite && !isFaulty && (workflowId !== undefined || name.trim() !== '');
  return (
    <Page
      title={workflow ? `Next version of ${workflow.name}` : 'New workflow'}
      lead="A trigger, and steps that run in order. Gatehouse checks each connector, action, parameter and expression before it stores anything."
      actions={
        <Button
          component={Link}
          to={workflow ? `/workflows/${workflow.workflowId}` : '/workflows'}
          variant="default"
          leftSection={<IconArrowLeft size={16} aria-hidden />}
        >
          {workflow ? 'The workflow' : 'All workflows'}
        </Button>
      }
    >
      {!mayWrite && (
        <Alert variant="light" color="orange" title="You may only read workflows">
          To change them, sign in with the scope <span className="mono">workflows:write</span>.
        </Alert>
      )}
      <SimpleGrid cols={{ base: 1, md: 2 }} spacing="lg">
        <Section title="Definition">
          <Stack>
            {workflowId === undefined && (
              <TextInput
                label="Name"
                required
                maxLength={100}
                autoComplete="off"
                value={name}
                onChange={(event) => setName(event.currentTarget.value)}
              />
            )}
            <JsonField
              label="Trigger and steps, as JSON"
              value={definition}
              minRows={16}
              check={(value) => (isObject(value) ? undefined : 'The definition must be an object.')}
              onChange={(value) => setDefinition(isObject(value) ? value : {})}
              onFault={setFaulty}
            />
            {store.error && <ErrorNotice error={store.error} title="Nothing was stored" />}
            <Group>
              <Button disabled={!canSave} loading={store.isPending} onClick={publish}>
                {workflow ? 'Publish the version' : 'Create the workflow'}
              </Button>
            </Group>
            <Text size="sm" c="dimmed">
              Installations keep their version until they are upgraded.
            </Text>
          </Stack>
        </Section>
        <Stack gap="lg">
          <AddStep add={(step) => setDefinition(withStep(definition, step))} />
          <TestDraft
            definition={definition}
            workflowId={workflowId}
            canStore={canSave}
            storeError={store.error}
            store={() => store.mutateAsync(true)}
          />
        </Stack>
      </SimpleGrid>
    </Page>
  );
}

async function save({
  workflowId,
  name,
  definition,
  draft,
}: {
  workflowId: string | undefined;
  name: string;
  definition: Definition;
  draft: boolean;
}): Promise<StoredDraft> {
  if (!isDefinition(definition)) throw new Error('The definition must be an object.');
  if (workflowId === undefined) return rest('POST', '/workflows', { body: { name, definition, draft } });
  const made = await rest('POST', '/workflows/{workflowId}/versions', {
    path: { workflowId },
    body: { definition, draft },
  });
  return { workflowId, version: made.version };
}

/** Returns whether a definition can be sent. The API checks the members that the person typed. */
function isDefinition(value: unknown): value is Schemas['WorkflowDefinition'] {
  return isObject(value);
}

type Step = { stepId: string; connectorId: string; actionId: string; input: Record<string, unknown> };

/** Adds a step for an action, with its required parameters, and shows the schema of its input. */
function AddStep({ add }: { add: (step: Step) => void }) {
  const [action, setAction] = useState(NO_ACTION);
  const { connectorId, actionId } = action;
  const found = useRest('/connectors/{connectorId}/actions/{actionId}', {
    path: action,
    enabled: connectorId !== '' && actionId !== '',
  });
  const [shown, setShown] = useState<ActionRecord>();
  useEffect(() => {
    setShown(found.data?.actionId === actionId ? found.data : undefined);
  }, [found.data, actionId]);
  return (
    <Section title="Add a step">
      <Stack>
        <SimpleGrid cols={{ base: 1, xs: 2 }}>
          <ConnectorActionPicker value={action} onChange={setAction} />
        </SimpleGrid>
        {found.error && <ErrorNotice error={found.error} />}
        {shown && (
          <>
            <Text size="sm">{shown.description}</Text>
            <details>
              <summary>Show the schema of its input</summary>
              <CodeBlock text={JSON.stringify(shown.inputSchema, null, 2)} label="Schema of the input" />
            </details>
          </>
        )}
        <Group>
          <Button
            variant="default"
            leftSection={<IconPlus size={16} aria-hidden />}
            disabled={!shown}
            onClick={() => shown && add(stepOf(shown))}
          >
            Add the step
          </Button>
        </Group>
        <Text size="sm" c="dimmed">
          A text that begins with <span className="mono">=</span> is an expression over{' '}
          <span className="mono">trigger</span>, <span className="mono">steps.…</span>,{' '}
          <span className="mono">config</span> and <span className="mono">user</span>, such as{' '}
          <span className="mono">=steps.first.data.name</span>.
        </Text>
      </Stack>
    </Section>
  );
}

function stepOf({ connectorId, actionId, inputSchema: { required = [] } }: ActionRecord): Step {
  return {
    stepId: actionId,
    connectorId,
    actionId,
    input: Object.fromEntries(required.map((one) => [one, ''])),
  };
}

/** Adds a step at the end, under an id that no other step has. */
function withStep(definition: Definition, step: Step): Definition {
  const steps = stepsIn(definition);
  const taken = new Set(steps.map((one) => one.stepId));
  let { stepId } = step;
  for (let at = 2; taken.has(stepId); at += 1) stepId = `${step.stepId}_${at}`;
  return { ...definition, steps: [...steps, { ...step, stepId }] };
}
