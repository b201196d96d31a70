import {
  Alert,
  Badge,
  Button,
  Checkbox,
  Fieldset,
  Group,
  SegmentedControl,
  Stack,
  TagsInput,
  Text,
} from '@mantine/core';
import { IconPencil, IconPlus } from '@tabler/icons-react';
import { useState, type ReactNode } from 'react';
import type { Effect, ServerRecord } from '../api-types.ts';
import { useAct } from '../parts/acts.tsx';
import { Section } from '../parts/page.tsx';
import { ConnectorActionPicker, ConnectorsPicker, NO_ACTION, UsersPicker } from '../parts/pickers.tsx';
import { ErrorNotice } from '../parts/error-notice.tsx';
import { rest } from '../rest-client.ts';
import { useScope } from '../signed-in.ts';
import { PastEffect } from './past-effect.tsx';
import { EFFECTS, formOf, restrictionsOf, type ListRule, type RestrictionForm } from './restriction-form.ts';

const EFFECT_LABELS: Record<Effect, string> = {
  read: 'Read',
  write: 'Write',
  destructive: 'Destructive',
};

/** The restrictions of a server: shown, and edited by search. */
export function Rules({ server }: { server: ServerRecord }) {
  const [editing, setEditing] = useState<{ form: RestrictionForm; since: string }>();
  const mayWrite = useScope('servers:write');
  const save = useAct(
    (form: RestrictionForm) =>
      rest('PUT', '/api/servers/{serverId}', {
        path: { serverId: server.serverId },
        body: { restrictions: restrictionsOf(form) },
      }),
    'The restrictions are saved. They apply to the next call.',
  );
  if (!editing)
    return (
      <Section
        title="Restrictions"
        aside={
          mayWrite && (
            <Button
              size="xs"
              variant="default"
              leftSection={<IconPencil size={14} aria-hidden />}
              onClick={() => setEditing({ form: formOf(server.restrictions), since: server.updatedAt })}
            >
              Change
            </Button>
          )
        }
      >
        <RuleFacts form={formOf(server.restrictions)} />
      </Section>
    );
  const close = () => {
    save.reset();
    setEditing(undefined);
  };
  return (
    <Section title="Restrictions">
      <Stack gap="md">
        {editing.since !== server.updatedAt && (
          <Alert variant="light" color="orange" title="The server has changed since you began">
            Saving replaces its restrictions with these. Cancel to see what they are now.
          </Alert>
        )}
        <RuleFields
          form={editing.form}
          onChange={(changes) => setEditing({ ...editing, form: { ...editing.form, ...changes } })}
        />
        <PastEffect
          serverId={server.serverId}
          form={editing.form}
          onPropose={(form) => setEditing({ ...editing, form })}
        />
        {save.error && <ErrorNotice error={save.error} title="The restrictions were not saved" />}
        <Group>
          <Button loading={save.isPending} onClick={() => save.mutate(editing.form, { onSuccess: close })}>
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

function RuleFacts({ form }: { form: RestrictionForm }) {
  return (
    <dl className="facts">
      <dt>Connectors</dt>
      <dd>
        <ListFact rule={form.connectors} />
      </dd>
      <dt>Actions</dt>
      <dd>
        <ListFact rule={form.actions} />
      </dd>
      <dt>Users</dt>
      <dd>
        <ListFact rule={form.users} />
      </dd>
      <dt>Effects</dt>
      <dd>
        {form.effects.length === EFFECTS.length
          ? 'all allowed'
          : form.effects.length === 0
            ? 'none allowed'
            : `only ${form.effects.join(' and ')}`}
      </dd>
      <dt>Agreement</dt>
      <dd>
        {form.confirm.length === 0
          ? 'not needed'
          : `needed before each call that is ${form.confirm.join(' or ')}`}
      </dd>
    </dl>
  );
}

function ListFact({ rule: { mode, entries } }: { rule: ListRule }) {
  if (mode === 'off') return 'all allowed';
  if (entries.length === 0) return 'none allowed';
  return (
    <Group gap={6}>
      <span>{mode === 'allowlist' ? 'only' : 'all except'}</span>
      {entries.map((entry) => (
        <Badge key={entry} variant="light" color="gray" tt="none" radius="sm" className="mono">
          {entry}
        </Badge>
      ))}
    </Group>
  );
}

interface FieldsProps {
  form: RestrictionForm;
  onChange: (changes: Partial<RestrictionForm>) => void;
}

function RuleFields({ form, onChange }: FieldsProps) {
  return (
    <>
      <ListField
        title="Connectors"
        rule={form.connectors}
        onChange={(connectors) => onChange({ connectors })}
      >
        <ConnectorsPicker
          label="Connectors"
          value={form.connectors.entries}
          onChange={(entries) => onChange({ connectors: { ...form.connectors, entries } })}
        />
      </ListField>
      <ListField title="Actions" rule={form.actions} onChange={(actions) => onChange({ actions })}>
        <ActionsField
          value={form.actions.entries}
          onChange={(entries) => onChange({ actions: { ...form.actions, entries } })}
        />
      </ListField>
      <ListField title="Users" rule={form.users} onChange={(users) => onChange({ users })}>
        <UsersPicker
          label="Users"
          description="Others are found by a part of their username, or their id."
          value={form.users.entries}
          onChange={(entries) => onChange({ users: { ...form.users, entries } })}
        />
      </ListField>
      <EffectFields form={form} onChange={onChange} />
    </>
  );
}

/** Which effects are allowed, and which need an agreement. */
export function EffectFields({
  form: { effects, confirm },
  onChange,
}: {
  form: Pick<RestrictionForm, 'effects' | 'confirm'>;
  onChange: (changes: Partial<Pick<RestrictionForm, 'effects' | 'confirm'>>) => void;
}) {
  return (
    <>
      <EffectChoice
        title="Allowed effects"
        description="Actions with other effects are hidden from the agent and refused."
        value={effects}
        onChange={(chosen) => onChange({ effects: chosen })}
      />
      <EffectChoice
        title="Agreement of the user"
        description="Calls with these effects run only after the user agrees in the client."
        value={confirm}
        onChange={(chosen) => onChange({ confirm: chosen })}
      />
    </>
  );
}

function EffectChoice({
  title,
  description,
  value,
  onChange,
}: {
  title: string;
  description: string;
  value: Effect[];
  onChange: (effects: Effect[]) => void;
}) {
  return (
    <Checkbox.Group
      label={title}
      description={description}
      value={value}
      onChange={(chosen) => onChange(EFFECTS.filter((effect) => chosen.includes(effect)))}
    >
      <Group gap="lg" mt="xs">
        {EFFECTS.map((effect) => (
          <Checkbox key={effect} value={effect} label={EFFECT_LABELS[effect]} />
        ))}
      </Group>
    </Checkbox.Group>
  );
}

function ListField({
  title,
  rule,
  onChange,
  children,
}: {
  title: string;
  rule: ListRule;
  onChange: (rule: ListRule) => void;
  children: ReactNode;
}) {
  return (
    <Fieldset legend={title}>
      <Stack gap="sm">
        <SegmentedControl
          aria-label={`Rule for ${title.toLowerCase()}`}
          value={rule.mode}
          onChange={(mode) =>
            onChange({ ...rule, mode: mode === 'allowlist' || mode === 'blocklist' ? mode : 'off' })
          }
          data={[
            { value: 'off', label: 'All' },
            { value: 'allowlist', label: 'Only these' },
            { value: 'blocklist', label: 'All except' },
          ]}
          style={{ alignSelf: 'flex-start' }}
        />
        {rule.mode !== 'off' && children}
        {rule.mode === 'allowlist' && rule.entries.length === 0 && (
          <Text size="sm" c="orange">
            The list is empty, so everything is denied.
          </Text>
        )}
      </Stack>
    </Fieldset>
  );
}

/** A list of actions: added by search, or typed as a pattern. */
function ActionsField({ value, onChange }: { value: string[]; onChange: (entries: string[]) => void }) {
  const [action, setAction] = useState(NO_ACTION);
  const { connectorId, actionId } = action;
  const entry = connectorId && actionId ? `${connectorId}.${actionId}` : '';
  return (
    <Stack gap="sm">
      <Group align="flex-end" gap="sm">
        <ConnectorActionPicker every="Every action (*)" value={action} onChange={setAction} />
        <Button
          variant="default"
          leftSection={<IconPlus size={15} aria-hidden />}
          disabled={entry === '' || value.includes(entry)}
          onClick={() => {
            onChange([...value, entry]);
            setAction({ connectorId, actionId: '' });
          }}
        >
          Add
        </Button>
      </Group>
      <TagsInput
        label="Actions in the list"
        description="You can type entries: connector.action, or an action of any connector. * stands for any text."
        value={value}
        onChange={onChange}
        clearable
      />
    </Stack>
  );
}
