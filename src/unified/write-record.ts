import { isDeepStrictEqual } from 'node:util';
import { executeAction, type ExecuteResult } from '../actions/execute.ts';
import type { EventScope } from '../connectors/event-scopes.ts';
import type { UnifiedModel } from '../connectors/format/events-format.ts';
import { inputOfExpressions } from '../connectors/expression-input.ts';
import type { UnifiedCreate, UnifiedUpdate } from '../connectors/format/write-format.ts';
import { GatehouseError, invalidRequest, publicError, type Fault } from '../lib/errors.ts';
import { isJsonObject, valueAt, type Json, type JsonObject } from '../lib/json.ts';
import { mapInput, type Author } from '../upstream/expression.ts';
import { typedId } from './inputs.ts';
import { modelOf } from './map.ts';
import { UNIFIED_MODELS } from './models.ts';
import {
  getUnified,
  notAnId,
  recordNotFound,
  saysNotFound,
  type ReadContext,
  type UnifiedRead,
} from './read.ts';
import { remoteIdOf, unifiedId } from './unified-ids.ts';
import { givenFaults } from './writable.ts';

/** A write of a caller. `idempotencyKey` is the caller's: a repetition gets the answer of the first write. */
export interface UnifiedWrite extends UnifiedRead<EventScope> {
  given: JsonObject;
  idempotencyKey?: string | undefined;
}

/** The record after a write. `replayed`: an earlier request with the same key wrote it. */
export interface Written {
  record: JsonObject;
  replayed: boolean;
}

/**
 * Creates a record from its unified form and returns it as the app stored it.
 * @throws GatehouseError `invalid_request` when the connector cannot create such records, or for a member that it
 * does not set; those of executeAction.
 */
export async function createUnified(context: ReadContext, write: UnifiedWrite): Promise<Written> {
  const model = modelOf(write.connector, write.scope);
  const create = model.create ?? cannot(write, 'create', model);
  const result = await run(context, write, { part: create, input: {} });
  const remoteId = valueAt(result.data, create.id ?? model.remoteId);
  if (typeof remoteId !== 'string' && typeof remoteId !== 'number')
    throw new GatehouseError(
      'upstream_failed',
      `${write.connector.name} created the record, but its answer has no id. Look for the record before you create it again.`,
      { details: { connectorId: write.connector.connectorId } },
    );
  return readBack(context, write, { remoteId: String(remoteId), result });
}

/**
 * Changes the given members of a record and returns the record as the app stored it.
 * @throws GatehouseError `record_not_found`, and those of createUnified.
 */
export async function updateUnified(context: ReadContext, write: UnifiedWrite, id: string): Promise<Written> {
  const model = modelOf(write.connector, write.scope);
  const update = model.update ?? cannot(write, 'update', model);
  const remoteId = remoteIdOf(write.scope, write.credential.credentialId, id);
  if (remoteId === undefined) throw notAnId(id);
  const input = { [update.param]: typedId(write.connector, update, remoteId) };
  try {
    const result = await run(context, write, { part: update, input });
    return await readBack(context, write, { remoteId, result });
  } catch (error) {
    throw saysNotFound(error) ? recordNotFound(id) : error;
  }
}

async function run(
  context: ReadContext,
  write: UnifiedWrite,
  { part, input }: { part: UnifiedCreate | UnifiedUpdate; input: JsonObject },
): Promise<ExecuteResult> {
  const { credential, connector, scope, given } = write;
  const faults = givenFaults(scope, part, { given, connector: connector.name });
  if (faults.length > 0) throw invalidRequest(faults);
  const mapped = await writtenInput(part, given, connector);
  const kept = await notEmptied(part, { given, mapped, author: connector });
  if (kept.length > 0) throw invalidRequest(kept);
  const { inputSchema } = connector.actions.get(part.action) ?? connector.internal.get(part.action) ?? {};
  const fitting = inputSchema ? inputOfExpressions(inputSchema, mapped, { keepsNull: true }) : mapped;
  return executeAction(context, {
    environment: credential.environment,
    caller: write.caller,
    requestId: write.requestId,
    userId: credential.userId,
    connectorId: connector.connectorId,
    allowsInternal: true,
    actionId: part.action,
    input: { ...fitting, ...input },
    credentialId: credential.credentialId,
    idempotencyKey: write.idempotencyKey,
    ...(write.signal ? { signal: write.signal } : {}),
  });
}

/** Returns the faults of members that shall be emptied, and that the connector's expression does not empty. */
async function notEmptied(
  part: { map: string },
  { given, mapped, author }: { given: JsonObject; mapped: JsonObject; author: Author },
): Promise<Fault[]> {
  const faults: Fault[] = [];
  for (const [field, value] of Object.entries(given)) {
    if (value !== null && !(Array.isArray(value) && value.length === 0)) continue;
    const { [field]: _emptied, ...rest } = given;
    if (isDeepStrictEqual(await writtenInput(part, rest, author), mapped))
      faults.push({ field, rule: 'cannot be emptied here' });
  }
  return faults;
}

/**
 * Returns the action's input for the given members.
 * @throws GatehouseError `invalid_request` when the connector's expression fails for them.
 */
export async function writtenInput(
  { map }: { map: string },
  given: JsonObject,
  author: Author,
): Promise<JsonObject> {
  const input = await mapInput(map, given, author);
  return isJsonObject(input) ? input : {};
}

/**
 * Returns the record as the app stored it. The write is done at this point: when the record cannot be read, the
 * result says so instead of an error, because a client would repeat the write after an error.
 */
async function readBack(
  context: ReadContext,
  write: UnifiedWrite,
  { remoteId, result }: { remoteId: string; result: ExecuteResult },
): Promise<Written> {
  const replayed = result.replayed ?? false;
  const id = unifiedId(write.scope, write.credential.credentialId, remoteId);
  try {
    return { record: await getUnified(context, write, id), replayed };
  } catch (error) {
    const incomplete = `The record was written but could not be read: ${publicError(error).message}`;
    return { record: { ...unread(write, { id, remoteId, raw: result.data }), incomplete }, replayed };
  }
}

function unread({ scope }: UnifiedWrite, known: { id: string; remoteId: string; raw: Json }): JsonObject {
  const { raw, ...ids } = known;
  return { ...ids, ...UNIFIED_MODELS[scope].parse({}), createdAt: null, updatedAt: null, raw };
}

function cannot({ connector, scope }: UnifiedWrite, verb: 'create' | 'update', model: UnifiedModel): never {
  const other = verb === 'create' ? model.update && 'update' : model.create && 'create';
  throw new GatehouseError(
    'invalid_request',
    `Gatehouse cannot ${verb} ${scope} of ${connector.name} in the unified form` +
      `${other ? `, only ${other} them` : ''}. Run an action of the connector instead.`,
    { details: { faults: [{ field: 'scope', rule: `has no ${verb} for ${connector.connectorId}` }] } },
  );
}
