import { isDeepStrictEqual } from 'node:util';
import { ownAction, type Connector } from '../connectors/catalog.ts';
import type { WriteExample } from '../connectors/format/examples-format.ts';
import { checkInput } from '../connectors/schemas/validate.ts';
import { GatehouseError, type Fault } from '../lib/errors.ts';
import { isJsonObject, type Json, type JsonObject } from '../lib/json.ts';
import { typedId } from '../unified/inputs.ts';
import { modelOf } from '../unified/map.ts';
import { givenFaults } from '../unified/writable.ts';
import { writtenInput } from '../unified/write-record.ts';

/**
 * Plays a recorded write: the given members must make the input of the example, which the action accepts. A member
 * whose absence changes nothing is a fault, because a caller's value of it would be lost.
 */
export async function replayWrite(
  connector: Connector,
  { scope, write, remoteId, given, input }: WriteExample,
): Promise<Fault[]> {
  const part = modelOf(connector, scope)[write];
  if (!part) return [{ field: 'write', rule: `is ${write}, which the model does not have` }];
  const faults = givenFaults(scope, part, { given, connector: connector.name });
  if (faults.length > 0) return faults.map(({ field, rule }) => ({ field: `given.${field}`, rule }));
  try {
    const actual = await writtenInput(part, given, connector);
    if (!isDeepStrictEqual(actual, input))
      return [{ field: 'input', rule: `should be ${JSON.stringify(input)}, is ${JSON.stringify(actual)}` }];
    const id = 'param' in part ? { [part.param]: typedId(connector, part, remoteId) } : {};
    const refused = refusedBy(connector, part.action, { ...actual, ...id });
    if (refused.length > 0) return refused;
    const lost: Fault[] = [];
    for (const { path, rest } of withoutEach(given)) {
      if (isDeepStrictEqual(await writtenInput(part, rest, connector), input))
        lost.push({ field: `given.${path}`, rule: 'changes nothing in the input of the action' });
    }
    return lost;
  } catch (error) {
    if (error instanceof GatehouseError) return [{ field: 'given', rule: error.message }];
    throw error;
  }
}

function refusedBy(connector: Connector, actionId: string, input: JsonObject): Fault[] {
  const action = ownAction(connector, actionId);
  const faults = action ? checkInput(action, input) : [];
  return faults.map(({ field, rule }) => ({ field: `input.${field}`, rule }));
}

/** Returns the record without each of its values in turn, with the path of that value. */
function withoutEach(value: JsonObject, path = ''): { path: string; rest: JsonObject }[] {
  return Object.entries(value).flatMap(([name, member]) => {
    const at = `${path}${name}`;
    const { [name]: _left, ...rest } = value;
    return [
      { path: at, rest },
      ...partsOf(member, at).map((part) => ({ path: part.path, rest: { ...value, [name]: part.rest } })),
    ];
  });
}

function partsOf(member: Json, path: string): { path: string; rest: Json }[] {
  if (isJsonObject(member)) return withoutEach(member, `${path}.`);
  if (!Array.isArray(member)) return [];
  return member.flatMap((item, index) =>
    partsOf(item, `${path}.${index}`).map((part) => ({
      path: part.path,
      rest: member.with(index, part.rest),
    })),
  );
}
