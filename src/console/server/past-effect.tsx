import { Button, Group, Stack, Text } from '@mantine/core';
import { IconHistory } from '@tabler/icons-react';
import { useState } from 'react';
import type { PastSimulation } from '../api-types.ts';
import { useAct } from '../parts/acts.tsx';
import { ErrorNotice } from '../parts/error-notice.tsx';
import { Records, type Column } from '../parts/records.tsx';
import { some, State } from '../parts/values.tsx';
import { rest } from '../rest-client.ts';
import { useScope } from '../signed-in.ts';
import { formOf, restrictionsOf, type RestrictionForm } from './restriction-form.ts';

/** Rows that the table shows. */
const SHOWN = 20;

interface Row {
  key: string;
  action: string;
  outcome: 'denied' | 'asks the user';
  rule: string;
  count: number;
}

const COLUMNS: Column<Row>[] = [
  { label: 'Action', cell: (row) => <span className="mono">{row.action}</span> },
  { label: 'It would be', cell: (row) => <State value={row.outcome} /> },
  { label: 'Rule', cell: (row) => <span className="mono">{row.rule}</span> },
  { label: 'Calls', end: true, cell: (row) => row.count },
];

/** The effect that edited restrictions would have had on the recorded calls of a server, and a proposal of narrower ones. */
export function PastEffect({
  serverId,
  form,
  onPropose,
}: {
  serverId: string;
  form: RestrictionForm;
  onPropose: (form: RestrictionForm) => void;
}) {
  const mayRead = useScope('executions:read');
  const [found, setFound] = useState<{ form: RestrictionForm; past: PastSimulation }>();
  const compare = useAct(async () =>
    setFound({
      form,
      past: await rest('POST', '/api/servers/{serverId}/simulate-past', {
        path: { serverId },
        body: { restrictions: restrictionsOf(form) },
      }),
    }),
  );
  if (!mayRead) return null;
  return (
    <Stack gap="sm">
      <Group>
        <Button
          variant="default"
          leftSection={<IconHistory size={15} aria-hidden />}
          loading={compare.isPending}
          onClick={() => compare.mutate()}
        >
          Compare with recorded calls
        </Button>
      </Group>
      {compare.error && <ErrorNotice error={compare.error} title="The calls were not compared" />}
      <div aria-live="polite">{found?.form === form && <Past past={found.past} onPropose={onPropose} />}</div>
    </Stack>
  );
}

function Past({ past, onPropose }: { past: PastSimulation; onPropose: (form: RestrictionForm) => void }) {
  const rows = rowsOf(past);
  const { checked, unused, proposal } = past;
  return (
    <Stack gap="sm">
      <Text size="sm">
        {checked === 0
          ? 'No call of this server is recorded.'
          : rows.length === 0
            ? `All of ${some(checked, 'recorded call')} would have run.`
            : `These of ${some(checked, 'recorded call')} would not have run at once:`}
      </Text>
      {rows.length > 0 && (
        <Records
          label="Recorded calls"
          columns={COLUMNS}
          rows={rows.slice(0, SHOWN)}
          keyOf={(row) => row.key}
        />
      )}
      {rows.length > SHOWN && (
        <Text size="sm" c="dimmed">
          {some(rows.length - SHOWN, 'more row')} with fewer calls.
        </Text>
      )}
      {unused.length > 0 && checked > 0 && (
        <Group gap="sm">
          <Text size="sm">{some(unused.length, 'allowed action')} without a call.</Text>
          <Button variant="default" size="xs" onClick={() => onPropose(formOf(proposal))}>
            Allow only the actions in use
          </Button>
        </Group>
      )}
    </Stack>
  );
}

/** Returns the calls that would not have run at once, the most frequent first. One row counts the calls of all users. */
function rowsOf({ denied, confirmed }: PastSimulation): Row[] {
  const rows = new Map<string, Row>();
  const add = (outcome: Row['outcome'], calls: PastSimulation['denied']) => {
    for (const { connectorId, actionId, rule, count } of calls) {
      const action = `${connectorId}.${actionId}`;
      const key = `${outcome} ${action} ${rule}`;
      rows.set(key, { key, action, outcome, rule, count: count + (rows.get(key)?.count ?? 0) });
    }
  };
  add('denied', denied);
  add('asks the user', confirmed);
  return [...rows.values()].toSorted((a, b) => b.count - a.count);
}
