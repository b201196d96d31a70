import { checkerHash } from '../connectors/checker.ts';
import { thrownMessage } from '../lib/errors.ts';
import { ENVIRONMENTS, type Environment } from '../store/environments.ts';
import type { Db } from '../store/schema.ts';
import { readDefinition } from './custom-definition.ts';
import { overlayIn, sourceOf } from './parts.ts';
import { findNewest, readNumbers } from './custom-rows.ts';

/** A stored connector that this release leaves out. */
export interface FaultyConnector {
  environment: Environment;
  connectorId: string;
  version: number;
  /** Its faults, each with the field and the rule. */
  faults: string[];
  /** Whether only an overlay can correct them: it has them, or an import or a remote server made the rest. */
  needsOverlay: boolean;
}

/** Returns the number of stored connectors, and those that break a rule of this release. */
export async function inspectStored(db: Db): Promise<{ count: number; faulty: FaultyConnector[] }> {
  const faulty: FaultyConnector[] = [];
  let count = 0;
  for (const environment of ENVIRONMENTS) {
    for (const [connectorId, version] of await readNumbers(db, environment)) {
      count++;
      const found = await faultsOf(db, environment, connectorId);
      if (found.faults.length > 0) faulty.push({ environment, connectorId, version, ...found });
    }
  }
  return { count, faulty };
}

async function faultsOf(
  db: Db,
  environment: Environment,
  connectorId: string,
): Promise<Pick<FaultyConnector, 'faults' | 'needsOverlay'>> {
  try {
    const version = await findNewest(db, { environment, connectorId });
    // The code of this release checked it when it was stored, or at a start.
    if (!version || version.checker === checkerHash()) return { faults: [], needsOverlay: false };
    const { kind, source, overlay } = version;
    const parts = { kind, source: sourceOf(source), overlay: overlayIn(overlay), isStored: true };
    const { faults } = readDefinition(parts, connectorId, connectorId);
    return {
      faults: faults.map(
        ({ path, rule, line }) =>
          `${path || '(whole)'}: ${rule}${line === undefined ? '' : ` (line ${line})`}`,
      ),
      needsOverlay: kind !== 'definition' || faults.every(({ isOfOverlay }) => isOfOverlay === true),
    };
  } catch (error) {
    return { faults: [`(whole): cannot be read: ${thrownMessage(error)}`], needsOverlay: false };
  }
}
