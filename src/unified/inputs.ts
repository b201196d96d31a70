import { ownAction, type Connector } from '../connectors/catalog.ts';
import type { UnifiedModel } from '../connectors/format/events-format.ts';
import { takesArray } from '../connectors/parameters.ts';
import { filledInput } from '../connectors/templates.ts';
import { isJsonObject, valueAt, type Json, type JsonObject } from '../lib/json.ts';
import type { OpenCredential } from '../upstream/open-credential.ts';
import type { SourceModel } from '../connectors/source-model.ts';

/**
 * Returns the fields of a credential for the templates of its connector's file, which may name only fields that are
 * not secret.
 */
export function fieldsOf({ values }: OpenCredential): (name: string) => string | undefined {
  return (name) => values[name]?.open();
}

/** A list action with its input. */
export interface ListCall {
  actionId: string;
  input: JsonObject;
}

/**
 * Returns the inputs that a model's list is read with, one after the other. Usually there is one. There are several
 * where a parameter takes values of a limited number of other records at a time, and none where there are no other
 * records, or no list. `readAll` reads the whole of a list action.
 */
export async function listInputs(
  connector: Pick<Connector, 'actions' | 'internal'>,
  model: SourceModel,
  { credential, readAll }: { credential: OpenCredential; readAll: (call: ListCall) => Promise<Json[]> },
): Promise<JsonObject[]> {
  if (model.list === undefined) return [];
  const field = fieldsOf(credential);
  const input = filledInput(model.input, field);
  const [from] = Object.entries(model.inputFrom);
  if (!from) return [input];
  const [parameter, { action, input: given, where, path, most }] = from;
  const isWanted = (record: Json) =>
    Object.entries(where).every(([at, value]) => valueAt(record, at) === value);
  const records = await readAll({ actionId: action, input: filledInput(given, field) });
  const values = records.filter(isWanted).map((record) => valueAt(record, path) ?? null);
  if (!takesArray(ownAction(connector, model.list)?.definition, parameter))
    return values.map((value) => ({ ...input, [parameter]: value }));
  const inputs: JsonObject[] = [];
  for (let at = 0; at < values.length; at += most) {
    inputs.push({ ...input, [parameter]: values.slice(at, at + most) });
  }
  return inputs;
}

/** Adds the value that a list was read with to its records, where their model names a member for it. */
export function withMember({ inputFrom }: SourceModel, input: JsonObject, records: readonly Json[]): Json[] {
  const [from] = Object.entries(inputFrom);
  if (from?.[1].as === undefined) return [...records];
  const [parameter, { as }] = from;
  const value = input[parameter] ?? null;
  const one = Array.isArray(value) ? (value[0] ?? null) : value;
  return records.map((record) => (isJsonObject(record) ? { ...record, [as]: one } : record));
}

/** Returns the input that reads one record. */
export function recordInput(
  connector: Pick<Connector, 'actions' | 'internal'>,
  get: UnifiedModel['get'],
  { credential, remoteId }: { credential: OpenCredential; remoteId: string },
): JsonObject {
  return { ...filledInput(get.input, fieldsOf(credential)), [get.param]: typedId(connector, get, remoteId) };
}

/** Returns an id for a parameter of an action. The ids of some apps are numbers, and their schemas require that. */
export function typedId(
  connector: Pick<Connector, 'actions' | 'internal'>,
  { action, param }: { action: string; param: string },
  remoteId: string,
): string | number {
  const definition = ownAction(connector, action)?.definition;
  const parameter =
    definition && (definition.path[param] ?? definition.query[param] ?? definition.body[param]);
  const type = parameter?.['type'];
  return type === 'integer' || type === 'number' ? Number(remoteId) : remoteId;
}
