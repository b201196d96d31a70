import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { parse } from 'yaml';
import { z } from 'zod';
import type { Client } from '@modelcontextprotocol/sdk/client/index.js';
import type { Catalog } from '../../src/connectors/catalog.ts';

/**
 * A request of a person, and for each of its steps the actions that would fulfil it: `connectorId.actionId`, `*` for
 * any connector.
 */
export interface Intent {
  say: string;
  steps: string[][];
}

/** A request. Only those of `tuning` and `development` are looked at while the search is tuned. */
export interface Request extends Intent {
  language: string;
  kind: string;
  set: (typeof SETS)[number];
}

/** Sets of requests, in the order of the table. */
export const SETS = ['tuning', 'development', 'held out', 'independent', 'unseen'] as const;

/** An intent, what the search found, and how it fared. */
export interface Outcome<T extends Intent = Intent> {
  intent: T;
  found: string[];
  /** The first hit fulfils a step. */
  first: boolean;
  /** Each step has a hit among the first five. */
  firstFive: boolean;
}

/** The result of a set of intents, as fractions. */
export interface Figure {
  intents: number;
  first: number;
  firstFive: number;
}

const FIRST = 5;
const answered = z.object({
  actions: z.array(z.object({ connectorId: z.string(), actionId: z.string() })),
});
const right = z.array(z.string()).min(1);

/**
 * Returns the intents in odd places, which may be used to tune the search, and those in even places, which may not.
 */
export function readIntents(): { tuned: Intent[]; heldOut: Intent[] } {
  const all = Object.entries(z.record(z.string(), right).parse(parse(readData('intents.yaml')))).map(
    ([say, actions]) => ({ say, steps: [actions] }),
  );
  return {
    tuned: all.filter((_, at) => at % 2 === 0),
    heldOut: all.filter((_, at) => at % 2 === 1),
  };
}

/**
 * Returns the requests in five languages. The hash of its sentence decides the set of a request of requests.yaml. The other
 * files have other authors than the vocabulary of the search, and each is a set.
 */
export function readRequests(): Request[] {
  return [
    ...readSet('requests.yaml', setOf),
    ...(['development', 'independent', 'unseen'] as const).flatMap((set) =>
      readSet(`${set}.yaml`, () => set),
    ),
  ];
}

function readSet(name: string, setFor: (say: string) => Request['set']): Request[] {
  const file = z
    .record(z.string(), z.record(z.string(), z.record(z.string(), z.union([right, z.array(right).min(2)]))))
    .parse(parse(readData(name)));
  return Object.entries(file).flatMap(([language, kinds]) =>
    Object.entries(kinds).flatMap(([kind, requests]) =>
      Object.entries(requests).map(([say, actions]) => ({
        say,
        steps: stepsOf(actions),
        language,
        kind,
        set: setFor(say),
      })),
    ),
  );
}

function readData(name: string): string {
  return readFileSync(new URL(name, import.meta.url), 'utf8');
}

function stepsOf(actions: (string | string[])[]): string[][] {
  const steps = actions.filter((one) => Array.isArray(one));
  return steps.length > 0 ? steps : [actions.filter((one) => typeof one === 'string')];
}

function setOf(say: string): Request['set'] {
  const [byte = 0] = createHash('sha256').update(say).digest();
  return byte % 2 === 0 ? 'tuning' : 'held out';
}

/** Returns the first five results of a search: `connectorId.actionId`, best first. Rejects when the search fails. */
export type Ask = (say: string) => Promise<string[]>;

/** Calls the tool search_actions_svc of a server, as a model does. */
export function askTool(client: Client): Ask {
  return async (query) => {
    const answer = await client.callTool({ name: 'search_actions_svc', arguments: { query, limit: FIRST } });
    if (answer.isError) throw new Error(`${query}: ${JSON.stringify(answer.content)}`);
    return answered.parse(answer.structuredContent).actions.map(nameOf);
  };
}

/** Searches for every intent. */
export async function evaluate<T extends Intent>(ask: Ask, intents: readonly T[]): Promise<Outcome<T>[]> {
  const outcomes = [];
  for (const intent of intents) {
    const found = await ask(intent.say);
    const { steps } = intent;
    outcomes.push({
      intent,
      found,
      first: steps.some((step) => found.slice(0, 1).some((name) => isRight(name, step))),
      firstFive: steps.every((step) => found.some((name) => isRight(name, step))),
    });
  }
  return outcomes;
}

export function figureOf(outcomes: readonly Outcome[]): Figure {
  return {
    intents: outcomes.length,
    first: outcomes.filter(({ first }) => first).length / outcomes.length,
    firstFive: outcomes.filter(({ firstFive }) => firstFive).length / outcomes.length,
  };
}

/** Returns right actions that no connector has, because the intents must match the catalogue. */
export function unknownActions(catalog: Catalog, intents: readonly Intent[]): string[] {
  const all = catalog.connectors('development').flatMap((connector) => [...connector.actions.values()]);
  return intents
    .flatMap(({ steps }) => steps.flat())
    .filter((name) => !all.some((action) => isRight(nameOf(action), [name])));
}

function isRight(name: string, actions: readonly string[]): boolean {
  return actions.includes(name) || actions.includes(`*.${name.split('.')[1]}`);
}

function nameOf({ connectorId, actionId }: { connectorId: string; actionId: string }): string {
  return `${connectorId}.${actionId}`;
}
