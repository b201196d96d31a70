import type { JsonObject } from '../lib/json.ts';
import type { Context } from './context.ts';
import { valueOf } from './custom-definition.ts';
import { overlayIn, sourceOf } from './parts.ts';
import { fittingOverlay } from '../connectors/overlay.ts';
import { makeFromParts } from './make.ts';
import { changeConnector, requireStored, requireVersion } from './custom-records.ts';
import type { ConnectorKey } from './custom-rows.ts';

/** The overlay of a custom connector. */
export interface StoredOverlay {
  connectorId: string;
  version: number;
  /** Null: there is none. */
  overlay: JsonObject | null;
  /** Actions that the overlay changes and the connector does not have. */
  unused: readonly string[];
}

export async function readOverlay({ db }: Pick<Context, 'db'>, key: ConnectorKey): Promise<StoredOverlay> {
  const { version } = await requireStored(db, key);
  const newest = await requireVersion(db, { ...key, version });
  const overlay = overlayIn(newest.overlay) ?? null;
  const unused = overlay ? fittingOverlay(overlay, valueOf(sourceOf(newest.source))).unused : [];
  return { connectorId: key.connectorId, version, overlay, unused };
}

/**
 * Replaces the overlay of a custom connector, which makes a version. `undefined` removes it.
 * @throws GatehouseError `invalid_request` with the faults of the connector with this overlay, `connector_not_found`
 */
export async function saveOverlay(
  context: Context,
  key: ConnectorKey,
  { overlay, caller }: { overlay: JsonObject | undefined; caller: string },
): Promise<StoredOverlay> {
  let unused: readonly string[] = [];
  const { connectorId, version } = await changeConnector(context, key, {
    caller,
    remote: 'stays',
    async make(before) {
      if (!before) return undefined;
      const parts = { kind: before.kind, source: sourceOf(before.source), overlay };
      const made = await makeFromParts(context, key.environment, { parts, id: key.connectorId });
      unused = made.unused;
      return { ...made, include: before.include };
    },
  });
  return { connectorId, version, overlay: overlay ?? null, unused };
}
