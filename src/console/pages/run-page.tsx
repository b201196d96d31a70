import { Button, Text } from '@mantine/core';
import {
  IconArrowLeft,
  IconArrowRight,
  IconBan,
  IconCheck,
  IconClock,
  IconCopy,
  IconPlayerPlay,
  IconX,
} from '@tabler/icons-react';
import { useEffect, useState } from 'react';
import { Link, useParams } from 'react-router';
import type { RunDetails, StepRecord, VersionRecord } from '../api-types.ts';
import { ConfirmButton } from '../parts/acts.tsx';
import { Page, Section } from '../parts/page.tsx';
import { Loading } from '../parts/records.tsx';
import { Fault, StepEnd, Value } from '../parts/run-step.tsx';
import { timeOf } from '../parts/runs.tsx';
import { StoryStep } from '../parts/story-step.tsx';
import { ErrorNotice } from '../parts/error-notice.tsx';
import { UserName } from '../parts/user-name.tsx';
import { duration, Id, Moment, some, State, When } from '../parts/values.tsx';
import { useRest } from '../queries.ts';
import { isObject, rest } from '../rest-client.ts';
import { useScope } from '../signed-in.ts';

/** Interval of reads of a run that has not ended. */
const EVERY_MS = 1500;

/** One run of a workflow: its steps in order, with their results and errors. */
export function RunPage() {
  const { workflowId = '', runId = '' } = useParams();
  const [isLive, setLive] = useState(true);
  const found = useRest('/workflows/{workflowId}/runs/{runId}', {
    path: { workflowId, runId },
    topics: ['runs'],
    everyMs: isLive && EVERY_MS,
  });
  const mayRead = useScope('workflows:read');
  const workflow = useRest('/workflows/{workflowId}', { path: { workflowId }, enabled: mayRead });
  const version = useRest('/workflows/{workflowId}/versions/{version}', {
    path: { workflowId, version: found.data?.version ?? 0 },
    enabled: mayRead && found.data !== undefined,
  });
  const ended = found.data?.endedAt;
  useEffect(() => setLive(ended === null), [ended]);
  const back = (
    <Button
      component={Link}
      to={`/workflows/${workflowId}`}
      variant="default"
      leftSection={<IconArrowLeft size={16} aria-hidden />}
    >
      The workflow
    </Button>
  );
  const run = found.data;
  if (!run)
    return (
      <Page title="Run" actions={back}>
        {found.isError ? <ErrorNotice error={found.error} again={() => void found.refetch()} /> : <Loading />}
      </Page>
    );
  return (
    <Page
      title={`Run of ${workflow.data?.name ?? workflowId}`}
      lead={
        <>
          <State value={run.status} /> <When at={run.createdAt} />
          {run.endedAt && <>, in {duration(timeOf(run))}</>}
          {run.nextAt && (
            <>
              , continues <When at={run.nextAt} />
            </>
          )}
        </>
      }
      actions={
        <>
          <Acts run={run} />
          {back}
        </>
      }
    >
      {run.error !== undefined && <Fault error={run.error} title={failureOf(run.error)} />}
      <Section title="Steps">
        <ol className="story">
          <StoryStep icon={<IconPlayerPlay size={16} />} color="gray" title="Begun">
            By its trigger <strong>{run.trigger}</strong>. <Moment at={run.createdAt} />.
            <Value label="Value of the trigger" value={run.triggerValue} />
          </StoryStep>
          {run.steps.map((step) => (
            <Step key={step.stepId} step={step} action={actionOf(version.data, step.stepId)} />
          ))}
        </ol>
      </Section>
      <Section title="Facts">
        <dl className="facts">
          <dt>Run</dt>
          <dd>
            <Id value={run.runId} />
          </dd>
          <dt>Version</dt>
          <dd>{run.version}</dd>
          <dt>User</dt>
          <dd>
            <UserName userId={run.userId} />
          </dd>
          <dt>Installation</dt>
          <dd>{run.installationId ? <Id value={run.installationId} /> : noInstallation(run)}</dd>
        </dl>
      </Section>
    </Page>
  );
}

function noInstallation({ stepId }: RunDetails): string {
  return stepId === undefined ? 'none: a test of a version' : `none: a test of the step ${stepId}`;
}

function Acts({ run }: { run: RunDetails }) {
  const mayRun = useScope('workflows:run');
  if (!mayRun) return null;
  const { workflowId, runId } = run;
  const post = (act: 'retry' | 'cancel') =>
    rest('POST', `/workflows/{workflowId}/runs/{runId}/${act}`, { path: { workflowId, runId } });
  return (
    <>
      {run.status === 'failed' && (
        <ConfirmButton
          variant="filled"
          label="Retry"
          title="Resume the run from the step that failed?"
          run={() => post('retry')}
        >
          It keeps its version, its configuration and its results. Finished steps do not run again. Steps act
          in the accounts of the user.
        </ConfirmButton>
      )}
      {run.endedAt === null && (
        <ConfirmButton dangerous label="Cancel the run" title="Cancel the run?" run={() => post('cancel')}>
          It ends before its next step. A step under way is finished and recorded.
        </ConfirmButton>
      )}
    </>
  );
}

function failureOf(error: unknown): string {
  const stepId = isObject(error) ? error['stepId'] : undefined;
  return typeof stepId === 'string' ? `The step ${stepId} failed` : 'The run failed';
}

const MARKS = {
  running: { icon: <IconPlayerPlay size={16} />, color: 'gate' },
  waiting: { icon: <IconClock size={16} />, color: 'blue' },
  succeeded: { icon: <IconCheck size={16} />, color: 'green' },
  failed: { icon: <IconX size={16} />, color: 'red' },
  skipped: { icon: <IconArrowRight size={16} />, color: 'gray' },
  cancelled: { icon: <IconBan size={16} />, color: 'gray' },
  given: { icon: <IconCopy size={16} />, color: 'gray' },
};

/** Returns the connector and action that a step calls, such as `shop.list_orders`. */
function actionOf(version: VersionRecord | undefined, stepId: string): string | undefined {
  const step = version?.definition.steps?.find((one) => one.stepId === stepId);
  return step?.actionId === undefined ? undefined : `${step.connectorId}.${step.actionId}`;
}

function Step({ step, action }: { step: StepRecord; action: string | undefined }) {
  return (
    <StoryStep {...MARKS[step.status]} title={step.stepId}>
      {action !== undefined && (
        <Text size="xs" c="dimmed" className="mono">
          {action}
        </Text>
      )}
      <StepEnd step={step} />
      {step.itemCounts && (
        <Text size="sm">
          {Object.entries(step.itemCounts)
            .map(([status, n]) => `${n} ${status}`)
            .join(', ')}
        </Text>
      )}
      {step.items && step.items.length > 0 && (
        <details>
          <summary>
            {step.items.length === 100 ? 'The first 100 items' : some(step.items.length, 'item')}
          </summary>
          <ol className="plain">
            {step.items.map((item) => (
              <li key={item.item}>
                <Text size="sm" fw={600} mt="xs">
                  Item {item.item + 1}
                </Text>
                <StepEnd step={item} />
              </li>
            ))}
          </ol>
        </details>
      )}
    </StoryStep>
  );
}
