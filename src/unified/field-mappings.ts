import { sql, type Selectable } from 'kysely';
import { z } from 'zod';
import { eventScope, type EventScope, type SourceScope } from '../connectors/event-scopes.ts';
import type { Context } from './context.ts';
import { SECOND } from '../lib/clock.ts';
import { GatehouseError, invalidRequest } from '../lib/errors.ts';
import { newId } from '../lib/ids.ts';
import { asObject, type Json, type JsonObject } from '../lib/json.ts';
import { perDatabase, runPrepared } from '../store/prepared.ts';
import { readPage, type ListOrder, type PageEnd, type PageRequest } from '../store/list-pages.ts';
import type { Db, DbOrTx, Tables } from '../store/schema.ts';
import { reasonOf } from '../upstream/expression.ts';
import type { Environment } from '../store/environments.ts';

/** An operator's own fields of a unified model: name → JSONata over the app's record. */
export type FieldMapping = ReturnType<typeof toMapping>;

/** The unique columns, as in their index. */
const LEVEL = sql`environment, scope, coalesce(connector_id, ''), coalesce(credential_id, '')`;

/**
 * Sets the fields of a level: the environment, a connector, or a credential. Without fields the level has none.
 * @throws GatehouseError `invalid_request` naming the invalid expression.
 */
export async function saveFieldMapping(
  { db, clock }: Pick<Context, 'db' | 'clock'>,
  environment: Environment,
  input: {
    scope: EventScope;
    connectorId?: string | undefined;
    credentialId?: string | undefined;
    fields: Record<string, string>;
  },
): Promise<FieldMapping> {
  await assertCompiles(input.fields);
  const now = clock.now();
  const fields = JSON.stringify(input.fields);
  const row = await db
    .insertInto('field_mappings')
    .values({
      mapping_id: newId('map'),
      environment,
      connector_id: input.connectorId ?? null,
      credential_id: input.credentialId ?? null,
      scope: input.scope,
      fields,
      created_at: now,
      updated_at: now,
    })
    .onConflict((c) => c.expression(LEVEL).doUpdateSet({ fields, updated_at: now }))
    .returningAll()
    .executeTakeFirstOrThrow();
  return toMapping(row);
}

const ORDER: ListOrder = { columns: { created_at: 'whole', mapping_id: 'id' }, direction: 'asc' };

/** Returns a page of the levels of an environment, oldest first, and where it ends. */
export async function listFieldMappings(
  db: DbOrTx,
  environment: Environment,
  page: PageRequest,
): Promise<PageEnd & { mappings: FieldMapping[] }> {
  const query = db.selectFrom('field_mappings').selectAll().where('environment', '=', environment);
  const { rows, ...end } = await readPage(query, ORDER, page);
  return { mappings: rows.map(toMapping), ...end };
}

/**
 * Deletes a mapping.
 * @throws GatehouseError `field_mapping_not_found`
 */
export async function deleteFieldMapping(
  db: DbOrTx,
  environment: Environment,
  mappingId: string,
): Promise<void> {
  const { numDeletedRows } = await db
    .deleteFrom('field_mappings')
    .where('mapping_id', '=', mappingId)
    .where('environment', '=', environment)
    .executeTakeFirst();
  if (numDeletedRows > 0n) return;
  throw new GatehouseError(
    'field_mapping_not_found',
    `There is no field mapping "${mappingId.slice(0, 64)}".`,
  );
}

/** The operator's fields for a connection's records; undefined where there are none. */
export type CustomFields = ((raw: Json) => Promise<JsonObject>) | undefined;

/**
 * Returns the fields of a connection: the environment's, then the connector's, then the credential's own. A field
 * whose expression fails on a record is null there, so that the record is still delivered.
 */
export async function customFieldsOf(
  { db, expressions }: Pick<Context, 'db' | 'expressions'>,
  of: { environment: Environment; connectorId: string; credentialId: string; scope: SourceScope },
): Promise<CustomFields> {
  const fields = [...(await expressionsOf(db, of))];
  if (fields.length === 0) return undefined;
  const tooSlow = new Set<string>();
  const owner = of.credentialId;
  const valueOf = async (expression: string, raw: JsonObject): Promise<Json> => {
    if (tooSlow.has(expression)) return null;
    const began = performance.now();
    try {
      return (await expressions.evaluate({ owner, expressions: [expression], scope: raw }))[0]?.[0] ?? null;
    } catch (error) {
      if (!isFailedExpression(error)) throw error;
      // The next record would wait as long.
      if (performance.now() - began > SECOND) tooSlow.add(expression);
      return null;
    }
  };
  return async (raw) => {
    const record = asObject(raw);
    const fast = fields.filter(([, expression]) => !tooSlow.has(expression));
    const values = await expressions
      .evaluate({ owner, expressions: fast.map(([, expression]) => expression), scope: record })
      .catch((error: unknown) => {
        if (isFailedExpression(error)) return undefined;
        throw error;
      });
    const custom: JsonObject = Object.fromEntries(fields.map(([name]) => [name, null]));
    for (const [index, [name, expression]] of fast.entries())
      custom[name] = values ? (values[0]?.[index] ?? null) : await valueOf(expression, record);
    return custom;
  };
}

function isFailedExpression(error: unknown): boolean {
  return error instanceof GatehouseError && error.code === 'expression_failed';
}

const mappingsOfScope = perDatabase((db) =>
  db
    .selectFrom('field_mappings')
    .selectAll()
    .where('environment', '=', 'development')
    .where('scope', '=', '')
    .compile(),
);

async function expressionsOf(
  db: Db,
  of: { environment: Environment; connectorId: string; credentialId: string; scope: SourceScope },
): Promise<Map<string, string>> {
  const { rows } = await runPrepared(db, mappingsOfScope(db), [of.environment, of.scope]);
  if (rows.length === 0) return new Map();
  const level = ({ connectorId, credentialId }: FieldMapping) =>
    credentialId !== null ? 2 : connectorId !== null ? 1 : 0;
  const applicable = rows
    .map(toMapping)
    .filter(({ connectorId }) => connectorId === null || connectorId === of.connectorId)
    .filter(({ credentialId }) => credentialId === null || credentialId === of.credentialId)
    .sort((a, b) => level(a) - level(b));
  return new Map(applicable.flatMap(({ fields }) => Object.entries(fields)));
}

async function assertCompiles(fields: Record<string, string>): Promise<void> {
  const { default: jsonata } = await import('jsonata');
  for (const [name, expression] of Object.entries(fields)) {
    try {
      jsonata(expression);
    } catch (error) {
      const rule = `is not a valid JSONata expression: ${reasonOf(error).slice(0, 200)}`;
      throw invalidRequest([{ field: `fields.${name}`, rule }]);
    }
  }
}

const fieldsText = z.record(z.string(), z.string());

function toMapping(row: Selectable<Tables['field_mappings']>) {
  return {
    mappingId: row.mapping_id,
    scope: eventScope.parse(row.scope),
    /** Null: every connector of the environment. */
    connectorId: row.connector_id,
    /** Null: every credential. */
    credentialId: row.credential_id,
    fields: fieldsText.parse(JSON.parse(row.fields)),
    createdAt: row.created_at,
    updatedAt: row.updated_at,
  };
}
