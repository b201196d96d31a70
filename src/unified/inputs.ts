import type { Connector } from '../connectors/catalog.ts';
import type { UnifiedModel } from '../connectors/events-format.ts';
import { filledInput } from '../connectors/templates.ts';
import { valueAt, type Json, type JsonObject } from '../lib/json.ts';
import type { OpenCredential } from '../upstream/open-credential.ts';

/**
 * Returns the fields of a credential for the templates of its connector's file, which may name only fields that are
 * not secret.
 */
export function fieldsOf({ values }: OpenCredential): (name: string) => string | undefined {
  return (name) => values[name]?.open();
}

/**
 * Returns the inputs that a model's list is read with, one after the other. Usually there is one. There are several
 * where a parameter takes the ids of a limited number of other records at a time, and none where there are no other
 * records. `readAll` reads the whole of a list action.
 */
export async function listInputs(
  model: UnifiedModel,
  credential: OpenCredential,
  readAll: (actionId: string) => Promise<Json[]>,
): Promise<JsonObject[]> {
  const input = filledInput(model.input, fieldsOf(credential));
  const [from] = Object.entries(model.inputFrom);
  if (!from) return [input];
  const [parameter, { action, path, most }] = from;
  const values = (await readAll(action)).map((record) => valueAt(record, path) ?? null);
  const inputs: JsonObject[] = [];
  for (let at = 0; at < values.length; at += most) {
    inputs.push({ ...input, [parameter]: values.slice(at, at + most) });
  }
  return inputs;
}

/**
 * Returns the input that reads one record of a model. The ids of some apps are numbers, and their schemas require
 * that.
 */
export function recordInput(
  { actions }: Pick<Connector, 'actions'>,
  { get }: UnifiedModel,
  { credential, remoteId }: { credential: OpenCredential; remoteId: string },
): JsonObject {
  const definition = actions.get(get.action)?.definition;
  const parameter =
    definition && (definition.path[get.param] ?? definition.query[get.param] ?? definition.body[get.param]);
  const type = parameter?.['type'];
  const id = type === 'integer' || type === 'number' ? Number(remoteId) : remoteId;
  return { ...filledInput(get.input, fieldsOf(credential)), [get.param]: id };
}
