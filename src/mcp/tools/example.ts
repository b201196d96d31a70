import type { Action, Connector } from '../../connectors/catalog.ts';
import { underAliases } from '../../connectors/schemas/forgive.ts';
import { asSchema } from '../../connectors/schemas/model-schema.ts';
import type { RecordedInput } from '../../connectors/recorded.ts';
import { sampleOf } from '../../connectors/schemas/sample.ts';
import { checkInput } from '../../connectors/schemas/validate.ts';
import type { Json, JsonObject } from '../../lib/json.ts';

/** A longer example costs a model more tokens than it helps. */
const MAX_CHARACTERS = 2000;

/**
 * Returns an input that an action accepts, under the names of its `modelInput`. Prefers a recorded input. Otherwise
 * builds one from the required members, with values recorded for sibling actions. Returns undefined when neither
 * passes the schema.
 */
export function exampleInput(action: Action, connector: Connector): JsonObject | undefined {
  const input = recordedOf(action, connector) ?? generated(action, connector);
  return input && underAliases(action.inputSchema, input);
}

/** Returns a recorded input. Prefers one with members, because it shows more. */
function recordedOf(action: Action, connector: Connector): JsonObject | undefined {
  const own = connector.recorded().filter(({ actionId }) => actionId === action.actionId);
  const good = own
    .flatMap(inputsOf)
    .filter(
      (input) => JSON.stringify(input).length <= MAX_CHARACTERS && checkInput(action, input).length === 0,
    );
  return good.find((input) => Object.keys(input).length > 0) ?? good[0];
}

function inputsOf(recorded: RecordedInput): JsonObject[] {
  const input = recorded.input();
  return input ? [input] : [];
}

function generated(action: Action, connector: Connector): JsonObject | undefined {
  let input = sampleOf(action.inputSchema);
  for (const name of Object.keys(input)) {
    const trials = siblingValues(action, name, connector).map((value) => ({ ...input, [name]: value }));
    input = trials.find((trial) => !isFaulty(action, trial, name)) ?? input;
  }
  return checkInput(action, input).length === 0 ? input : undefined;
}

/** Returns values that other actions recorded for a parameter with this name and the same meaning. */
function siblingValues(action: Action, name: string, connector: Connector): Json[] {
  const values = connector
    .recorded()
    .filter(
      ({ actionId, text }) =>
        text.includes(name) && meansTheSame(name, action, connector.actions.get(actionId)),
    )
    .flatMap(inputsOf)
    .map((input) => input[name]);
  return values.filter((value) => value !== undefined);
}

/**
 * Returns whether a parameter has the same meaning in two actions. Ids always have. Other parameters need the same
 * description or the same subject of the action.
 */
function meansTheSame(name: string, action: Action, sibling: Action | undefined): boolean {
  if (!sibling) return false;
  const text = parameterText(action, name);
  const isId = /.(id|number|ref)$/i.test(name) || /\bids?\b/i.test(text);
  if (isId || thingOf(action.actionId) === thingOf(sibling.actionId)) return true;
  return text === parameterText(sibling, name);
}

/** Returns the subject of an action: `list_order_lines` and `add_order_line` are about order lines. */
function thingOf(actionId: string): string {
  return actionId.slice(actionId.indexOf('_') + 1).replace(/s$/, '');
}

function parameterText({ inputSchema }: Action, name: string): string {
  return JSON.stringify(asSchema(inputSchema['properties'])[name] ?? null);
}

function isFaulty(action: Action, input: JsonObject, name: string): boolean {
  return checkInput(action, input).some(({ field }) => field === name || field.startsWith(`${name}.`));
}
