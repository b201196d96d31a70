import type { Action, Connector } from '../../connectors/catalog.ts';
import { parseText } from './vocabulary.ts';

/** An app that a query may name. */
export interface App {
  /** Each word of its name, with its concepts. A rarer word weighs more. */
  words: readonly { terms: readonly string[]; weight: number }[];
  ids: readonly number[];
}

/** Least part of an app's name, by weight, that a query must have to name the app. */
const NAMED = 0.5;
/** Words that name no app on their own. */
const COMMON = new Set(['server', 'onlin', 'app', 'cloud']);
/** Weight of a word of an app's name that is also the name of a thing, or common. */
const COMMON_WEIGHT = 0.3;

export function appsOf(connectors: readonly Connector[], ids: ReadonlyMap<Action, number>): App[] {
  const names = connectors.map(({ name }) =>
    parseText(name.toLowerCase()).parts.filter(({ empty }) => !empty),
  );
  const inNames = new Map<string, number>();
  for (const word of names.flatMap((parts) => unique(parts.flatMap(({ words }) => words))))
    inNames.set(word, (inNames.get(word) ?? 0) + 1);
  return connectors.map((connector, at) => ({
    words: (names[at] ?? []).flatMap(({ words, concepts }) =>
      words.map((word) => ({
        terms: [word, ...(words.length === 1 ? concepts : [])],
        weight:
          Math.log(1 + connectors.length / (inNames.get(word) ?? 1)) *
          (concepts.length > 0 || COMMON.has(word) ? COMMON_WEIGHT : 1),
      })),
    ),
    ids: [...connector.actions.values()].map((action) => ids.get(action) ?? -1),
  }));
}

/** Returns the apps that a step names, with the part of the name that it says. */
export function namedApps(words: ReadonlySet<string>, apps: readonly App[]): Map<App, number> {
  const said = apps.map((app) => {
    const found = app.words.filter(({ terms }) => terms.some((term) => words.has(term)));
    const sum = (all: App['words']) => all.reduce((total, { weight }) => total + weight, 0);
    return { app, found: found.map(({ terms }) => terms[0] ?? ''), share: sum(found) / sum(app.words) };
  });
  const named = said.filter(({ share }) => share >= NAMED);
  const longest = named.filter(
    ({ found }) =>
      !named.some(
        (other) => other.found.length > found.length && found.every((word) => other.found.includes(word)),
      ),
  );
  return new Map(longest.map(({ app, share }) => [app, share]));
}

/** Returns the words and concepts that name an app. */
export function wordsOfNamed(words: ReadonlySet<string>, apps: readonly App[]): Set<string> {
  return new Set(
    [...namedApps(words, apps).keys()].flatMap((app) =>
      app.words
        .map(({ terms }) => terms)
        .filter((terms) => terms.some((term) => words.has(term)))
        .flat(),
    ),
  );
}

function unique(words: readonly string[]): string[] {
  return [...new Set(words)];
}
