import { Button, Group, SegmentedControl, Stack, Text } from '@mantine/core';
import { IconPlayerPlay } from '@tabler/icons-react';
import { useState, type KeyboardEvent } from 'react';
import type { Effect, JsonSchema } from '../api-types.ts';
import { isObject } from '../rest-client.ts';
import { useFaultyFields } from './faulty-fields.ts';
import { JsonField } from './json-field.tsx';
import { Section } from './page.tsx';
import { SchemaForm } from './schema-form.tsx';
import { State } from './values.tsx';

export type Input = Record<string, unknown>;

interface CallFormProps {
  /** The purpose of the call. */
  description: string;
  schema: JsonSchema;
  effect: Effect;
  input: Input;
  onChange: (input: Input) => void;
  /** Why the call cannot run; undefined when it can. */
  obstacle: string | undefined;
  isPending: boolean;
  run: () => void;
}

const VIEWS = [
  { value: 'form', label: 'Form' },
  { value: 'json', label: 'JSON' },
];

/** The input of a call, as a form of its schema or as JSON, and the button that runs it. */
export function CallForm({
  description,
  schema,
  effect,
  input,
  onChange,
  obstacle,
  isPending,
  run,
}: CallFormProps) {
  const [view, setView] = useState('form');
  const [faulty, setFault] = useFaultyFields();
  const canRun = obstacle === undefined && faulty.length === 0 && !isPending;
  const start = () => {
    if (canRun) run();
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) {
      event.preventDefault();
      start();
    }
  };
  return (
    <Section
      title="Input"
      aside={
        <SegmentedControl
          size="xs"
          aria-label="View of the input"
          value={view}
          onChange={setView}
          disabled={faulty.length > 0}
          data={VIEWS}
        />
      }
    >
      <form
        noValidate
        onKeyDown={onKeyDown}
        onSubmit={(event) => {
          event.preventDefault();
          start();
        }}
      >
        <Stack>
          <Text size="sm" c="dimmed" style={{ whiteSpace: 'pre-line' }}>
            {description}
          </Text>
          {view === 'form' ? (
            <SchemaForm schema={schema} value={input} onChange={onChange} onFault={setFault} />
          ) : (
            <JsonField
              label="Input as JSON"
              value={input}
              check={(value) =>
                value === undefined || isObject(value) ? undefined : 'The input must be an object.'
              }
              onChange={(value) => onChange(isObject(value) ? value : {})}
              onFault={(isFaulty) => setFault('', isFaulty)}
              minRows={10}
            />
          )}
          <Group gap="sm">
            <Button
              type="submit"
              color={effect === 'destructive' ? 'red.8' : 'gate'}
              disabled={!canRun && !isPending}
              loading={isPending}
              leftSection={<IconPlayerPlay size={16} aria-hidden />}
            >
              Run
            </Button>
            <State value={effect} />
            <Text size="xs" c="dimmed">
              {obstacle ?? (faulty.length > 0 ? 'Correct the JSON first.' : 'Ctrl+Enter runs it too.')}
            </Text>
          </Group>
        </Stack>
      </form>
    </Section>
  );
}
