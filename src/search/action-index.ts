import type { Action, Connector } from '../connectors/catalog.ts';
import { parametersOf } from '../connectors/parameters.ts';
import { createSearchIndex, type SearchDocument, type SearchIndex } from '../store/search-index.ts';
import { appsOf, namesOf, wordsOfNamed, type App } from './named-apps.ts';
import { conceptTerm, isConcept } from './lexicon.ts';
import type { Phrases } from './phrases.ts';
import { createNameSpelling, createSpelling } from './spelling.ts';
import type { KnownTerms } from './query.ts';
import { parseText, vocabularyOf, type Part } from './vocabulary.ts';

/** Traits that rank an action, apart from the terms of the index. */
export interface Traits {
  /** The words of its name, each with its synonyms. */
  name: readonly (readonly string[])[];
  /** Its kinds of work, as terms. */
  works: ReadonlySet<string>;
  isList: boolean;
}

/** The index of the actions of an environment. */
export interface ActionIndex {
  version: number;
  index: SearchIndex;
  ids: ReadonlyMap<Action, number>;
  actions: readonly Action[];
  /** Every term of the index, with the number of actions that have it. */
  counts: ReadonlyMap<string, number>;
  apps: readonly App[];
  known: KnownTerms;
  phrases: Phrases;
}

/** Returns the actions of connectors in the order of their numbers in the index. */
export function actionsOf(connectors: readonly Connector[]): Action[] {
  return connectors.flatMap((connector) => [...connector.actions.values()]);
}

export function buildIndex(
  connectors: readonly Connector[],
  { version, phrases }: { version: number; phrases: Phrases },
): ActionIndex {
  const actions = actionsOf(connectors);
  const documents = connectors
    .flatMap((connector) => [...connector.actions.values()].map((action) => fieldsOf(connector, action)))
    .map((fields, id) => ({ id, fields }));
  const counts = new Map<string, number>();
  for (const { fields } of documents) {
    for (const term of new Set(fields.flat())) counts.set(term, (counts.get(term) ?? 0) + 1);
  }
  const ids = new Map(actions.map((action, id) => [action, id]));
  const apps = appsOf(connectors, ids);
  const names = namesOf(apps);
  return {
    version,
    index: createSearchIndex(documents),
    ids,
    actions,
    counts,
    apps,
    known: {
      isTerm: (term) => counts.has(term),
      appWords: (words) => wordsOfNamed(words, apps),
      correct: createSpelling(vocabularyOf().lexicons, { names, terms: counts.keys() }),
      correctName: createNameSpelling(names),
    },
    phrases,
  };
}

/** Caches, because computing the fields is most of the build. An action object never changes. */
const knownFields = new WeakMap<Action, SearchDocument['fields']>();
const knownTraits = new WeakMap<Action, Traits>();

/** Returns the searched fields of an action: name and app, synonyms, description, parameters. */
export function fieldsOf(connector: Connector, action: Action): SearchDocument['fields'] {
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
  const fields: SearchDocument['fields'] = [
    unique([...title.stems, ...app.stems]),
    unique([
      ...synonyms.stems,
      ...title.concepts.filter(isThing),
      ...conceptsOf(action, synonyms.parts),
      ...worksOf(action),
    ]),
    unique([...description.stems, ...description.concepts]),
    unique(parameters.stems),
  ];
  knownFields.set(action, fields);
  return fields;
}

/** Returns whether an indexed action has one of these terms in its name, app or synonyms, or for its thing. */
export function isAbout(action: Action, terms: ReadonlySet<string>): boolean {
  const [name = [], synonyms = [], description = []] = knownFields.get(action) ?? [];
  const isAsked = (term: string) => terms.has(term);
  return (
    name.some(isAsked) ||
    synonyms.some(isAsked) ||
    description.some((term) => isConcept(term) && isAsked(term))
  );
}

/** Returns the traits of an action. They are computed when a search first finds the action. */
export function traitsOf(action: Action): Traits {
  const known = knownTraits.get(action);
  if (known) return known;
  const { works } = vocabularyOf();
  const title = parseText(action.actionId);
  const synonyms = parseText(action.definition.synonyms.join('. '));
  const traits: Traits = {
    name: title.parts.filter(({ empty }) => !empty).map(({ words, concepts }) => [...words, ...concepts]),
    works: new Set(
      [...worksOf(action), ...conceptsOf(action, synonyms.parts)].filter((concept) => works.has(concept)),
    ),
    isList: action.list,
  };
  knownTraits.set(action, traits);
  return traits;
}

/** Returns the kinds of work of an action, as terms, from the first word of its id and from its effect. */
function worksOf(action: Action): string[] {
  const [verb = ''] = action.actionId.split('_');
  const { works } = vocabularyOf();
  return [
    ...parseText(verb).concepts.filter((concept) => works.has(concept)),
    ...kindsOf(action).map(conceptTerm),
  ];
}

/** Returns the concepts of synonyms; only the things for an action that reads, because its `open mail` creates nothing. */
function conceptsOf({ effect }: Action, parts: readonly Part[]): string[] {
  const concepts = parts.flatMap((part) => part.concepts);
  return effect === 'read' ? concepts.filter(isThing) : concepts;
}

function isThing(concept: string): boolean {
  return vocabularyOf().things.has(concept);
}

/** Returns the kinds of work of an action by its effect and method, independent of its name. */
function kindsOf({ effects: [effect], list, method }: Action): string[] {
  if (effect === 'read') return list ? ['read', 'list'] : ['read'];
  if (effect === 'destructive') return ['delete'];
  return method === 'PUT' || method === 'PATCH' ? ['update'] : [];
}

function unique(terms: readonly string[]): string[] {
  return [...new Set(terms)];
}
