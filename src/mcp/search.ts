import type { Action } from '../connectors/catalog.ts';
import { parametersOf } from '../connectors/schemas.ts';
import type { Context } from '../context.ts';
import { createSearchIndex, type SearchIndex } from '../store/search.ts';
import type { Environment } from '../store/schema.ts';

/** The best actions for a query among those allowed, best first. */
export type SearchActions = (
  environment: Environment,
  query: string,
  allowed: readonly Action[],
  limit: number,
) => Action[];

/** Searches the catalogue. The index is built at the first search and again when the catalogue has changed. */
export function createActionSearch({ catalog }: Pick<Context, 'catalog'>): SearchActions {
  const built = new Map<
    Environment,
    { version: number; index: SearchIndex; ids: Map<Action, number>; actions: Action[] }
  >();

  const indexOf = (environment: Environment) => {
    const known = built.get(environment);
    if (known?.version === catalog.version) return known;
    known?.index.close();
    const actions = catalog.connectors(environment).flatMap((connector) => [...connector.actions.values()]);
    const documents = actions.map((action, id) => ({
      id,
      title: `${action.name} ${action.actionId} ${action.connectorId}`,
      synonyms: [...action.definition.synonyms, EFFECT_WORDS[action.method] ?? ''].join(' '),
      description: `${action.description} ${catalog.connector(environment, action.connectorId)?.name ?? ''}`,
      details: parametersOf(action.definition)
        .map(({ name, parameter }) => `${name} ${parameter.description ?? ''}`)
        .join(' '),
    }));
    const fresh = {
      version: catalog.version,
      index: createSearchIndex(documents),
      ids: new Map(actions.map((action, id) => [action, id])),
      actions,
    };
    built.set(environment, fresh);
    return fresh;
  };

  return (environment, query, allowed, limit) => {
    const { index, ids, actions } = indexOf(environment);
    const among = allowed.map((action) => ids.get(action)).filter((id) => id !== undefined);
    return index
      .search(query, among, limit)
      .map((id) => actions[id])
      .filter((action) => action !== undefined);
  };
}

/** Words that people use for what a method does. */
const EFFECT_WORDS: Record<string, string> = {
  GET: 'read show find look up fetch',
  POST: 'create add make new send',
  PUT: 'update change set edit',
  PATCH: 'update change set edit',
  DELETE: 'delete remove cancel',
};
