import { expect, test } from 'vitest';
import type { Connector } from '../../src/connectors/catalog.ts';
import { loadCatalog } from '../../src/connectors/load-catalog.ts';
import { parametersOf } from '../../src/connectors/parameters.ts';
import { CATALOG_FOLDER } from '../../src/package.ts';

const catalog = await loadCatalog({ folder: CATALOG_FOLDER, sandbox: false });

/** Ids that the caller makes up, and ids that only the app's own screens show. */
const FROM_ELSEWHERE = new Set([
  'google-drive.create_shared_drive requestId',
  'square.record_payment source_id',
]);

/** Returns required ids whose description names neither an action of the connector nor a list. */
function idsFromNowhere({ connectorId, actions }: Connector): string[] {
  const names = [...actions.keys()];
  return [...actions.values()].flatMap((action) =>
    parametersOf(action.definition)
      .filter(
        ({ name, place, parameter }) => /(Id|_id|ID)$/.test(name) && (place === 'path' || parameter.required),
      )
      .filter(({ parameter: { description = '' } }) => {
        const words = new Set(description.split(/[^a-z_]+/));
        return !names.some((name) => words.has(name)) && !/from the list of its kind/.test(description);
      })
      .map(({ name }) => `${connectorId}.${action.actionId} ${name}`),
  );
}

test.each(catalog.connectors('production').map((connector) => [connector.connectorId, connector] as const))(
  '%s: each required id says which action yields it',
  (_, connector) => {
    expect(idsFromNowhere(connector).filter((id) => !FROM_ELSEWHERE.has(id))).toEqual([]);
  },
);
