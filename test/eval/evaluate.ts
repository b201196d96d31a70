import { readFileSync } from 'node:fs';
import { parse } from 'yaml';
import { z } from 'zod';
import type { Action, Catalog } from '../../src/connectors/catalog.ts';
import { createActionSearch, type SearchActions } from '../../src/mcp/search.ts';

/** What somebody asks for, and the actions that would do it: `connectorId.actionId`, `*` for any connector. */
export interface Intent {
  say: string;
  right: string[];
}

/** How a set of intents fared. */
export interface Figure {
  intents: number;
  /** Share with a right action in the first place, and among the first five. */
  first: number;
  firstFive: number;
  missed: { say: string; right: string[]; found: string[] }[];
}

const FIRST = 5;

/** The intents in odd places, which the search may be tuned by, and those in even places, which it may not. */
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

/** Searches for every intent among all actions of the catalogue. */
export async function evaluate(
  catalog: Catalog,
  intents: Intent[],
  search: SearchActions = createActionSearch({ catalog }),
): Promise<Figure> {
  const all = catalog.connectors('development').flatMap((connector) => [...connector.actions.values()]);
  const fared = await Promise.all(
    intents.map(async (intent) => {
      const found = await search('development', intent.say, all, FIRST);
      return {
        ...intent,
        found: found.map(nameOf),
        place: found.findIndex((action) => isRight(action, intent)),
      };
    }),
  );
  return {
    intents: intents.length,
    first: fared.filter(({ place }) => place === 0).length / intents.length,
    firstFive: fared.filter(({ place }) => place >= 0).length / intents.length,
    missed: fared.filter(({ place }) => place < 0).map(({ say, right, found }) => ({ say, right, found })),
  };
}

/** Right actions that no connector has: the set must keep step with the catalogue. */
export function unknownActions(catalog: Catalog, intents: Intent[]): string[] {
  const all = catalog.connectors('development').flatMap((connector) => [...connector.actions.values()]);
  return intents
    .flatMap(({ right }) => right)
    .filter((name) => !all.some((action) => isRight(action, { say: '', right: [name] })));
}

function isRight(action: Action, { right }: Intent): boolean {
  return right.includes(nameOf(action)) || right.includes(`*.${action.actionId}`);
}

function nameOf({ connectorId, actionId }: Action): string {
  return `${connectorId}.${actionId}`;
}
