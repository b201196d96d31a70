import type { ConnectorRecord } from './api-types.ts';
import { BASE } from './page-facts.ts';
import { useAll } from './queries.ts';
import { useScope } from './signed-in.ts';

export type ConnectorSource = 'shipped' | 'folder' | 'store';

/** Returns where a connector comes from: the package, a folder of the operator, or the store. */
export function useConnectorSource(): (connector: ConnectorRecord) => ConnectorSource {
  const stored = useAll('/api/connectors', { enabled: useScope('connectors:read') });
  const used = new Set(
    (stored.data ?? []).filter((one) => one.hiddenBy === null).map((one) => one.connectorId),
  );
  return ({ connectorId, iconUrl }) => {
    if (used.has(connectorId)) return 'store';
    // The service draws the icons of shipped connectors by their id alone.
    return new URL(iconUrl).search === '' ? 'shipped' : 'folder';
  };
}

/** Returns the address of an icon at the origin of this page. */
export function iconAddress({ connectorId, iconUrl }: ConnectorRecord): string {
  return `${BASE}/connectors/${connectorId}/icon.svg${new URL(iconUrl).search}`;
}
