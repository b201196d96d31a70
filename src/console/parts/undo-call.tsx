import { Anchor, Stack, Text } from '@mantine/core';
import { IconArrowBackUp } from '@tabler/icons-react';
import { Link } from 'react-router';
import type { ExecutionRecord } from '../api-types.ts';
import { rest } from '../rest-client.ts';
import { useScope } from '../signed-in.ts';
import { ConfirmButton } from './acts.tsx';
import { Section } from './page.tsx';
import { Moment } from './values.tsx';

/** Whether a call was undone or undoes another one, and the button that undoes it. */
export function UndoCall({ call }: { call: ExecutionRecord }) {
  const { executionId, connectorId, actionId, undoOf, undoneBy, undoExpiresAt } = call;
  const mayUndo = useScope('actions:execute');
  if (!undoOf && !undoneBy && !undoExpiresAt) return null;
  const name = `${connectorId}.${actionId}`;
  return (
    <Section title="Undo">
      <Stack gap="sm" align="flex-start">
        {undoOf && (
          <Text size="sm">
            This call undid <To executionId={undoOf} text="an earlier call" />.
          </Text>
        )}
        {undoneBy && (
          <Text size="sm">
            This call was undone by <To executionId={undoneBy} text="a later call" />.
          </Text>
        )}
        {undoExpiresAt && !undoneBy && (
          <Text size="sm">
            It can be undone until <Moment at={undoExpiresAt} />.
          </Text>
        )}
        {undoExpiresAt && !undoneBy && mayUndo && (
          <ConfirmButton
            label="Undo this call"
            title={`Undo ${name}?`}
            leftSection={<IconArrowBackUp size={16} aria-hidden />}
            dangerous
            done="The call is undone."
            run={() => rest('POST', '/executions/{executionId}/undo', { path: { executionId } })}
          >
            Gatehouse runs the inverse of {name} at the app, once, with the account of the call.
          </ConfirmButton>
        )}
      </Stack>
    </Section>
  );
}

function To({ executionId, text }: { executionId: string; text: string }) {
  return (
    <Anchor component={Link} to={`/executions/${encodeURIComponent(executionId)}`} fw={600}>
      {text}
    </Anchor>
  );
}
