import { Alert, Text } from '@mantine/core';
import type { StepRecord } from '../api-types.ts';
import { isObject } from '../rest-client.ts';
import { CodeBlock } from './code-block.tsx';
import { timeOf } from './runs.tsx';
import { duration, some, State } from './values.tsx';

/** States of steps that made no call. */
const WITHOUT_TIME = new Set(['skipped', 'given']);

/** The end of a step, its error, and its input and output on demand. `isOpen` shows both at once. */
export function StepEnd({ step, isOpen = false }: { step: StepRecord; isOpen?: boolean }) {
  return (
    <>
      <State value={step.status} />
      {step.attempts > 1 && ` after ${some(step.attempts, 'attempt')}`}
      {step.endedAt && !WITHOUT_TIME.has(step.status) && `, in ${duration(timeOf(step))}`}
      {step.error !== undefined && step.error !== null && <Fault error={step.error} />}
      <Value label="Input" value={step.input} isOpen={isOpen} />
      <Value label="Output" value={step.output} isOpen={isOpen} />
    </>
  );
}

/** A value of a run, on demand. */
export function Value({ label, value, isOpen = false }: { label: string; value: unknown; isOpen?: boolean }) {
  if (value === undefined || value === null) return null;
  return (
    <details open={isOpen}>
      <summary>{label}</summary>
      <div className="tall">
        <CodeBlock text={JSON.stringify(value, null, 2)} label={label} />
      </div>
    </details>
  );
}

/** A failure in words, with its code. */
export function Fault({ error, title }: { error: unknown; title?: string }) {
  const { code, error: sentence } = isObject(error) ? error : {};
  return (
    <Alert variant="light" color="red" {...(title === undefined ? {} : { title })} my={4}>
      {typeof sentence === 'string' ? sentence : JSON.stringify(error)}
      {typeof code === 'string' && (
        <Text size="xs" mt={6} className="mono">
          {code}
        </Text>
      )}
    </Alert>
  );
}
