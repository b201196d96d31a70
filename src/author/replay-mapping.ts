import { isDeepStrictEqual } from 'node:util';
import type { Connector } from '../connectors/catalog.ts';
import { scopeOfSource } from '../connectors/event-scopes.ts';
import type { SourceExample, UnifiedExample } from '../connectors/format/examples-format.ts';
import { GatehouseError, type Fault } from '../lib/errors.ts';
import { isJsonObject, type Json, type JsonObject } from '../lib/json.ts';
import { contentOf, toDelivered, toUnified } from '../unified/map.ts';

/** Plays a recorded record: it must map to the unified record of the example. Returns the differences. */
export async function replayUnified(
  connector: Connector,
  { scope, record, output }: UnifiedExample,
): Promise<Fault[]> {
  let body: JsonObject;
  try {
    ({ body } = await toUnified({ connector, scope, connectionId: 'cred_example' }, record));
  } catch (error) {
    return refusalFault(error);
  }
  const { id: _id, ...actual } = contentOf(body);
  return differences(withoutEmpty(output), withoutEmpty(actual), 'output');
}

/** Plays a recorded record of an event source: its id and times must be those of the example. Returns the differences. */
export async function replaySource(
  connector: Connector,
  { source, record, output }: SourceExample,
): Promise<Fault[]> {
  if (!Object.hasOwn(connector.definition.events, source))
    return [{ field: 'source', rule: `"${source}" is no event source of the file` }];
  const scope = scopeOfSource(connector.connectorId, source);
  try {
    const { body } = await toDelivered({ connector, scope, connectionId: 'cred_example' }, record);
    const { id: _id, raw: _raw, ...actual } = body;
    return differences({ ...output }, actual, 'output');
  } catch (error) {
    return refusalFault(error);
  }
}

/** Returns the fault of an example whose record is refused. Throws any other error again. */
function refusalFault(error: unknown): Fault[] {
  if (!(error instanceof GatehouseError)) throw error;
  return [{ field: 'output', rule: `came as an error: ${error.message}` }];
}

/** Returns the differences of each member, so that a long record shows where it differs. */
function differences(wanted: Json, actual: Json, field: string): Fault[] {
  if (isDeepStrictEqual(wanted, actual)) return [];
  if (isJsonObject(wanted) && isJsonObject(actual)) {
    const names = new Set([...Object.keys(wanted), ...Object.keys(actual)]);
    return [...names].flatMap((name) =>
      differences(wanted[name] ?? null, actual[name] ?? null, `${field}.${name}`),
    );
  }
  if (Array.isArray(wanted) && Array.isArray(actual) && wanted.length === actual.length)
    return wanted.flatMap((one, index) => differences(one, actual[index] ?? null, `${field}.${index}`));
  return [{ field, rule: `should be ${JSON.stringify(wanted)}, is ${JSON.stringify(actual)}` }];
}

/** Removes members that are null or empty, because a fixture lists only the existing ones. */
function withoutEmpty(value: Json): Json {
  if (Array.isArray(value)) return value.map(withoutEmpty);
  if (!isJsonObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value).flatMap(([name, member]) => {
      const rest = withoutEmpty(member);
      const empty = rest === null || (Array.isArray(rest) && rest.length === 0);
      return empty ? [] : [[name, rest]];
    }),
  );
}
