import type { Base } from '../base.ts';
import type { ChangeableCatalog, Connector, MapBounded } from '../connectors/catalog.ts';
import { checkerHash } from '../connectors/checker.ts';
import { GatehouseError } from '../lib/errors.ts';
import { lazyConnector } from '../connectors/compile.ts';
import { createLoop } from '../runtime/loop.ts';
import { ENVIRONMENTS, type Environment } from '../store/environments.ts';
import type { Builds } from './builds.ts';
import type { Columns } from './custom-definition.ts';
import { overlayIn, sourceOf } from './parts.ts';
import { makeFromParts } from './make.ts';
import { findNewest, readNumbers, readRevisions, type Version } from './custom-rows.ts';

type LiveContext = Pick<Base, 'db' | 'log' | 'intervals'> & {
  readonly catalog: ChangeableCatalog;
  readonly mapBounded: MapBounded;
  readonly builds: Builds;
};

/** Keeps the catalogue of this process equal to the stored connectors. */
export interface CustomConnectors {
  /** Reads the stored connectors if they changed. A change that was committed before the call is in the catalogue. */
  refresh(): Promise<void>;
  /** Looks for changes by other processes from now on. */
  start(): void;
  close(): Promise<void>;
}

/** A connector in the form that the catalogue holds, by version. Undefined: its definition is faulty for this release. */
type Loaded = Map<string, { version: number; connector: Connector | undefined }>;

export function createCustomConnectors(context: LiveContext): CustomConnectors {
  const { db, catalog, log } = context;
  const seen = new Map<Environment, number>();
  const loaded: Record<Environment, Loaded> = { development: new Map(), production: new Map() };
  let isFailing = false;

  const load = async () => {
    const revisions = await readRevisions(db);
    for (const environment of ENVIRONMENTS) {
      const revision = revisions.get(environment) ?? 0;
      if ((seen.get(environment) ?? 0) === revision) continue;
      // The revision was read before the connectors, so a change in between is seen by the next look.
      loaded[environment] = await loadAll(context, environment, loaded[environment]);
      const connectors = [...loaded[environment].values()].map(({ connector }) => connector);
      catalog.replace(
        environment,
        connectors.filter((one) => one !== undefined),
      );
      seen.set(environment, revision);
    }
    isFailing = false;
  };

  let last: Promise<void> = Promise.resolve();
  const refresh = () => {
    const next = last.then(load);
    last = next.catch(() => {});
    return next;
  };
  const loop = createLoop({
    turn: refresh,
    onError(error) {
      if (!isFailing) log.warn({ err: error }, 'look for changed connectors failed, will retry');
      isFailing = true;
    },
  });
  return {
    refresh,
    // Clients are notified of a change within a second, by a loop with the whole interval.
    start: () => loop.every(context.intervals.changesMs / 2),
    close: () => loop.close(),
  };
}

/** Returns the connectors of an environment. Connectors of an unchanged version stay the same objects. */
async function loadAll(context: LiveContext, environment: Environment, known: Loaded): Promise<Loaded> {
  const all: Loaded = new Map();
  for (const [connectorId, version] of await readNumbers(context.db, environment)) {
    const found = known.get(connectorId);
    if (found?.version === version) {
      all.set(connectorId, found);
      continue;
    }
    const newest = await findNewest(context.db, { environment, connectorId });
    if (newest)
      all.set(connectorId, {
        version: newest.version,
        connector: await connectorOf(context, environment, newest),
      });
  }
  return all;
}

/** Returns a stored version as a connector; undefined when it breaks a rule of this release. */
async function connectorOf(
  context: LiveContext,
  environment: Environment,
  version: Version,
): Promise<Connector | undefined> {
  const { db, mapBounded } = context;
  const { connectorId, head, definition } = version;
  const hosting = {
    environments: [environment],
    served: false,
    custom: true,
    mapBounded,
    recorded: () => [],
  };
  if (version.checker === checkerHash()) return lazyConnector(head, hosting, () => definition);
  const columns = await checkAgain(context, environment, version);
  if (!columns) return undefined;
  await db
    .updateTable('custom_connector_versions')
    .set({ ...columns, checker: checkerHash() })
    .where('environment', '=', environment)
    .where('connector_id', '=', connectorId)
    .where('version', '=', version.version)
    .execute();
  return lazyConnector(head, hosting, () => columns.definition);
}

/** Checks a version by the code of this release. Undefined, with a line of the log, when it is faulty now. */
async function checkAgain(
  context: LiveContext,
  environment: Environment,
  { connectorId, kind, source, overlay }: Version,
): Promise<Columns | undefined> {
  const parts = { kind, source: sourceOf(source), overlay: overlayIn(overlay), isStored: true };
  try {
    return (await makeFromParts(context, environment, { parts, id: connectorId })).columns;
  } catch (error) {
    if (!(error instanceof GatehouseError) || error.code !== 'invalid_request') throw error;
    context.log.error({ environment, connectorId, fault: error.message }, 'custom connector left out');
    return undefined;
  }
}
