import { Button, Group, SegmentedControl, Stack, Text } from '@mantine/core';
import { IconPlayerPlay } from '@tabler/icons-react';
import { useState } from 'react';
import { useNavigate } from 'react-router';
import type { Defined } from '../api-types.ts';
import { useAct } from '../parts/acts.tsx';
import { ErrorNotice } from '../parts/error-notice.tsx';
import { useFaultyFields } from '../parts/faulty-fields.ts';
import { JsonField } from '../parts/json-field.tsx';
import { Section } from '../parts/page.tsx';
import { UserPicker } from '../parts/pickers.tsx';
import { SchemaForm } from '../parts/schema-form.tsx';
import { isObject } from '../rest-client.ts';
import { useScope } from '../signed-in.ts';
import { startTest, type DraftProps, type Start } from './draft-test.ts';
import { TestStep } from './test-step.tsx';

const KINDS = [
  { value: 'whole', label: 'Whole draft' },
  { value: 'step', label: 'One step' },
];

/** Tests the edited definition for a user: all steps, or one of them. */
export function TestDraft(props: DraftProps) {
  const { definition } = props;
  const [kind, setKind] = useState('whole');
  const [userId, setUserId] = useState('');
  const [start, setStart] = useState<Start>({});
  const [faulty, onFault] = useFaultyFields();
  const mayRun = useScope('workflows:run');
  const isReady = mayRun && props.canStore && userId !== '' && faulty.length === 0;
  return (
    <Section title="Test it">
      <Stack>
        <SegmentedControl
          fullWidth
          aria-label="Extent of the test"
          value={kind}
          onChange={setKind}
          data={KINDS}
        />
        <Text size="sm">
          {kind === 'whole'
            ? 'Stores a draft and runs it once for a user. The steps are real: they act in the user’s accounts.'
            : 'Stores a draft and runs one of its steps for a user. The step is real: it acts in the user’s account.'}
        </Text>
        <UserPicker label="User" placeholder="Choose a user" value={userId} onChange={setUserId} />
        <StartFields definition={definition} start={start} onChange={setStart} onFault={onFault} />
        {!mayRun && (
          <Text size="sm" c="dimmed">
            You may not run workflows: the scope workflows:run is missing.
          </Text>
        )}
        {kind === 'whole' ? (
          <TestWhole {...props} userId={userId} start={start} isReady={isReady} />
        ) : (
          <TestStep {...props} userId={userId} start={start} isReady={isReady} />
        )}
      </Stack>
    </Section>
  );
}

/** The fields of the configuration, and the input of the trigger. */
function StartFields({
  definition: { trigger, configurableFields = {} },
  start,
  onChange,
  onFault,
}: {
  definition: Defined['definition'];
  start: Start;
  onChange: (start: Start) => void;
  onFault: (name: string, isFaulty: boolean) => void;
}) {
  const hasFields =
    isObject(configurableFields) && Object.keys(configurableFields.properties ?? {}).length > 0;
  const { input, ...others } = start;
  const asked = TRIGGERS[trigger?.type ?? ''];
  return (
    <>
      {hasFields && (
        <fieldset className="bare">
          <legend className="legend">Configuration</legend>
          <SchemaForm
            schema={configurableFields}
            value={start.config ?? {}}
            onChange={(config) => onChange({ ...start, config })}
            onFault={(name, isFaulty) => onFault(`config.${name}`, isFaulty)}
          />
        </fieldset>
      )}
      {asked !== undefined && (
        <JsonField
          label={asked}
          description="As JSON. Expressions read it as trigger."
          minRows={2}
          value={input}
          onChange={(value) => onChange(value === undefined ? others : { ...start, input: value })}
          onFault={(isFaulty) => onFault('trigger', isFaulty)}
        />
      )}
    </>
  );
}

/** The input that a kind of trigger takes from a person. */
const TRIGGERS: Record<string, string> = {
  manual: 'Input of the trigger',
  event: 'Record of the event',
  call: 'Body of the call',
};

function TestWhole({
  store,
  storeError,
  userId,
  start,
  isReady,
}: DraftProps & { userId: string; start: Start; isReady: boolean }) {
  const goTo = useNavigate();
  const test = useAct(async () => {
    const draft = await store();
    const runId = await startTest(draft, userId, start);
    await goTo(`/workflows/${draft.workflowId}/runs/${runId}`);
  });
  return (
    <>
      {test.error && test.error !== storeError && (
        <ErrorNotice error={test.error} title="The draft was not run" />
      )}
      <Group>
        <Button
          variant="default"
          leftSection={<IconPlayerPlay size={16} aria-hidden />}
          disabled={!isReady}
          loading={test.isPending}
          onClick={() => test.mutate()}
        >
          Run a draft
        </Button>
      </Group>
    </>
  );
}
