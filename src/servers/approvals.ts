import type { Connector } from '../connectors/catalog.ts';
import {
  hashOf,
  packedDefinition,
  sharedIn,
  unpackedDefinition,
  type SharedSchemas,
} from '../connectors/definition-hashes.ts';
import type { Base } from '../base.ts';
import { GatehouseError } from '../lib/errors.ts';
import { asJson, asObject, type JsonObject } from '../lib/json.ts';
import { withPauses } from '../lib/pauses.ts';
import { noteChange } from '../store/change-notes.ts';
import type { DbOrTx, Tables } from '../store/schema.ts';
import { ENVIRONMENTS, type Environment } from '../store/environments.ts';

type ApprovalContext = Pick<Base, 'db' | 'clock' | 'catalog'>;

/**
 * Attempts of an approval, because another process may approve definitions of the same connector at the same time.
 */
const MAX_TRIES = 5;

/**
 * The name of a connector's definition: an action, a prompt or a resource; without any of them, the connector's own
 * texts.
 */
export interface DefinitionName {
  connectorId: string;
  actionId?: string | undefined;
  promptId?: string | undefined;
  resourceId?: string | undefined;
}

/** The difference between a definition and the last approved one. */
export type DefinitionChange = DefinitionName & {
  change: 'added' | 'changed' | 'removed';
  /** The hash of the current definition; null when there is none. `approvedHash`: null when there was none. */
  hash: string | null;
  approvedHash: string | null;
  before: JsonObject | null;
  after: JsonObject | null;
};

interface Definition {
  hash: string;
  /** Its text, with hashes for shared schemas; `shared` has these schemas. */
  packed: JsonObject;
  shared: SharedSchemas;
}

/** The member of stored definitions with their shared schemas. No name of a definition has this form. */
const SHARED = 'schemas:';

/**
 * Approves the installed definitions if nothing was approved yet, because a new installation would otherwise begin with a
 * thousand questions. Every later difference is a change, including a new connector.
 */
export async function ensureBaseline(context: ApprovalContext, environment: Environment): Promise<void> {
  const { db, catalog, clock } = context;
  const any = await db
    .selectFrom('approved_definitions')
    .select('connector_id')
    .where('environment', '=', environment)
    .limit(1)
    .executeTakeFirst();
  if (any) return;
  const rows: Row[] = [];
  for await (const connector of withPauses(catalog.connectors(environment))) {
    const { connectorId, fingerprint } = connector;
    const definitions = await definitionsOf(connector);
    rows.push(rowOf(environment, connectorId, { definitions, fingerprint, now: clock.now() }));
  }
  // One transaction, because half a baseline would report the other half as changes.
  await db.transaction().execute(async (tx) => {
    for await (const row of withPauses(rows))
      await tx
        .insertInto('approved_definitions')
        .values(row)
        .onConflict((c) => c.columns(['environment', 'connector_id']).doNothing())
        .execute();
  });
}

/** Logs once after a start which definitions this release changes, so that the operator sees them after an update. */
export async function reportChanges(context: ApprovalContext & Pick<Base, 'log'>): Promise<void> {
  for (const environment of ENVIRONMENTS) {
    const changes = await definitionChanges(context, environment);
    for (const connectorId of new Set(changes.map((one) => one.connectorId))) {
      const own = changes.filter((one) => one.connectorId === connectorId);
      const named = (change: DefinitionChange['change']) =>
        own.filter((one) => one.change === change).map(keyOf);
      context.log.warn(
        {
          environment,
          connectorId,
          added: named('added'),
          changed: named('changed'),
          removed: named('removed'),
        },
        'definitions differ from the approved ones',
      );
    }
  }
}

/** Returns every difference between the installed and the approved definitions, by connector and name. */
export async function definitionChanges(
  context: ApprovalContext,
  environment: Environment,
): Promise<DefinitionChange[]> {
  await ensureBaseline(context, environment);
  const rows = await context.db
    .selectFrom('approved_definitions')
    .select(['connector_id', 'fingerprint'])
    .where('environment', '=', environment)
    .execute();
  const known = new Map(rows.map((row) => [row.connector_id, row.fingerprint]));
  const installed = context.catalog.connectors(environment).map(({ connectorId }) => connectorId);
  const changes: DefinitionChange[] = [];
  for (const connectorId of [...new Set([...installed, ...known.keys()])].sort()) {
    const connector = context.catalog.connector(environment, connectorId);
    if (connector && connector.fingerprint === known.get(connectorId)) continue;
    const row = await findRow(context.db, environment, connectorId);
    const current = connector ? await definitionsOf(connector) : NONE;
    changes.push(...changesOf(connectorId, approvedIn(row), current));
  }
  return changes;
}

/**
 * Returns the number of connectors with definitions that wait for the operator. A connector that was added waits only
 * where a server pins its tools, because a caller with the right to add it did so.
 */
export async function countChangedConnectors(
  { db, catalog }: ApprovalContext,
  environment: Environment,
): Promise<number> {
  const rows = await db
    .selectFrom('approved_definitions')
    .select(['connector_id', 'fingerprint'])
    .where('environment', '=', environment)
    .execute();
  if (rows.length === 0) return 0;
  const approved = new Map(rows.map((row) => [row.connector_id, row.fingerprint]));
  const installed = new Map(
    catalog.connectors(environment).map(({ connectorId, fingerprint }) => [connectorId, fingerprint]),
  );
  const differing = [...new Set([...approved.keys(), ...installed.keys()])].filter(
    (connectorId) => approved.get(connectorId) !== installed.get(connectorId),
  );
  const known = differing.filter((connectorId) => approved.has(connectorId));
  if (known.length === differing.length) return known.length;
  return (await pinsTools(db, environment)) ? differing.length : known.length;
}

async function pinsTools(db: DbOrTx, environment: Environment): Promise<boolean> {
  const pinning = await db
    .selectFrom('servers')
    .select('server_id')
    .where('environment', '=', environment)
    .where('pin_tools', '=', 1)
    .limit(1)
    .executeTakeFirst();
  return pinning !== undefined;
}

/**
 * Approves the current definitions. Each item names the hash that was reviewed, null for a removed definition.
 * @throws GatehouseError `definition_changed` when one has changed since; nothing is then approved.
 */
export async function approveDefinitions(
  context: ApprovalContext,
  environment: Environment,
  wanted: (DefinitionName & { hash: string | null })[],
): Promise<void> {
  const { db, clock, catalog } = context;
  await ensureBaseline(context, environment);
  const byConnector = Map.groupBy(wanted, (one) => one.connectorId);
  for (const [connectorId, own] of byConnector) {
    const connector = catalog.connector(environment, connectorId);
    const current = connector ? await definitionsOf(connector) : NONE;
    for (const one of own) assertCurrent(current, one);
  }
  for (const [connectorId, own] of byConnector) {
    for (let tries = 1; !(await approveIn(context, { environment, connectorId }, own)); tries++) {
      if (tries === MAX_TRIES)
        throw new GatehouseError(
          'unavailable',
          'Another process is approving definitions of this connector. Try again.',
        );
    }
  }
  await noteChange(db, clock.now(), { environment, kind: 'environment', subject: 'approvals' });
}

/** Returns false when another process approved definitions of this connector at the same time. */
async function approveIn(
  { db, clock, catalog }: ApprovalContext,
  { environment, connectorId }: { environment: Environment; connectorId: string },
  wanted: (DefinitionName & { hash: string | null })[],
): Promise<boolean> {
  const connector = catalog.connector(environment, connectorId);
  const current = connector ? await definitionsOf(connector) : NONE;
  const row = await findRow(db, environment, connectorId);
  const approved = approvedIn(row);
  for (const one of wanted) {
    const name = keyOf(one);
    const now = current.get(name);
    if (now) approved.set(name, now);
    else approved.delete(name);
  }
  const whole = connector && changesOf(connectorId, approved, current).length === 0;
  const next = rowOf(environment, connectorId, {
    definitions: approved,
    fingerprint: whole ? connector.fingerprint : '',
    now: clock.now(),
  });
  if (!row) {
    const made = await db
      .insertInto('approved_definitions')
      .values(next)
      .onConflict((c) => c.columns(['environment', 'connector_id']).doNothing())
      .returning('version')
      .executeTakeFirst();
    return made !== undefined;
  }
  const changed = await db
    .updateTable('approved_definitions')
    .set({ ...next, version: row.version + 1 })
    .where('environment', '=', environment)
    .where('connector_id', '=', connectorId)
    .where('version', '=', row.version)
    .returning('version')
    .executeTakeFirst();
  return changed !== undefined;
}

/**
 * Returns the key of a definition: actions by their id, others as `prompt:<id>`, `resource:<id>` and `connector:`.
 */
export function keyOf({ actionId, promptId, resourceId }: DefinitionName): string {
  if (actionId !== undefined) return actionId;
  if (promptId !== undefined) return `prompt:${promptId}`;
  return resourceId === undefined ? 'connector:' : `resource:${resourceId}`;
}

function nameOf(connectorId: string, key: string): DefinitionName {
  const [, kind, id] = /^(prompt|resource|connector):(.*)$/.exec(key) ?? [];
  if (kind === undefined) return { connectorId, actionId: key };
  if (kind === 'connector') return { connectorId };
  return kind === 'prompt' ? { connectorId, promptId: id } : { connectorId, resourceId: id };
}

type Definitions = ReadonlyMap<string, Definition>;

const NONE: Definitions = new Map();

/** Returns the installed definitions of a connector by their keys. */
async function definitionsOf(connector: Connector): Promise<Definitions> {
  const definitions = new Map<string, Definition>();
  const shared: SharedSchemas = new Map();
  const actions = [...connector.actions.values(), ...(connector.raw ? [connector.raw] : [])];
  for await (const action of withPauses(actions)) {
    const packed = packedDefinition(connector.definition, action, shared);
    definitions.set(action.actionId, { hash: action.hash, packed, shared });
  }
  for (const [key, text] of othersOf(connector)) definitions.set(key, { ...text, shared });
  return definitions;
}

/** Returns the texts of a connector that a model sees, other than its actions. */
export function othersOf({
  connectorId,
  name,
  description,
  definition,
}: Connector): Map<string, Pick<Definition, 'hash' | 'packed'>> {
  const { prompts, resources } = definition;
  const texts: [DefinitionName, object][] = [
    [{ connectorId }, { name, description }],
    ...Object.entries(prompts).map(([promptId, one]): [DefinitionName, object] => [
      { connectorId, promptId },
      one,
    ]),
    ...Object.entries(resources).map(([resourceId, one]): [DefinitionName, object] => [
      { connectorId, resourceId },
      one,
    ]),
  ];
  return new Map(
    texts.map(([one, value]) => {
      const packed = asObject(asJson(value));
      return [keyOf(one), { hash: hashOf(packed), packed }];
    }),
  );
}

function assertCurrent(current: Definitions, wanted: DefinitionName & { hash: string | null }): void {
  const now = current.get(keyOf(wanted));
  if ((now?.hash ?? null) === wanted.hash) return;
  throw new GatehouseError(
    'definition_changed',
    `The definition of ${wanted.connectorId}.${keyOf(wanted)} has another hash now. Review the changes again.`,
    { details: { ...wanted, hash: now?.hash ?? null } },
  );
}

function changesOf(connectorId: string, approved: Definitions, current: Definitions): DefinitionChange[] {
  return [...new Set([...approved.keys(), ...current.keys()])].sort().flatMap((key): DefinitionChange[] => {
    const before = approved.get(key);
    const after = current.get(key);
    if (before?.hash === after?.hash) return [];
    const change = !before ? 'added' : after ? 'changed' : 'removed';
    return [
      {
        ...nameOf(connectorId, key),
        change,
        hash: after?.hash ?? null,
        approvedHash: before?.hash ?? null,
        before: before ? unpackedDefinition(before.packed, before.shared) : null,
        after: after ? unpackedDefinition(after.packed, after.shared) : null,
      },
    ];
  });
}

type Row = Tables['approved_definitions'];

function findRow(db: DbOrTx, environment: Environment, connectorId: string) {
  return db
    .selectFrom('approved_definitions')
    .selectAll()
    .where('environment', '=', environment)
    .where('connector_id', '=', connectorId)
    .executeTakeFirst();
}

function rowOf(
  environment: Environment,
  connectorId: string,
  { definitions, fingerprint, now }: { definitions: Definitions; fingerprint: string; now: number },
): Row {
  const entries = [...definitions];
  const schemas = entries.flatMap(([, { packed, shared }]) =>
    sharedIn(packed).map((hash) => [hash, shared.get(hash) ?? {}] as const),
  );
  return {
    environment,
    connector_id: connectorId,
    fingerprint,
    hashes: JSON.stringify(Object.fromEntries(entries.map(([key, { hash }]) => [key, hash]))),
    definitions: JSON.stringify({
      ...Object.fromEntries(entries.map(([key, { packed }]) => [key, packed])),
      [SHARED]: Object.fromEntries(schemas),
    }),
    version: 1,
    updated_at: now,
  };
}

function approvedIn(row: Pick<Row, 'hashes' | 'definitions'> | undefined): Map<string, Definition> {
  const hashes = hashesIn(row?.hashes);
  const stored: unknown = JSON.parse(row?.definitions ?? '{}');
  const definitions = asObject(stored);
  const shared: SharedSchemas = new Map(Object.entries(asObject(definitions[SHARED])));
  return new Map(
    [...hashes].map(([key, hash]) => [key, { hash, packed: asObject(definitions[key]), shared }]),
  );
}

/** Returns the hashes of a connector's approved definitions by name. */
export function hashesIn(text: string | undefined): Map<string, string> {
  const read: unknown = JSON.parse(text ?? '{}');
  return new Map(
    Object.entries(asObject(read)).flatMap(([key, hash]) =>
      typeof hash === 'string' ? [[key, hash] as const] : [],
    ),
  );
}
