import { ActionIcon, Button, Group, NumberInput, Select, Stack, Text } from '@mantine/core';
import { IconPencil, IconPlus, IconTrash } from '@tabler/icons-react';
import { useState } from 'react';
import type { Budget, ServerRecord } from '../api-types.ts';
import { useAct } from '../parts/acts.tsx';
import { ErrorNotice } from '../parts/error-notice.tsx';
import { Section } from '../parts/page.tsx';
import { rest } from '../rest-client.ts';
import { useScope } from '../signed-in.ts';
import { EFFECTS } from './restriction-form.ts';

const PER: { value: Budget['per']; label: string }[] = [
  { value: 'server', label: 'the whole server' },
  { value: 'user', label: 'each user' },
  { value: 'connector', label: 'each app' },
  { value: 'action', label: 'each action' },
];
const WINDOWS: { value: Budget['window']; label: string }[] = [
  { value: '1h', label: 'an hour' },
  { value: '1d', label: 'a day' },
];
const ANY = 'any';
const NEW_BUDGET: Budget = { per: 'user', limit: 100, window: '1d' };

/** The budgets of a server: shown as sentences, and edited as rows. */
export function Budgets({ server }: { server: ServerRecord }) {
  const [form, setForm] = useState<Budget[]>();
  const mayWrite = useScope('servers:write');
  const save = useAct(
    (budgets: Budget[]) =>
      rest('PUT', '/api/servers/{serverId}', { path: { serverId: server.serverId }, body: { budgets } }),
    'The budgets are saved. They apply to the next call.',
  );
  if (!form)
    return (
      <Section
        title="Budgets"
        aside={
          mayWrite && (
            <Button
              size="xs"
              variant="default"
              leftSection={<IconPencil size={14} aria-hidden />}
              onClick={() => setForm(server.budgets)}
            >
              Change
            </Button>
          )
        }
      >
        <BudgetFacts budgets={server.budgets} />
      </Section>
    );
  const close = () => {
    save.reset();
    setForm(undefined);
  };
  const change = (at: number, changes: Partial<Budget>) =>
    setForm(form.map((one, index) => (index === at ? { ...one, ...changes } : one)));
  return (
    <Section title="Budgets">
      <Stack gap="md">
        {form.length === 0 && <Text size="sm">No budget: calls are not limited.</Text>}
        {form.map((budget, at) => (
          <BudgetRow
            key={at}
            number={at + 1}
            budget={budget}
            onChange={(changes) => change(at, changes)}
            onRemove={() => setForm(form.filter((_, index) => index !== at))}
          />
        ))}
        <Button
          variant="default"
          style={{ alignSelf: 'flex-start' }}
          leftSection={<IconPlus size={15} aria-hidden />}
          onClick={() => setForm([...form, NEW_BUDGET])}
        >
          Add a budget
        </Button>
        {save.error && <ErrorNotice error={save.error} title="The budgets were not saved" />}
        <Group>
          <Button loading={save.isPending} onClick={() => save.mutate(form, { onSuccess: close })}>
            Save
          </Button>
          <Button variant="default" onClick={close}>
            Cancel
          </Button>
        </Group>
      </Stack>
    </Section>
  );
}

function BudgetFacts({ budgets }: { budgets: Budget[] }) {
  if (budgets.length === 0) return <Text size="sm">Calls are not limited.</Text>;
  return (
    <Stack gap={4}>
      {budgets.map((one) => (
        <Text key={`${one.per} ${one.effect} ${one.window}`} size="sm">
          {sentenceOf(one)}
        </Text>
      ))}
      <Text size="sm" c="dimmed">
        Refused calls do not count.
      </Text>
    </Stack>
  );
}

function sentenceOf({ per, effect, limit, window }: Budget): string {
  const calls = `${limit}${effect ? ` ${effect}` : ''} ${limit === 1 ? 'call' : 'calls'}`;
  const whose = PER.find(({ value }) => value === per)?.label;
  return `At most ${calls} of ${whose} within ${WINDOWS.find(({ value }) => value === window)?.label}`;
}

interface RowProps {
  number: number;
  budget: Budget;
  onChange: (changes: Partial<Budget>) => void;
  onRemove: () => void;
}

function BudgetRow({ number, budget, onChange, onRemove }: RowProps) {
  return (
    <Group gap="sm" align="flex-end" role="group" aria-label={`Budget ${number}`}>
      <NumberInput
        label="Calls"
        min={1}
        max={1_000_000}
        allowDecimal={false}
        w={110}
        value={budget.limit}
        onChange={(limit) => onChange({ limit: Number(limit) })}
      />
      <Select
        label="Effect"
        allowDeselect={false}
        w={130}
        data={[ANY, ...EFFECTS]}
        value={budget.effect ?? ANY}
        onChange={(chosen) => onChange({ effect: EFFECTS.find((one) => one === chosen) })}
      />
      <Select
        label="Of"
        allowDeselect={false}
        w={160}
        data={PER}
        value={budget.per}
        onChange={(chosen) => {
          const found = PER.find(({ value }) => value === chosen);
          if (found) onChange({ per: found.value });
        }}
      />
      <Select
        label="Within"
        allowDeselect={false}
        w={110}
        data={WINDOWS}
        value={budget.window}
        onChange={(chosen) => {
          const found = WINDOWS.find(({ value }) => value === chosen);
          if (found) onChange({ window: found.value });
        }}
      />
      <ActionIcon variant="default" size="input-sm" aria-label={`Remove budget ${number}`} onClick={onRemove}>
        <IconTrash size={16} aria-hidden />
      </ActionIcon>
    </Group>
  );
}
