import { parametersOf } from '../connectors/schemas.ts';
import type { ExamplesFile } from '../connectors/examples-format.ts';
import type { ConnectorFile } from '../connectors/format.ts';
import type { SemanticFault } from '../connectors/semantic-fault.ts';
import { parseJson, valueAt } from '../lib/json.ts';

/** Errors that every connector should have an example of: a limit, a dead credential, a fault, a refusal. */
const REFUSALS = ['upstream_rate_limited', 'credential_invalid', 'upstream_failed', 'upstream_rejected'];

/** Returns the actions that no example calls. */
export function untriedActionsOf({ actions }: ConnectorFile, { examples }: ExamplesFile): string[] {
  const tried = new Set(examples.map(({ action }) => action));
  return Object.keys(actions).filter((id) => !actions[id]?.internal && !tried.has(id));
}

/**
 * Returns how much of a connector the examples prove, 0 to 100. Examples of its actions count for 50, of each kind of
 * refusal for 20, schemas of answers for 20, descriptions of parameters for 10.
 */
export function scoreOf(file: ConnectorFile, examples: ExamplesFile): number {
  const shown = Object.values(file.actions).filter(({ internal }) => !internal);
  const parameters = shown.flatMap((action) => parametersOf(action));
  const codes = new Set(examples.examples.map(({ error }) => error?.code));
  const points = [
    50 * fraction(shown.length - untriedActionsOf(file, examples).length, shown.length),
    20 * fraction(REFUSALS.filter((code) => codes.has(code)).length, REFUSALS.length),
    20 * fraction(shown.filter(({ response }) => response.schema !== undefined).length, shown.length),
    10 * fraction(parameters.filter(({ parameter }) => parameter.description).length, parameters.length),
  ];
  return Math.floor(points.reduce((sum, points) => sum + points, 0));
}

function fraction(part: number, whole: number): number {
  return whole === 0 ? 1 : part / whole;
}

/** Returns the faults that the examples show: places without a value, and another host that no example confirms. */
export function usedFaults(file: ConnectorFile, { examples }: ExamplesFile): SemanticFault[] {
  return [...accountFaults(file, examples), ...hostFaults(file, examples)];
}

function accountFaults(
  { account, probe }: ConnectorFile,
  examples: ExamplesFile['examples'],
): SemanticFault[] {
  const read = examples.find(({ action, output }) => action === probe && output !== undefined);
  if (!account || !read) return [];
  const output = parseJson(JSON.stringify(read.output ?? null));
  const found = valueAt(output, account.id);
  if (found !== undefined && found !== null) return [];
  return [{ path: 'account.id', rule: `"${account.id}" is not in the example of the probe "${probe}"` }];
}

/** Returns a fault for each action that sends the credential to another host without an example. */
function hostFaults(
  { baseUrl, actions }: ConnectorFile,
  examples: ExamplesFile['examples'],
): SemanticFault[] {
  const tried = new Set(examples.map(({ action }) => action));
  return Object.entries(actions)
    .filter(([id, action]) => action.baseUrl && hostOf(action.baseUrl) !== hostOf(baseUrl) && !tried.has(id))
    .map(([id]) => ({
      path: `actions.${id}.baseUrl`,
      rule: 'sends the credential to another host than the file does, so an example has to show it',
    }));
}

function hostOf(address: string): string {
  return address.replace(/^https?:\/\//, '').split('/')[0] ?? '';
}
