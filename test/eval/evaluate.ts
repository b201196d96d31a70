import { readFileSync } from 'node:fs';
import { parse } from 'yaml';
import { z } from 'zod';
import type { Client } from '@modelcontextprotocol/sdk/client/index.js';
import type { Catalog } from '../../src/connectors/catalog.ts';

/** A request of a person, and the actions that would fulfil it: `connectorId.actionId`, `*` for any connector. */
export interface Intent {
  say: string;
  right: string[];
}

/** The result of a set of intents. */
export interface Figure {
  intents: number;
  /** Fraction with a right action in the first place, and among the first five. */
  first: number;
  firstFive: number;
  missed: { say: string; right: string[]; found: string[] }[];
}

const FIRST = 5;
const answered = z.object({
  actions: z.array(z.object({ connectorId: z.string(), actionId: z.string() })),
});

/**
 * Returns the intents in odd places, which may be used to tune the search, and those in even places, which may not.
 */
export function readIntents(): { tuned: Intent[]; heldOut: Intent[] } {
  const text = readFileSync(new URL('intents.yaml', import.meta.url), 'utf8');
  const all = Object.entries(z.record(z.string(), z.array(z.string()).min(1)).parse(parse(text))).map(
    ([say, right]) => ({ say, right }),
  );
  return {
    tuned: all.filter((_, at) => at % 2 === 0),
    heldOut: all.filter((_, at) => at % 2 === 1),
  };
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
export async function evaluate(ask: Ask, intents: Intent[]): Promise<Figure> {
  const fared = [];
  for (const intent of intents) {
    const found = await ask(intent.say);
    fared.push({ ...intent, found, place: found.findIndex((name) => isRight(name, intent)) });
  }
  return {
    intents: intents.length,
    first: fared.filter(({ place }) => place === 0).length / intents.length,
    firstFive: fared.filter(({ place }) => place >= 0).length / intents.length,
    missed: fared.filter(({ place }) => place < 0).map(({ say, right, found }) => ({ say, right, found })),
  };
}

/** Returns right actions that no connector has, because the intents must match the catalogue. */
export function unknownActions(catalog: Catalog, intents: Intent[]): string[] {
  const all = catalog.connectors('development').flatMap((connector) => [...connector.actions.values()]);
  return intents
    .flatMap(({ right }) => right)
    .filter((name) => !all.some((action) => isRight(nameOf(action), { say: '', right: [name] })));
}

function isRight(name: string, { right }: Intent): boolean {
  return right.includes(name) || right.includes(`*.${name.split('.')[1]}`);
}

function nameOf({ connectorId, actionId }: { connectorId: string; actionId: string }): string {
  return `${connectorId}.${actionId}`;
}
