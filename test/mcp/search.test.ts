import { beforeAll, describe, expect, test } from 'vitest';
import type { Action, Catalog } from '../../src/connectors/catalog.ts';
import { loadCatalog } from '../../src/connectors/load-catalog.ts';
import { CATALOG_FOLDER } from '../../src/package.ts';
import { createActionSearch, type SearchActions } from '../../src/mcp/tools/action-search.ts';

let catalog: Catalog;
let all: Action[];
let search: SearchActions;
beforeAll(async () => {
  catalog = await loadCatalog({ folder: CATALOG_FOLDER, sandbox: true });
  all = catalog.connectors('development').flatMap((connector) => [...connector.actions.values()]);
  search = createActionSearch({ catalog });
});

const found = async (query: string, allowed = all, limit = 5) =>
  (await search('development', { query, allowed, limit })).map(
    ({ connectorId, actionId }) => `${connectorId}.${actionId}`,
  );

describe('a query', () => {
  test.each([
    ['github.create_pull_request', 'github.create_pull_request'],
    ['createPullRequest github', 'github.create_pull_request'],
    ['hubspot_search_contacts', 'hubspot.search_contacts'],
    ['GITHUB: merging pull-requests', 'github.merge_pull_request'],
    ['slack mesage', 'slack.send_message'],
    ['gitlab pipelnie', 'gitlab.list_pipelines'],
    ['Zoom-Sitzung: meeting löschen delete', 'zoom.delete_meeting'],
  ])('%j finds %s', async (query, action) => {
    expect(await found(query)).toContain(action);
  });

  test.each(['', ' ', '?!', '"', 'the of and', 'f0 : x', 'xqzzy', '\0', '🦉'])(
    '%j has no search terms, and finds nothing',
    async (query) => {
      expect(await found(query)).toEqual([]);
    },
  );

  test.each(['() OR NEAR(', 'customer*', '"customer" AND', 'c_customer', 'f0: customer'])(
    '%j is read as words, without operators',
    async (query) => {
      expect((await found(query)).length).toBeGreaterThan(0);
    },
  );

  test('with 500 words is answered', async () => {
    const words = Array.from({ length: 500 }, (_, at) => `order${at} orders`).join(' ');
    expect(await found(words)).toHaveLength(5);
  });

  test('finds only allowed actions, even when another fits better', async () => {
    const few = all.filter(({ connectorId }) => connectorId === 'gmail');
    expect((await found('send a message in slack', few)).every((name) => name.startsWith('gmail.'))).toBe(
      true,
    );
    expect(await found('send a message in slack', [])).toEqual([]);
  });
});
