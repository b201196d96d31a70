import type { ActionDefinition, ConnectorFile, JsonSchema } from '../connectors/format/format.ts';
import { asSchema, resolved } from '../connectors/schemas/model-schema.ts';
import { inputSchemaOf, outputSchemaOf, pagingOf } from '../connectors/schemas/action-schemas.ts';

/* The difference between two definitions of a connector, and the part of it that breaks callers. */

export interface Changes {
  added: string[];
  removed: string[];
  /** Actions that differ, with sentences about how. */
  changed: { actionId: string; differences: string[] }[];
  /** Sentences about changes that make existing calls or credentials fail. */
  breaking: string[];
}

/** Compares two checked definitions. */
export function changesBetween(before: ConnectorFile, after: ConnectorFile): Changes {
  const removed = Object.keys(before.actions).filter((id) => !after.actions[id]);
  const changes: Changes = {
    added: Object.keys(after.actions).filter((id) => !before.actions[id]),
    removed,
    changed: [],
    breaking: [...removed.map((id) => `${id}: the action is gone`), ...credentialBreaks(before, after)],
  };
  for (const [actionId, action] of Object.entries(after.actions)) {
    const old = before.actions[actionId];
    if (!old) continue;
    const { differences, breaking } = compareActions({ file: before, action: old }, { file: after, action });
    if (differences.length > 0) changes.changed.push({ actionId, differences });
    changes.breaking.push(...breaking.map((what) => `${actionId}: ${what}`));
  }
  return changes;
}

/** Returns changes that make stored credentials useless, because a credential belongs to a scheme and an origin. */
function credentialBreaks(before: ConnectorFile, after: ConnectorFile): string[] {
  const types = new Set(after.authentication.map(({ type }) => type));
  const gone = before.authentication.filter(({ type }) => !types.has(type));
  return [
    ...gone.map(({ type }) => `credentials of the type ${type} are no longer accepted`),
    ...(before.baseUrl === after.baseUrl
      ? []
      : [`the address changes from ${before.baseUrl} to ${after.baseUrl}`]),
  ];
}

interface Side {
  file: ConnectorFile;
  action: ActionDefinition;
}

function compareActions(before: Side, after: Side): { differences: string[]; breaking: string[] } {
  const breaking = [...inputBreaks(before, after), ...outputBreaks(before, after)];
  const differences = [...breaking];
  if (before.action.request !== after.action.request)
    differences.push(`its request changes from ${before.action.request} to ${after.action.request}`);
  if (before.action.effect !== after.action.effect)
    differences.push(
      `its effect changes from ${before.action.effect ?? 'the usual'} to ${after.action.effect ?? 'the usual'}`,
    );
  const known = Object.keys(propertiesOf(inputOf(before)));
  const more = Object.keys(propertiesOf(inputOf(after))).filter((name) => !known.includes(name));
  if (more.length > 0) differences.push(`it also takes ${more.join(', ')}`);
  if (differences.length === 0 && before.action.description !== after.action.description)
    differences.push('its description changes');
  return { differences, breaking };
}

function inputBreaks(before: Side, after: Side): string[] {
  const old = inputOf(before);
  const now = inputOf(after);
  const needed = new Set(namesIn(now['required']));
  const newlyNeeded = [...needed].filter((name) => !namesIn(old['required']).includes(name));
  const members = propertiesOf(now);
  return [
    ...newlyNeeded.map((name) => `${name} is now required`),
    ...Object.entries(propertiesOf(old)).flatMap(([name, schema]) => {
      if (members[name] === undefined) return [`it no longer takes ${name}`];
      return narrower(asSchema(schema), asSchema(members[name]), { before: old, after: now }).map(
        (what) => `${name} ${what}`,
      );
    }),
  ];
}

/** Returns the new restrictions of a value. Only types and enums are compared. */
function narrower(
  old: JsonSchema,
  now: JsonSchema,
  roots: { before: JsonSchema; after: JsonSchema },
): string[] {
  const a = resolved(old, roots.before).schema;
  const b = resolved(now, roots.after).schema;
  const types = [a['type']].flat().map(String);
  const left = [b['type']].flat().map(String);
  const fits = (type: string) => left.includes(type) || (type === 'integer' && left.includes('number'));
  if (a['type'] !== undefined && b['type'] !== undefined && !types.every(fits))
    return [`changes its type from ${types.join(' or ')} to ${left.join(' or ')}`];
  const values = Array.isArray(b['enum']) ? b['enum'] : undefined;
  if (!values) return [];
  if (!Array.isArray(a['enum'])) return [`must now be one of: ${values.slice(0, 20).join(', ')}`];
  const gone = a['enum'].filter((value) => !values.includes(value));
  return gone.length > 0 ? [`no longer takes: ${gone.slice(0, 20).join(', ')}`] : [];
}

function outputBreaks(before: Side, after: Side): string[] {
  const wasList = pagingOf(before.file, before.action) !== undefined;
  const isList = pagingOf(after.file, after.action) !== undefined;
  if (wasList !== isList) return [isList ? 'it now returns a list' : 'it no longer returns a list'];
  const a = recordOf(before, wasList);
  const b = recordOf(after, isList);
  const members = propertiesOf(b.schema);
  return Object.entries(propertiesOf(a.schema)).flatMap(([name, schema]) => {
    const now = members[name];
    if (now === undefined) return Object.keys(members).length > 0 ? [`its answer has no ${name}`] : [];
    const old = resolved(asSchema(schema), a.root).schema['type'];
    const type = resolved(asSchema(now), b.root).schema['type'];
    if (old === undefined || type === undefined || sameType(old, type)) return [];
    return [`${name} of its answer changes its type from ${String(old)} to ${String(type)}`];
  });
}

function recordOf({ file, action }: Side, isList: boolean): { schema: JsonSchema; root: JsonSchema } {
  const root = outputSchemaOf(file, action, pagingOf(file, action));
  const data = asSchema(propertiesOf(root)['data']);
  return { schema: resolved(asSchema(isList ? data['items'] : data), root).schema, root };
}

function sameType(a: unknown, b: unknown): boolean {
  const names = (type: unknown) =>
    [type]
      .flat()
      .map(String)
      .filter((one) => one !== 'null')
      .sort()
      .join();
  return names(a) === names(b);
}

function inputOf({ file, action }: Side): JsonSchema {
  return inputSchemaOf(file, action, pagingOf(file, action));
}

function propertiesOf(schema: JsonSchema): JsonSchema {
  return asSchema(schema['properties']);
}

function namesIn(value: unknown): string[] {
  return Array.isArray(value) ? value.map(String) : [];
}
