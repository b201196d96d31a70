import { Checkbox, Group, NumberInput, Select, Textarea, TextInput } from '@mantine/core';
import type { Circuit, ServerRecord, ToolMode } from '../api-types.ts';

const DEFAULT_CIRCUIT: Circuit = { failures: 10, openSeconds: 60 };

export type ServerSettings = Pick<
  ServerRecord,
  | 'name'
  | 'description'
  | 'customInstructions'
  | 'toolMode'
  | 'codeMode'
  | 'pinTools'
  | 'duplicateGuard'
  | 'circuit'
>;

export const NEW_SETTINGS: ServerSettings = {
  name: '',
  description: '',
  customInstructions: '',
  toolMode: 'auto',
  codeMode: 'auto',
  pinTools: false,
  duplicateGuard: 'on',
  circuit: DEFAULT_CIRCUIT,
};

const MODES: { value: ToolMode; label: string }[] = [
  { value: 'auto', label: 'Automatic, by the number of actions' },
  { value: 'direct', label: 'Direct: a tool for each action' },
  { value: 'discovery', label: 'Discovery: few tools that find actions' },
];

const CODE_MODES: { value: ServerRecord['codeMode']; label: string }[] = [
  { value: 'auto', label: 'Automatic: offered above 50 actions' },
  { value: 'on', label: 'On' },
  { value: 'off', label: 'Off' },
];

interface Props {
  settings: ServerSettings;
  onChange: (changes: Partial<ServerSettings>) => void;
}

/** The name of a server and what it is for. */
export function NameFields({ settings, onChange }: Props) {
  return (
    <>
      <TextInput
        label="Name"
        description="Unique in this environment. Agents see it."
        required
        maxLength={100}
        value={settings.name}
        onChange={(event) => onChange({ name: event.currentTarget.value })}
      />
      <Textarea
        label="Description"
        description="For operators."
        autosize
        minRows={1}
        maxLength={2000}
        value={settings.description}
        onChange={(event) => onChange({ description: event.currentTarget.value })}
      />
      <Textarea
        label="Instructions"
        description="Sent to every agent that connects, next to the instructions of Gatehouse."
        autosize
        minRows={2}
        maxRows={10}
        maxLength={10_000}
        value={settings.customInstructions}
        onChange={(event) => onChange({ customInstructions: event.currentTarget.value })}
      />
    </>
  );
}

/** How a server shows its actions as tools. */
export function ToolFields({ settings, onChange }: Props) {
  return (
    <>
      <Select
        label="Tools"
        allowDeselect={false}
        data={MODES}
        value={settings.toolMode}
        onChange={(mode) => {
          const found = MODES.find(({ value }) => value === mode);
          if (found) onChange({ toolMode: found.value });
        }}
      />
      <Select
        label="Programs"
        description="Whether agents may run JavaScript in a sandbox, which calls the actions of this server."
        allowDeselect={false}
        data={CODE_MODES}
        value={settings.codeMode}
        onChange={(mode) => {
          const found = CODE_MODES.find(({ value }) => value === mode);
          if (found) onChange({ codeMode: found.value });
        }}
      />
      <Checkbox
        label="Show only approved definitions"
        description="Tools whose definition has changed are hidden until an operator approves them."
        checked={settings.pinTools}
        onChange={(event) => onChange({ pinTools: event.currentTarget.checked })}
      />
      <Checkbox
        label="Hold repeated writes"
        description="An agent that makes an equal write within ten minutes has to say that it means it."
        checked={settings.duplicateGuard === 'on'}
        onChange={(event) => onChange({ duplicateGuard: event.currentTarget.checked ? 'on' : 'off' })}
      />
    </>
  );
}

/** When calls to an app that keeps failing stop. */
export function CircuitFields({ settings: { circuit }, onChange }: Props) {
  const known = circuit ?? DEFAULT_CIRCUIT;
  return (
    <>
      <Checkbox
        label="Stop calls to an app that keeps failing"
        description="Only calls of the failing action and account stop. Then one call tries whether the app works again."
        checked={circuit !== null}
        onChange={(event) => onChange({ circuit: event.currentTarget.checked ? DEFAULT_CIRCUIT : null })}
      />
      {circuit && (
        <Group gap="sm">
          <NumberInput
            label="Failures in a row"
            min={1}
            max={1000}
            allowDecimal={false}
            w={150}
            value={circuit.failures}
            onChange={(failures) => onChange({ circuit: { ...known, failures: Number(failures) } })}
          />
          <NumberInput
            label="Seconds until the next try"
            min={1}
            max={3600}
            allowDecimal={false}
            w={200}
            value={circuit.openSeconds}
            onChange={(seconds) => onChange({ circuit: { ...known, openSeconds: Number(seconds) } })}
          />
        </Group>
      )}
    </>
  );
}
