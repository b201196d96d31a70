import { MultiSelect, Select } from '@mantine/core';
import { useDebouncedValue } from '@mantine/hooks';
import { useRef, useState } from 'react';
import { useAll, useRest } from '../queries.ts';
import { useScope } from '../signed-in.ts';
import { useUsername } from './user-name.tsx';

const TYPING_MS = 250;

interface Option {
  value: string;
  label: string;
}

interface Search {
  options: Option[];
  setText: (text: string) => void;
  nothing: string;
  /** Whether Gatehouse has searched, so that the page must not filter again. */
  isDone: boolean;
}

/** Finds connectors in the catalogue by words of their id, name and description. */
function useConnectorSearch(): Search {
  const [text, setText] = useState('');
  const [wanted] = useDebouncedValue(text.trim(), TYPING_MS);
  const enabled = useScope('connectors:read');
  const found = useRest('/connectors', {
    query: { search: wanted, limit: 50 },
    enabled,
  });
  return {
    options: (found.data?.data ?? []).map(({ connectorId, name }) => ({
      value: connectorId,
      label: name.toLowerCase() === connectorId ? name : `${name} (${connectorId})`,
    })),
    setText,
    nothing: enabled ? 'No such connector' : 'The key lacks the scope connectors:read.',
    isDone: true,
  };
}

/** Offers the first users and the chosen one. Others are found by a part of their username, or their id. */
function useUserSearch(chosen = ''): Search {
  const [text, setText] = useState('');
  const [wanted] = useDebouncedValue(text.trim(), TYPING_MS);
  const enabled = useScope('users:read');
  const first = useRest('/users', { query: { limit: 50 }, enabled });
  const named = useRest('/users', {
    query: { search: wanted, limit: 50 },
    enabled: enabled && wanted !== '',
  });
  const name = useUsername(chosen);
  const byId = new Map<string, Option>();
  if (name !== null) byId.set(chosen, { value: chosen, label: `${name} (${chosen})` });
  for (const { userId, username } of [...(first.data?.data ?? []), ...(named.data?.data ?? [])])
    byId.set(userId, { value: userId, label: `${username} (${userId})` });
  const isKnown = [...byId.values()].some(({ label }) => label.includes(wanted));
  if (wanted !== '' && !isKnown && !wanted.includes(' '))
    byId.set(wanted, { value: wanted, label: `The user id ${wanted}` });
  return {
    options: [...byId.values()],
    setText,
    nothing: enabled ? 'No such user' : 'The key lacks the scope users:read. Enter an id.',
    isDone: false,
  };
}

/** Returns the options with those that are chosen, which the last search may not have found. */
function useWithChosen(options: Option[], chosen: readonly string[]): Option[] {
  const labels = useRef(new Map<string, string>());
  for (const { value, label } of options) labels.current.set(value, label);
  const present = new Set(options.map(({ value }) => value));
  const others = chosen.filter((value) => !present.has(value));
  return [...options, ...others.map((value) => ({ value, label: labels.current.get(value) ?? value }))];
}

interface ManyProps {
  label: string;
  description?: string;
  value: string[];
  onChange: (ids: string[]) => void;
}

function Many({ search, ...props }: ManyProps & { search: Search }) {
  const data = useWithChosen(search.options, props.value);
  return (
    <MultiSelect
      {...props}
      data={data}
      searchable
      clearable
      hidePickedOptions
      onSearchChange={search.setText}
      {...(search.isDone ? { filter: ({ options }) => options } : {})}
      nothingFoundMessage={search.nothing}
      placeholder={props.value.length === 0 ? 'Type to search' : ''}
      maxDropdownHeight={260}
    />
  );
}

export function ConnectorsPicker(props: ManyProps) {
  return <Many {...props} search={useConnectorSearch()} />;
}

export function UsersPicker(props: ManyProps) {
  return <Many {...props} search={useUserSearch()} />;
}

interface OneProps {
  label: string;
  description?: string;
  placeholder?: string;
  value: string;
  onChange: (id: string) => void;
  width?: number;
}

function One({ search, value, onChange, width, ...props }: OneProps & { search: Search }) {
  const data = useWithChosen(search.options, value === '' ? [] : [value]);
  const chosen = data.find((one) => one.value === value)?.label;
  return (
    <Select
      {...props}
      {...(width === undefined ? {} : { w: width, maw: '100%' })}
      value={value || null}
      onChange={(id) => onChange(id ?? '')}
      data={data}
      searchable
      clearable
      onSearchChange={(text) => search.setText(text === chosen ? '' : text)}
      {...(search.isDone ? { filter: ({ options }) => options } : {})}
      nothingFoundMessage={search.nothing}
      maxDropdownHeight={260}
    />
  );
}

export function ConnectorPicker(props: OneProps) {
  return <One {...props} search={useConnectorSearch()} />;
}

export function UserPicker(props: OneProps) {
  return <One {...props} search={useUserSearch(props.value)} />;
}

export interface ActionName {
  connectorId: string;
  actionId: string;
}

export const NO_ACTION: ActionName = { connectorId: '', actionId: '' };

/** Chooses a connector, then one of its actions. */
export function ConnectorActionPicker({
  value,
  onChange,
  every,
}: {
  value: ActionName;
  onChange: (name: ActionName) => void;
  /** The text of an option for all actions, whose value is `*`. */
  every?: string;
}) {
  return (
    <>
      <ConnectorPicker
        label="Connector"
        placeholder="Type to search"
        value={value.connectorId}
        onChange={(connectorId) => onChange({ connectorId, actionId: '' })}
      />
      <ActionPicker
        label="Action"
        placeholder="Type to search"
        connectorId={value.connectorId}
        {...(every === undefined ? {} : { every })}
        value={value.actionId}
        onChange={(actionId) => onChange({ ...value, actionId })}
      />
    </>
  );
}

/** Chooses among all actions of a connector. */
function ActionPicker({
  connectorId,
  every,
  ...props
}: OneProps & {
  connectorId: string;
  /** The text of an option for all actions, whose value is `*`. */
  every?: string;
}) {
  const found = useAll('/connectors/{connectorId}/actions', {
    path: { connectorId },
    enabled: useScope('connectors:read') && connectorId !== '',
  });
  const actions = connectorId === '' ? [] : (found.data ?? []);
  return (
    <One
      {...props}
      search={{
        options: [
          ...(every === undefined || connectorId === '' ? [] : [{ value: '*', label: every }]),
          ...actions.map(({ actionId, name, effect }) => ({
            value: actionId,
            label: `${name} (${actionId}, ${effect})`,
          })),
        ],
        setText: () => {},
        nothing: connectorId === '' ? 'Choose a connector first' : 'No such action',
        isDone: false,
      }}
    />
  );
}
