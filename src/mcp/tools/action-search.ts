import type { Action, Connector } from '../../connectors/catalog.ts';
import { parametersOf } from '../../connectors/parameters.ts';
import type { Base } from '../../base.ts';
import { withPauses } from '../../lib/pauses.ts';
import { isNearly } from '../../lib/words.ts';
import {
  createSearchIndex,
  type SearchDocument,
  type SearchIndex,
  type SearchTerm,
} from '../../store/search-index.ts';
import type { Environment } from '../../store/environments.ts';
import { conceptTerm, parseText } from './vocabulary.ts';

/** Returns the best actions for a query among the allowed ones, best first. */
export type SearchActions = (
  environment: Environment,
  search: { query: string; allowed: readonly Action[]; limit: number },
) => Promise<Action[]>;

interface Built {
  version: number;
  index: SearchIndex;
  ids: ReadonlyMap<Action, number>;
  actions: readonly Action[];
  /** Every term of the index, with the number of actions that have it. */
  counts: ReadonlyMap<string, number>;
  /** The words of each app's name, and its actions. */
  apps: readonly { words: readonly string[]; ids: readonly number[] }[];
}

/** Limits for one query: words that are looked up, and unknown words that are corrected. */
const MAX_WORDS = 50;
const MAX_CORRECTED = 8;
/** Weight of a synonym, relative to the word itself. */
const CONCEPT_WEIGHT = 0.8;
/** Weight of a single word of a phrase, relative to the phrase. */
const PART_WEIGHT = 0.5;
/** Weight of reading for a query without a verb. */
const READ_WEIGHT = 0.5;
/** Largest bonus for the actions of an app that the query names. */
const APP_FACTOR = 1;

/** Creates the search of the catalogue. The first search builds the index, and a changed catalogue rebuilds it. */
export function createActionSearch({ catalog }: Pick<Base, 'catalog'>): SearchActions {
  const indexes = new Map<Environment, Built>();

  const builtFor = async (environment: Environment): Promise<Built> => {
    if (indexes.get(environment)?.version !== catalog.version)
      for (const connector of catalog.connectors(environment))
        for await (const action of withPauses(connector.actions.values())) fieldsOf(connector, action);
    const known = indexes.get(environment);
    if (known?.version === catalog.version) return known;
    known?.index.close();
    const fresh = build(catalog.connectors(environment), catalog.version);
    indexes.set(environment, fresh);
    return fresh;
  };

  return async (environment, { query, allowed, limit }) => {
    const built = await builtFor(environment);
    const { terms, stems } = termsOf(query, built);
    if (terms.length === 0) return [];
    const found = built.index.search({
      terms,
      among: allowed.map((action) => built.ids.get(action)).filter((id) => id !== undefined),
      favoured: namedApps(stems, built),
      limit,
    });
    return found.map((id) => built.actions[id]).filter((action) => action !== undefined);
  };
}

function build(connectors: readonly Connector[], version: number): Built {
  const actions = connectors.flatMap((connector) => [...connector.actions.values()]);
  const documents = connectors
    .flatMap((connector) => [...connector.actions.values()].map((action) => fieldsOf(connector, action)))
    .map((fields, id) => ({ id, fields }));
  const counts = new Map<string, number>();
  for (const { fields } of documents) {
    for (const term of new Set(fields.flat())) counts.set(term, (counts.get(term) ?? 0) + 1);
  }
  const ids = new Map(actions.map((action, id) => [action, id]));
  const apps = connectors.map((connector) => ({
    words: unique(parseText(connector.name).stems),
    ids: [...connector.actions.values()].map((action) => ids.get(action) ?? -1),
  }));
  return { version, index: createSearchIndex(documents), ids, actions, counts, apps };
}

/** Computing these is most of the build. They stay valid for the life of the connector. */
const knownFields = new WeakMap<Action, SearchDocument['fields']>();

/** Returns the searched fields of an action: name and app, synonyms, description, parameters. */
function fieldsOf(connector: Connector, action: Action): SearchDocument['fields'] {
  const known = knownFields.get(action);
  if (known) return known;
  const title = parseText(`${action.name}. ${action.actionId}`);
  const app = parseText(`${connector.name}. ${connector.connectorId}`);
  const synonyms = parseText(action.definition.synonyms.join('. '));
  const description = parseText(action.description);
  const parameters = parseText(
    parametersOf(action.definition)
      .map(({ name }) => name)
      .join('. '),
  );
  const kinds = kindsOf(action).map(conceptTerm);
  const fields: SearchDocument['fields'] = [
    unique([...title.stems, ...app.stems]),
    unique([...synonyms.stems, ...title.concepts, ...synonyms.concepts, ...kinds]),
    unique([...description.stems, ...description.concepts]),
    unique(parameters.stems),
  ];
  knownFields.set(action, fields);
  return fields;
}

/** Returns the kinds of work of an action by its effect and method, independent of its name. */
function kindsOf({ effects: [effect], list, method }: Action): string[] {
  if (effect === 'read') return list ? ['read', 'list'] : ['read'];
  if (effect === 'destructive') return ['delete'];
  return method === 'PUT' || method === 'PATCH' ? ['update'] : [];
}

/**
 * Returns the terms of a query that the index has; rare terms weigh more. Also returns all stems, with spelling
 * corrected.
 */
function termsOf(query: string, { counts, actions }: Built): { terms: SearchTerm[]; stems: string[] } {
  const terms: SearchTerm[] = [];
  const stems: string[] = [];
  let group = 0;
  const add = (term: string, weight: number) => {
    const count = counts.get(term);
    if (count !== undefined)
      terms.push({ term, group, weight: weight * Math.log(1 + actions.length / count) });
  };
  let corrected = 0;
  const knownAs = (word: string): string[] => {
    if (counts.has(word)) return [word];
    corrected += 1;
    return corrected > MAX_CORRECTED ? [] : nearest(word, counts);
  };
  const { parts, hasWork } = parseText(query);
  for (const { words, concepts, empty } of parts.slice(0, MAX_WORDS)) {
    for (const word of words) {
      const known = concepts.length > 0 ? [word] : knownAs(word);
      stems.push(...known);
      if (empty) continue;
      for (const one of known) add(one, words.length > 1 ? PART_WEIGHT : 1);
      if (words.length > 1) group += 1;
    }
    for (const concept of concepts) add(concept, words.length > 1 ? 1 : CONCEPT_WEIGHT);
    group += 1;
  }
  if (!hasWork && terms.length > 0) add(conceptTerm('read'), READ_WEIGHT);
  return { terms, stems };
}

/** Returns the actions of the apps that the query names, with their factors. A part of an app's name is enough. */
function namedApps(stems: readonly string[], { apps }: Built): Map<number, number> {
  const shares = apps.map(({ words }) => words.filter((word) => stems.includes(word)).length / words.length);
  const best = Math.max(...shares, 0);
  if (best === 0) return new Map();
  const named = apps.filter((_, at) => shares[at] === best);
  return new Map(named.flatMap(({ ids }) => ids.map((id) => [id, 1 + APP_FACTOR])));
}

function nearest(stem: string, counts: ReadonlyMap<string, number>): string[] {
  if (stem.length < 4) return [];
  return [...counts.keys()]
    .filter(
      (term) => !term.includes('_') && (term.startsWith(stem) || (term.length > 3 && isNearly(stem, term))),
    )
    .slice(0, 5);
}

function unique(terms: readonly string[]): string[] {
  return [...new Set(terms)];
}
