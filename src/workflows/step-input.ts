import { callableAction } from '../connectors/catalog.ts';
import { inputOfExpressions, type Missing } from '../connectors/expression-input.ts';
import { GatehouseError } from '../lib/errors.ts';
import { asObject, type Json, type JsonObject } from '../lib/json.ts';
import type { RunRow } from './begin.ts';
import type { Context } from './context.ts';
import { filled, slotsOf } from './expressions.ts';
import { templateOf, type CallStep } from './perform.ts';

/** The input of a call, and why it cannot be sent. */
export interface StepInput {
  input: JsonObject;
  error?: GatehouseError;
}

/**
 * Returns a function that makes the input of a step from the values of its expressions, in the order of slotsOf(). A
 * single match becomes a list where the action takes a list, and an optional member without a value is left out.
 */
export function inputMaker(
  { catalog }: Pick<Context, 'catalog'>,
  { environment }: Pick<RunRow, 'environment'>,
  step: CallStep,
): (values: readonly Json[]) => StepInput {
  const template = templateOf(step);
  const slots = slotsOf(template);
  const places = new Map(slots.map(({ path, expression }) => [JSON.stringify(path), expression]));
  const connector = 'connectorId' in step ? catalog.connector(environment, step.connectorId) : undefined;
  const action = connector && 'actionId' in step ? callableAction(connector, step.actionId) : undefined;
  return (values) => {
    const input = asObject(filled(template, values));
    if (!action) return { input };
    const missing: Missing[] = [];
    const isComputed = (path: readonly (string | number)[]) => places.has(JSON.stringify(path));
    const made = inputOfExpressions(action.inputSchema, input, { isComputed, missing });
    const [first] = missing;
    return first ? { input: made, error: withoutValue(first, places) } : { input: made };
  };
}

/** Returns the error that names a required member and the expression around it. */
function withoutValue({ path }: Missing, places: ReadonlyMap<string, string>): GatehouseError {
  const around = path.map((_, index) => JSON.stringify(path.slice(0, index + 1)));
  const expression = around.map((place) => places.get(place)).find((one) => one !== undefined) ?? '';
  const shown = expression.length > 200 ? `${expression.slice(0, 200)}…` : expression;
  return new GatehouseError(
    'expression_failed',
    `The expression "=${shown}" gave no value for ${path.join('.')}, which is required.`,
    { details: { faults: [{ field: path.join('.'), rule: 'is required' }] } },
  );
}
