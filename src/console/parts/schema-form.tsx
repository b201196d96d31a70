import { MultiSelect, NumberInput, Select, Stack, Text, Textarea, TextInput } from '@mantine/core';
import { useEffect, useState } from 'react';
import type { JsonSchema } from '../api-types.ts';
import { isObject } from '../rest-client.ts';
import { JsonField } from './json-field.tsx';

type Input = Record<string, unknown>;

interface FormProps {
  schema: JsonSchema;
  value: Input;
  onChange: (value: Input) => void;
  /** Called when the text of a field begins or ends to be no JSON. */
  onFault: (name: string, isFaulty: boolean) => void;
}

/** Strings of at most this length fit a line. */
const LINE_LENGTH = 300;

/** A form of the members that a schema describes: the required ones first. Empty fields are left out of the value. */
export function SchemaForm({ schema, value, onChange, onFault }: FormProps) {
  const required = new Set(schema.required ?? []);
  const members = Object.entries(schema.properties ?? {}).toSorted(
    ([a], [b]) => Number(required.has(b)) - Number(required.has(a)),
  );
  if (members.length === 0)
    return (
      <Text size="sm" c="dimmed">
        No input is needed.
      </Text>
    );
  return (
    <Stack gap="md">
      {members.map(([name, member]) => (
        <Field
          key={name}
          name={name}
          schema={resolved(member, schema)}
          required={required.has(name)}
          value={value[name]}
          onChange={(next) => onChange(withMember(value, name, next))}
          onFault={(isFaulty) => onFault(name, isFaulty)}
        />
      ))}
    </Stack>
  );
}

interface FieldProps {
  name: string;
  schema: JsonSchema;
  required: boolean;
  value: unknown;
  onChange: (value: unknown) => void;
  onFault: (isFaulty: boolean) => void;
}

function Field({ name, schema, required, value, onChange, onFault }: FieldProps) {
  const kind = kindOf(schema);
  const shown = {
    label: name,
    description: describe(schema),
    placeholder: exampleOf(schema),
  };
  if (kind === 'choices' && (value === undefined || Array.isArray(value)))
    return (
      <MultiSelect
        {...shown}
        placeholder={value?.length ? '' : (shown.placeholder ?? 'Choose')}
        required={required}
        clearable
        data={choicesOf(schema.items)}
        value={(value ?? []).map((one) => JSON.stringify(one))}
        onChange={(texts) =>
          onChange(texts.length === 0 ? undefined : texts.map((text) => JSON.parse(text) as unknown))
        }
      />
    );
  if (kind === 'choice' || kind === 'boolean') {
    const choices = choicesOf(kind === 'boolean' ? { enum: [true, false] } : schema);
    return (
      <Select
        {...shown}
        placeholder={shown.placeholder ?? (required ? 'Choose' : 'Not set')}
        required={required}
        clearable
        searchable={choices.length > 8}
        data={choices}
        value={value === undefined ? null : JSON.stringify(value)}
        onChange={(text) => onChange(text === null ? undefined : (JSON.parse(text) as unknown))}
      />
    );
  }
  if (kind === 'number' && (value === undefined || typeof value === 'number'))
    return (
      <NumberField
        {...shown}
        required={required}
        allowDecimal={!typesOf(schema).includes('integer')}
        value={value}
        onChange={onChange}
      />
    );
  if (kind === 'text' && (value === undefined || typeof value === 'string')) {
    const text = {
      ...shown,
      required,
      value: value ?? '',
      onChange: (event: { currentTarget: { value: string } }) =>
        onChange(event.currentTarget.value === '' ? undefined : event.currentTarget.value),
      autoComplete: 'off',
    };
    const isLine = schema.format !== undefined || (schema.maxLength ?? Infinity) <= LINE_LENGTH;
    return isLine ? <TextInput {...text} /> : <Textarea {...text} autosize minRows={1} maxRows={12} />;
  }
  return <JsonField {...shown} required={required} value={value} onChange={onChange} onFault={onFault} />;
}

/** A field of a number. Text that is no number yet, such as a sign, stays in it. */
function NumberField({
  value,
  onChange,
  ...shown
}: {
  label: string;
  description: string | undefined;
  placeholder: string | undefined;
  required: boolean;
  allowDecimal: boolean;
  value: number | undefined;
  onChange: (value: number | undefined) => void;
}) {
  const [typed, setTyped] = useState<string | number>(value ?? '');
  useEffect(() => {
    setTyped((before) => (numberIn(before) === value ? before : (value ?? '')));
  }, [value]);
  return (
    <NumberInput
      {...shown}
      value={typed}
      onChange={(next) => {
        setTyped(next);
        onChange(numberIn(next));
      }}
    />
  );
}

function numberIn(typed: string | number): number | undefined {
  const number = typed === '' ? Number.NaN : Number(typed);
  return Number.isNaN(number) ? undefined : number;
}

/** Returns the values that a schema lists, with their titles; none when it lists none. */
function choicesOf(schema: JsonSchema = {}): { value: string; label: string }[] {
  const { enum: values, enumNames = [] } = schema;
  if (values)
    return values.map((one, at) => ({ value: JSON.stringify(one), label: enumNames[at] ?? wordOf(one) }));
  const named = schema.oneOf ?? schema.anyOf ?? [];
  if (!named.every((one) => 'const' in one)) return [];
  return named.map((one) => ({ value: JSON.stringify(one.const), label: one.title ?? wordOf(one.const) }));
}

function kindOf(schema: JsonSchema): 'choice' | 'choices' | 'boolean' | 'number' | 'text' | 'json' {
  if (choicesOf(schema).length > 0) return 'choice';
  const types = typesOf(schema);
  if (types.length === 1 && types[0] === 'array' && choicesOf(schema.items).length > 0) return 'choices';
  // A value may be null only where its field takes JSON.
  if (types.length !== 1) return 'json';
  switch (types[0]) {
    case 'boolean':
      return 'boolean';
    case 'integer':
    case 'number':
      return 'number';
    case 'string':
      return 'text';
    default:
      return 'json';
  }
}

function typesOf({ type }: JsonSchema): string[] {
  return type === undefined ? [] : [type].flat();
}

function describe(schema: JsonSchema): string | undefined {
  const isJson = kindOf(schema) === 'json';
  const parts = [
    sentence(schema.description),
    isJson ? `As JSON: ${typesOf(schema).join(' or ') || 'any value'}${itemsIn(schema)}.` : undefined,
    schema.default === undefined ? undefined : `Default: ${wordOf(schema.default)}.`,
    rangeOf(schema),
  ].filter((part) => part !== undefined && part !== '');
  return parts.length === 0 ? undefined : parts.join(' ');
}

/** Ends a text that another sentence may follow. */
function sentence(text: string | undefined): string | undefined {
  return text === undefined || /[.!?:…)]$/.test(text) ? text : `${text}.`;
}

/** Returns the members of an object, or of the objects in a list, in words. */
function itemsIn(schema: JsonSchema): string {
  const { properties, required = [] } = schema.items ?? schema;
  const names = Object.keys(properties ?? {});
  if (names.length === 0) return '';
  const list = names.map((name) => (required.includes(name) ? `${name}*` : name)).join(', ');
  return `${schema.items ? ' of objects' : ''} with ${list}`;
}

function rangeOf({ minimum, maximum }: JsonSchema): string | undefined {
  if (minimum !== undefined && maximum !== undefined) return `From ${minimum} to ${maximum}.`;
  if (minimum !== undefined) return `At least ${minimum}.`;
  return maximum === undefined ? undefined : `At most ${maximum}.`;
}

function exampleOf({ default: usual, examples }: JsonSchema): string | undefined {
  if (usual !== undefined) return wordOf(usual);
  return examples?.[0] === undefined ? undefined : wordOf(examples[0]);
}

function wordOf(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}

/** Returns the schema that a reference within the same schema names. */
function resolved(schema: JsonSchema, root: JsonSchema): JsonSchema {
  const name = schema.$ref?.match(/^#\/\$defs\/([^/]+)$/)?.[1];
  const target = name === undefined ? undefined : root.$defs?.[name];
  return isObject(target) ? { ...target, ...schema } : schema;
}

function withMember(input: Input, name: string, value: unknown): Input {
  if (value !== undefined) return { ...input, [name]: value };
  const { [name]: _, ...rest } = input;
  return rest;
}
