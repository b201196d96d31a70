import { GatehouseError } from '../lib/errors.ts';
import type { Json } from '../lib/json.ts';
import { meantName } from '../lib/near-members.ts';
import type { Environment } from '../store/environments.ts';
import type { Effect } from './effects.ts';
import type { FileFault } from './file-fault.ts';
import type { ActionDefinition, ConnectorFile, JsonSchema, Paging } from './format/format.ts';
import { RAW_ACTION } from './raw-action.ts';
import { recordedBeside, type RecordedInput } from './recorded.ts';

/** An action, ready to be shown and run. Built once when its connector is loaded. */
export interface Action {
  readonly connectorId: string;
  readonly actionId: string;
  readonly name: string;
  /** Name of its direct tool, where that is free and not too long. */
  readonly toolName: string;
  readonly description: string;
  /** The most severe of `effects`. */
  readonly effect: Effect;
  /** The effects that calls may have, the usual one first; see effectOfCall(). */
  readonly effects: readonly Effect[];
  readonly method: string;
  /** The path template below the base URL. */
  readonly path: string;
  /** Whether it returns pages of records. */
  readonly list: boolean;
  readonly paging: Paging | undefined;
  /** JSON Schema 2020-12 of `input`; a list action's has `limit` and `offset`. */
  readonly inputSchema: JsonSchema;
  /** JSON Schema 2020-12 of the answer: `{data}` or `{data: [...], pagination}`. */
  readonly outputSchema: JsonSchema;
  /** The same two in the form that model APIs accept; see model-schema.ts. */
  readonly modelInput: JsonSchema;
  readonly modelOutput: JsonSchema;
  /** Names in `inputSchema` that `modelInput` has under an alias: `[name, alias]`. */
  readonly aliases: readonly (readonly [string, string])[];
  readonly definition: ActionDefinition;
  /** SHA-256 of its description and target; see definition-hashes.ts. */
  readonly hash: string;
  /** Whether it is the raw call of its connector, whose input is the request; see raw-action.ts. */
  readonly raw: boolean;
}

/** A connector of the catalogue. */
export interface Connector {
  readonly connectorId: string;
  readonly name: string;
  readonly description: string;
  readonly categories: readonly string[];
  readonly definition: ConnectorFile;
  readonly actions: ReadonlyMap<string, Action>;
  /** Internal actions, which only the connector itself uses: in webhooks, unified models, reads and steps. */
  readonly internal: ReadonlyMap<string, Action>;
  /** The raw call; undefined for remote MCP servers. It is not in `actions`, because only its exact name may allow it. */
  readonly raw: Action | undefined;
  readonly environments: readonly Environment[];
  /** Whether this process also serves the third party, at the address of lib/sandbox-names.ts. */
  readonly served: boolean;
  /** Whether the operator added it. Custom connectors change while the process runs. */
  readonly custom: boolean;
  /** Evaluates the expressions of a custom connector within limits; absent where this process evaluates them. */
  readonly mapBounded?: MapBounded | undefined;
  /** Inputs of its recorded calls, in the order of examples.yaml. */
  readonly recorded: () => readonly RecordedInput[];
  /** SHA-256 of its definition: equal for equal files. */
  readonly fingerprint: string;
}

/**
 * Returns the values of an expression for each input, evaluated within limits of time and memory. Owners take turns.
 * @throws GatehouseError `expression_failed`; `unavailable` when too many wait.
 */
export type MapBounded = (task: {
  owner: string;
  expression: string;
  inputs: readonly Json[];
}) => Promise<Json[]>;

/** A connector, and those of its actions that a caller may see. */
export interface ConnectorActions {
  readonly connector: Connector;
  readonly actions: readonly Action[];
}

/**
 * The installed connectors. Reads are synchronous, because the catalogue is in memory. `version` rises with each
 * change.
 */
export interface Catalog {
  readonly version: number;
  /** Faults of the invalid files, which are left out. */
  readonly faults: readonly FileFault[];
  /** Returns the connectors of an environment, ordered by id. */
  connectors(environment: Environment): readonly Connector[];
  connector(environment: Environment, connectorId: string): Connector | undefined;
  action(environment: Environment, connectorId: string, actionId: string): Action | undefined;
}

/** The origin of custom connectors: files of a folder, or the store of an environment. */
type CustomPlace = 'folder' | Environment;

/** A catalogue whose custom connectors are replaced while the process runs. */
export interface ChangeableCatalog extends Catalog {
  /** Returns the place of the connector that would hide a stored connector with this id; undefined if none would. */
  holderOf(connectorId: string): 'shipped' | 'folder' | undefined;
  /**
   * Replaces the custom connectors of a place, for each environment that they name. A connector of the same id hides
   * others: a shipped one hides all, one of the folder hides one of the store. `version` rises if anything changed.
   */
  replace(place: CustomPlace, connectors: readonly Connector[]): void;
}

/** An invalid connector file, with every fault: file, path in it, rule. */
export class ConnectorFileError extends Error {
  override readonly name = 'ConnectorFileError';
  readonly faults: FileFault[];

  constructor(faults: FileFault[]) {
    super(faults.map(faultLine).join('\n'));
    this.faults = faults;
  }
}

/** Returns a fault as a line: file, line in it, path, rule. */
export function faultLine({ file, line, path, rule }: FileFault): string {
  return `${file}:${line === undefined ? '' : `${line}:`} ${path ? `${path}: ` : ''}${rule}`;
}

/** The connector that this process itself serves; never present in production. */
export const SANDBOX_ID = 'sandbox';
const EVERYWHERE: readonly Environment[] = ['development', 'production'];
const DEVELOPMENT: readonly Environment[] = ['development'];

/** The environments of a connector, whether this process serves it, its origin, and its recorded calls. */
export type Hosting = Pick<Connector, 'environments' | 'served' | 'custom' | 'recorded' | 'mapBounded'>;

/** Returns the hosting of a connector whose file has this path. Test connectors exist only in development. */
export function hostingOf({ id }: Pick<ConnectorFile, 'id'>, test: boolean, path = ''): Hosting {
  const served = test || id === SANDBOX_ID;
  const recorded = recordedBeside(path);
  return { environments: served ? DEVELOPMENT : EVERYWHERE, served, custom: false, recorded };
}

/** Returns a catalogue of compiled, shipped connectors. `faults` belong to the files that were left out. */
export function catalogOf(
  shipped: readonly Connector[],
  faults: readonly FileFault[] = [],
): ChangeableCatalog {
  const places: Record<CustomPlace, readonly Connector[]> = { folder: [], development: [], production: [] };
  const merged = (environment: Environment) =>
    mergedOf(environment, [shipped, places.folder, places[environment]]);
  let version = 1;
  const byId = { development: merged('development'), production: merged('production') };
  const lists = { development: [...byId.development.values()], production: [...byId.production.values()] };
  return {
    get version() {
      return version;
    },
    faults,
    connectors: (environment) => lists[environment],
    connector: (environment, connectorId) => byId[environment].get(connectorId),
    action(environment, connectorId, actionId) {
      const connector = byId[environment].get(connectorId);
      return connector && callableAction(connector, actionId);
    },
    holderOf(connectorId) {
      const holds = (all: readonly Connector[]) => all.some((one) => one.connectorId === connectorId);
      if (connectorId === SANDBOX_ID || holds(shipped)) return 'shipped';
      return holds(places.folder) ? 'folder' : undefined;
    },
    replace(place, connectors) {
      places[place] = connectors;
      for (const environment of EVERYWHERE) {
        const next = merged(environment);
        const list = [...next.values()];
        const before = lists[environment];
        if (list.length === before.length && list.every((one, at) => one === before[at])) continue;
        byId[environment] = next;
        lists[environment] = list;
        version++;
      }
    },
  };
}

/** Returns the connectors of an environment by id, in the order of their ids. The first of an id counts. */
function mergedOf(
  environment: Environment,
  places: readonly (readonly Connector[])[],
): Map<string, Connector> {
  const byId = new Map<string, Connector>();
  for (const one of places.flat())
    if (one.environments.includes(environment) && !byId.has(one.connectorId)) byId.set(one.connectorId, one);
  return new Map([...byId].sort(([a], [b]) => (a < b ? -1 : 1)));
}

/**
 * Returns a connector.
 * @throws GatehouseError `connector_not_found`
 */
export function requireConnector(
  { catalog }: { catalog: Catalog },
  environment: Environment,
  connectorId: string,
): Connector {
  const connector = catalog.connector(environment, connectorId);
  if (connector) return connector;
  const ids = catalog.connectors(environment).map((one) => one.connectorId);
  throw connectorNotFound(connectorId, ids);
}

/** Returns the error for an unknown id, which proposes the nearest id that the caller may see. */
export function connectorNotFound(connectorId: string, ids: Iterable<string>): GatehouseError {
  return new GatehouseError(
    'connector_not_found',
    `There is no connector "${connectorId.slice(0, 64)}".${meantName(connectorId, [...ids])}`,
  );
}

/** Returns an action that callers can name: one of the file, or the raw call. */
export function callableAction(
  { actions, raw }: Pick<Connector, 'actions' | 'raw'>,
  actionId: string,
): Action | undefined {
  return actions.get(actionId) ?? (actionId === RAW_ACTION ? raw : undefined);
}

/** Returns an action for a connector's own use: by its probe, models, webhooks and reads, which may be internal. */
export function ownAction(
  { actions, internal }: Pick<Connector, 'actions' | 'internal'>,
  actionId: string,
): Action | undefined {
  return actions.get(actionId) ?? internal.get(actionId);
}

/** Returns the error for an unknown action, which proposes the nearest action that the caller may see. */
export function actionNotFound(
  { name }: Pick<Connector, 'name'>,
  actionId: string,
  actions: Iterable<Pick<Action, 'actionId'>>,
): GatehouseError {
  const ids = [...actions].map((one) => one.actionId);
  return new GatehouseError(
    'action_not_found',
    `${name} has no action "${actionId.slice(0, 64)}".${meantName(actionId, ids)}`,
  );
}
