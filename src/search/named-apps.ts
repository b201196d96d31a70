import type { Action, Connector } from '../connectors/catalog.ts';
import { parseText } from './vocabulary.ts';

/** An app that a query may name. */
export interface App {
  connectorId: string;
  name: string;
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
    connectorId: connector.connectorId,
    name: connector.name,
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

/** Returns the words of the names of apps that no language has with another meaning. */
export function namesOf(apps: readonly App[]): string[] {
  return unique(
    apps.flatMap(({ words }) =>
      words.flatMap(({ terms: [word = '', ...concepts] }) =>
        concepts.length > 0 || COMMON.has(word) ? [] : [word],
      ),
    ),
  );
}

/** An app that a step names. */
export interface NamedApp {
  app: App;
  /** The words of its name that the step has. */
  said: readonly string[];
  /** Their part of the name, by weight. */
  share: number;
}

/** Returns the apps that a step names. */
export function namedApps(words: ReadonlySet<string>, apps: readonly App[]): NamedApp[] {
  const all = apps.map((app): NamedApp => {
    const found = app.words.filter(({ terms }) => terms.some((term) => words.has(term)));
    const sum = (parts: App['words']) => parts.reduce((total, { weight }) => total + weight, 0);
    return { app, said: found.map(({ terms }) => terms[0] ?? ''), share: sum(found) / sum(app.words) };
  });
  const named = all.filter(({ share }) => share >= NAMED);
  return named.filter(
    ({ said }) =>
      !named.some(
        (other) => other.said.length > said.length && said.every((word) => other.said.includes(word)),
      ),
  );
}

/**
 * Returns the names of those apps that a server hides, without those whose words also occur in the name of an app that it shows,
 * such as `Google`.
 */
export function hiddenApps(
  named: readonly NamedApp[],
  { apps, shown }: { apps: readonly App[]; shown: ReadonlySet<string> },
): string[] {
  const others = apps.filter(({ connectorId }) => shown.has(connectorId));
  const isShown = (said: readonly string[]) =>
    others.some(({ words }) => said.every((word) => words.some(({ terms }) => terms.includes(word))));
  return named.filter(({ said }) => !isShown(said)).map(({ app }) => app.name);
}

/** Returns the words and concepts that name an app. */
export function wordsOfNamed(words: ReadonlySet<string>, apps: readonly App[]): Set<string> {
  return new Set(
    namedApps(words, apps).flatMap(({ app }) =>
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
