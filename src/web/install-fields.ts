import type { ConfigSchema, FieldSchema, InstallForm, Problem } from './api.ts';
import { texts } from './page-texts.ts';

/** The service shows this in place of a secret. */
const MASK = '[secret]';
const NUMBER = String.raw`^-?\d{1,15}(\.\d{1,10})?$`;
const WHOLE = String.raw`^-?\d{1,15}$`;

/**
 * Returns the fields as a form of texts. Their values are the typed ones, else the installed ones, else the defaults.
 */
export function textual(
  { configurableFields: { properties = {}, required = [] }, installation }: InstallForm,
  typed: Record<string, string> | undefined,
): { properties: Record<string, FieldSchema>; required: string[] } {
  const fields = Object.entries(properties).map(([name, schema]): [string, FieldSchema] => {
    const { default: usual, enum: values, ...rest } = schema;
    const stands = typed ? typed[name] : textOf(installation?.config[name] ?? usual, schema);
    const kind = kindOf(schema);
    return [
      name,
      {
        ...rest,
        ...(kind === 'number'
          ? { pattern: [schema.type].flat().includes('integer') ? WHOLE : NUMBER, examples: ['3'] }
          : {}),
        ...(kind === 'json' ? { contentMediaType: 'application/json' } : {}),
        ...(kind === 'yes' ? { enum: [texts.yes, texts.no] } : {}),
        ...(values && kind !== 'yes' ? { enum: values.map((value) => textOf(value, {}) ?? '') } : {}),
        ...(schema.format === 'password' ? { writeOnly: true } : {}),
        ...(stands === undefined ? {} : { default: stands }),
        // The mask stands for the stored value. The service checks a value that replaces it.
        ...(stands === MASK ? { pattern: '' } : {}),
      },
    ];
  });
  return { properties: Object.fromEntries(fields), required };
}

function kindOf({ type, enum: values }: ConfigSchema): 'text' | 'number' | 'yes' | 'json' {
  if (values) return values.every((value) => typeof value === 'string') ? 'text' : 'json';
  const types = new Set([type].flat());
  if (types.has('boolean')) return 'yes';
  if (types.has('integer') || types.has('number')) return 'number';
  return types.has('array') || types.has('object') ? 'json' : 'text';
}

function textOf(value: unknown, schema: ConfigSchema): string | undefined {
  if (value === undefined || value === null) return undefined;
  if (kindOf(schema) === 'yes') return value === true ? texts.yes : texts.no;
  return typeof value === 'string' ? value : JSON.stringify(value);
}

/** Returns the typed values in the types of the fields. Faults name fields as the form does. */
export function configOf(
  { configurableFields: { properties = {} } }: InstallForm,
  values: Record<string, string>,
): { config: Record<string, unknown>; faults: Problem['faults'] } {
  const config: Record<string, unknown> = {};
  const faults: Problem['faults'] = [];
  for (const [name, text] of Object.entries(values)) {
    const kind = kindOf(properties[name] ?? {});
    if (kind === 'text' || text === MASK) config[name] = text;
    else if (kind === 'number') config[name] = Number(text);
    else if (kind === 'yes') config[name] = text === texts.yes;
    else {
      try {
        config[name] = JSON.parse(text);
      } catch {
        faults.push({ field: `data.${name}`, rule: texts.faults.json });
      }
    }
  }
  return { config, faults };
}
