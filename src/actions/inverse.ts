import { ownAction, type Action, type Connector } from '../connectors/catalog.ts';
import { checkInput } from '../connectors/schemas/validate.ts';
import type { Fault } from '../lib/errors.ts';
import type { Json, JsonObject } from '../lib/json.ts';
import { filledCall } from './reads.ts';

/** The call that undoes another one. */
export interface Inverse {
  action: Action;
  input: JsonObject;
  /** Faults of the input: the call cannot be undone. */
  faults: Fault[];
}

/** Returns the call that undoes a call with this input and result; undefined where the connector file names none. */
export function inverseOf(
  connector: Connector,
  { definition: { undo } }: Action,
  values: { input: JsonObject; result: Json },
): Inverse | undefined {
  const action = undo && ownAction(connector, undo.action);
  if (!action) return undefined;
  const input = filledCall(action, undo, { ...values });
  return { action, input, faults: checkInput(action, input) };
}
