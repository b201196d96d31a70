import { isJsonObject } from '../lib/json.ts';
import { inputSchemaOf, outputSchemaOf } from '../connectors/schemas/action-schemas.ts';
import type { ActionDefinition, ConnectorFile, JsonSchema } from '../connectors/format/format.ts';
import { resolved } from '../connectors/schemas/model-schema.ts';
import { parametersOf } from '../connectors/parameters.ts';
import type { SemanticFault } from '../connectors/semantics/semantic-fault.ts';

/** Minimum length of the description of an action. */
const MIN_LENGTH = 25;

/** Verbs with which ids of actions begin, and with which their descriptions begin then. */
const VERBS: { readonly [verb: string]: string | undefined } = {
  create: 'Creates',
  list: 'Lists',
  get: 'Gets',
  update: 'Updates',
  delete: 'Deletes',
  send: 'Sends',
  search: 'Searches',
};

/** Names of parameters that take an id. */
const ID_NAME = /^ids?$|(?:I[dD]|_id)s?$/;
/** A description of an id. */
const ID_TEXT = /^ids? of /i;
/** Says what gives a value: "list_orders gives it.", "list_files and save_url give it as file.id." */
const ORIGIN = /(?:^|[.;] )([^.;]+) gives? (?:it|them)(?: as ([\w.@]+\w))?/g;

/** A value that callers give: a parameter, or a member of a parameter. */
interface Value {
  /** Its place below the action, such as body.lines.sku. */
  place: string;
  name: string;
  schema: JsonSchema;
  required: boolean;
}

/**
 * Returns what models miss in the descriptions of a file: texts of parameters and of their members, the action that
 * gives a required id, and descriptions that distinguish actions. These are faults of a shipped file. Another
 * file loses points, because imported descriptions are not written for it.
 */
export function descriptionFaults(file: ConnectorFile): SemanticFault[] {
  return shownActions(file).flatMap(([id, action]) => [
    ...actionFaults(id, action),
    ...valuesOf(file, action).flatMap((value) =>
      valueFaults(file, value).map((rule) => ({ path: `actions.${id}.${value.place}`, rule })),
    ),
  ]);
}

/** Returns the number of descriptions that descriptionFaults() checks. */
export function countDescriptions(file: ConnectorFile): number {
  return shownActions(file).reduce((sum, [, action]) => sum + 1 + valuesOf(file, action).length, 0);
}

function shownActions({ actions }: ConnectorFile): [string, ActionDefinition][] {
  return Object.entries(actions).filter(([, { internal }]) => !internal);
}

function actionFaults(id: string, { description }: ActionDefinition): SemanticFault[] {
  const path = `actions.${id}.description`;
  const [word = ''] = id.split('_');
  const verb = Object.hasOwn(VERBS, word) ? VERBS[word] : undefined;
  const isShort = description.length < MIN_LENGTH;
  const isOther = verb !== undefined && description.split(/[^A-Za-z]/, 1)[0] !== verb;
  return [
    ...(isShort
      ? [{ path, rule: `has fewer than ${MIN_LENGTH} characters; say how it differs from similar actions` }]
      : []),
    ...(isOther ? [{ path, rule: `has another verb than the id; begin it with "${verb}"` }] : []),
  ];
}

/** Returns the values that callers give, without those of paging. */
function valuesOf(file: ConnectorFile, action: ActionDefinition): Value[] {
  const root = inputSchemaOf(file, action, undefined);
  const places = new Map(parametersOf(action).map(({ place, name }) => [name, place]));
  return membersOf(root, root).flatMap((value) => {
    const place = `${places.get(value.name) ?? 'input.properties'}.${value.name}`;
    const inner = membersOf(value.schema, root).map((one) => ({ ...one, place: `${place}.${one.name}` }));
    return [{ ...value, place }, ...inner];
  });
}

/** Returns the members of an object, or of the objects in a list. */
function membersOf(schema: JsonSchema, root: JsonSchema): Omit<Value, 'place'>[] {
  const { properties = {}, required = [] } = recordOf(schema, root);
  return Object.entries(isJsonObject(properties) ? properties : {}).map(([name, member]) => ({
    name,
    schema: resolved(isJsonObject(member) ? member : {}, root).schema,
    required: Array.isArray(required) && required.includes(name),
  }));
}

/** Returns the schema of an object, or of the objects in a list. */
function recordOf(schema: JsonSchema, root: JsonSchema): JsonSchema {
  const own = resolved(schema, root).schema;
  return isJsonObject(own['items']) ? resolved(own['items'], root).schema : own;
}

function valueFaults(file: ConnectorFile, { name, schema, required }: Value): string[] {
  const { description } = schema;
  if (typeof description !== 'string' || description.trim() === '') return ['has no description'];
  return required && (ID_NAME.test(name) || ID_TEXT.test(description))
    ? originFaults(file, name, description)
    : [];
}

/** Returns the faults of the sentence that names the action which gives an id, or gives a reason in other words. */
function originFaults(file: ConnectorFile, name: string, description: string): string[] {
  const origins = [...description.matchAll(ORIGIN)];
  if (origins.length === 0)
    return ['does not say what gives the id: write "list_orders gives it.", or "The user gives it."'];
  return origins.flatMap(([, words = '', as]) =>
    namesIn(file, words).flatMap((id) => {
      const action = file.actions[id];
      if (!action || action.internal) return [`names "${id}", which is no action of this file`];
      if (as === undefined ? hasId(file, action, name) : hasMember(file, action, as.split('.'))) return [];
      return [`names "${id}", whose result has no "${as ?? 'id'}"; write "${id} gives it as <member>."`];
    }),
  );
}

/** Returns the words that are ids of actions, and those that look like one. */
function namesIn({ actions }: ConnectorFile, words: string): string[] {
  return words.split(/[^A-Za-z0-9_]+/).filter((word) => word.includes('_') || Object.hasOwn(actions, word));
}

/** Returns whether the result of an action has an id: a member `id`, or one with the name of the parameter. */
function hasId(file: ConnectorFile, action: ActionDefinition, name: string): boolean {
  const root = outputSchemaOf(file, action, undefined);
  const { properties } = resultOf(root);
  if (!isJsonObject(properties)) return true;
  const names = new Set(['id', plain(name)]);
  return Object.keys(properties).some((member) => names.has(plain(member)));
}

/** Returns whether the result of an action has a member at this path. A schema without members may have any. */
function hasMember(file: ConnectorFile, action: ActionDefinition, path: readonly string[]): boolean {
  const root = outputSchemaOf(file, action, undefined);
  let schema = resultOf(root);
  for (const name of path) {
    const { properties } = schema;
    if (!isJsonObject(properties)) return true;
    const member = Object.hasOwn(properties, name) ? properties[name] : undefined;
    if (!isJsonObject(member)) return false;
    schema = recordOf(member, root);
  }
  return true;
}

/** Returns the schema of an action's result, or of the records in it. */
function resultOf(root: JsonSchema): JsonSchema {
  const { properties } = root;
  const data = isJsonObject(properties) ? properties['data'] : undefined;
  return isJsonObject(data) ? recordOf(data, root) : {};
}

function plain(name: string): string {
  return name.toLowerCase().replaceAll('_', '');
}
