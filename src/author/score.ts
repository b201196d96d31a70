import { countDescriptions, descriptionFaults } from './description-check.ts';
import type { ExamplesFile } from '../connectors/format/examples-format.ts';
import type { ConnectorFile } from '../connectors/format/format.ts';
import type { SemanticFault } from '../connectors/semantics/semantic-fault.ts';
import { parseJson, valueAt } from '../lib/json.ts';

/** Errors that every connector should have an example of: a limit, a dead credential, a fault, a refusal. */
const REFUSALS = ['upstream_rate_limited', 'credential_invalid', 'upstream_failed', 'upstream_rejected'];

/** Names in a line of missing points. */
const MAX_NAMES = 5;

/** Returns the actions that no example calls. */
export function untriedActionsOf({ actions }: ConnectorFile, { examples }: ExamplesFile): string[] {
  const tried = new Set(examples.map(({ action }) => action));
  return Object.keys(actions).filter((id) => !actions[id]?.internal && !tried.has(id));
}

/** A part of the score, and the names for which points are missing. */
interface Part {
  points: number;
  of: number;
  missing: string[];
  what: string;
}

/**
 * Returns how much of a connector its examples prove, from 0 to 100: up to 50 points for examples of the actions, 20 for
 * examples of each kind of refusal, 20 for schemas of the answers, 10 for descriptions (description-check.ts).
 */
export function scoreOf(file: ConnectorFile, examples: ExamplesFile): number {
  return Math.floor(partsOf(file, examples).reduce((sum, part) => sum + part.points - lost(part), 0));
}

/** Returns a line for each part of the score with missing points, except for actions without an example. */
export function missingPoints(file: ConnectorFile, examples: ExamplesFile): string[] {
  return partsOf(file, examples)
    .slice(1)
    .filter(({ missing }) => missing.length > 0)
    .map((part) => `${Math.ceil(lost(part))} points: ${part.what}: ${firstOf(part.missing)}`);
}

function firstOf(names: readonly string[]): string {
  const more = names.length - MAX_NAMES;
  return names.slice(0, MAX_NAMES).join(', ') + (more > 0 ? ` and ${more} more` : '');
}

function partsOf(file: ConnectorFile, examples: ExamplesFile): Part[] {
  const shown = Object.entries(file.actions).filter(([, { internal }]) => !internal);
  const codes = new Set(examples.examples.map(({ error }) => error?.code));
  const empty = new Set(
    examples.examples.filter(({ output }) => output === null).map(({ action }) => action),
  );
  const schemas = shown.filter(([id, { response }]) => !response.schema && !empty.has(id));
  return [
    { points: 50, of: shown.length, missing: untriedActionsOf(file, examples), what: 'no example' },
    {
      points: 20,
      of: REFUSALS.length,
      missing: REFUSALS.filter((code) => !codes.has(code)),
      what: 'no example of a refusal',
    },
    { points: 20, of: shown.length, missing: schemas.map(([id]) => id), what: 'no schema of the answer' },
    {
      points: 10,
      of: countDescriptions(file),
      missing: missingDescriptions(file),
      what: 'descriptions',
    },
  ];
}

/** Returns a text for each description with a fault: its place, and the first fault. */
function missingDescriptions(file: ConnectorFile): string[] {
  const first = new Map(
    descriptionFaults(file)
      .toReversed()
      .map(({ path, rule }) => [path, rule]),
  );
  return [...first].toReversed().map(([path, rule]) => `${path.slice('actions.'.length)} ${rule}`);
}

function lost({ points, of, missing }: Part): number {
  return of === 0 ? 0 : (points * missing.length) / of;
}

/** Returns the faults that examples show: an account id that is not in the probe's answer, and hosts without an example. */
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
