import { executeAction, type ExecuteContext } from '../actions/execute.ts';
import type { Connector } from '../connectors/catalog.ts';
import type { SourceScope } from '../connectors/event-scopes.ts';
import { sourceModelOf, type SourceModel } from '../connectors/source-model.ts';
import type { Context } from './context.ts';
import type { Credential } from '../credentials/credential.ts';
import { openCredential } from '../credentials/sealed-values.ts';
import { GatehouseError, invalidRequest } from '../lib/errors.ts';
import type { Json, JsonObject } from '../lib/json.ts';
import { customFieldsOf, type CustomFields } from './field-mappings.ts';
import { remoteIdOf } from './unified-ids.ts';
import { listInputs, recordInput, withMember, type ListCall } from './inputs.ts';
import { remoteIdIn, saysGone, toDelivered, mappingError } from './map.ts';

const MAX_LIMIT = 50;
/** Records of a list that are read to find one record, where the connector reads no single one. */
const MAX_SEARCHED = 1000;

export type ReadContext = ExecuteContext & Pick<Context, 'expressions'>;

/** The caller, the connection and the scope of a read. */
export interface UnifiedRead<Scope extends SourceScope = SourceScope> {
  caller: string;
  requestId: string;
  credential: Credential;
  connector: Connector;
  scope: Scope;
  signal?: AbortSignal;
}

/** A record of the app that does not fit its model, or has no id. */
export interface LeftOut {
  /** Null where it has none. */
  remoteId: string | null;
  reason: string;
}

/**
 * Returns a page of the records of a scope, in the order of the app: in their unified form, or as an event source of
 * the app's own has them. A record that does not fit is left out, so that the others are still returned.
 * @throws GatehouseError `invalid_request` when the connector has no such list, and those of executeAction.
 */
export async function listUnified(
  context: ReadContext,
  read: UnifiedRead,
  { limit, offset }: { limit: number; offset: number },
): Promise<{ data: JsonObject[]; leftOut: LeftOut[]; hasMore: boolean }> {
  const model = sourceModelOf(read.connector, read.scope);
  const inputs = await inputsOf(context, read, model);
  const { records, hasMore } = await readAcross(context, read, { inputs, limit, offset });
  const fields = await customOf(context, read);
  const data: JsonObject[] = [];
  const leftOut: LeftOut[] = [];
  for (const record of records) {
    const one = await toDelivered(connectionOf(read), record, fields).catch(mappingError);
    if (one instanceof GatehouseError)
      leftOut.push({ remoteId: remoteIdIn(record, model) ?? null, reason: one.message });
    else data.push(one.body);
  }
  return { data, leftOut, hasMore };
}

/**
 * Returns the inputs of the lists of a scope.
 * @throws GatehouseError `invalid_request` when the app reports its records by webhooks only.
 */
function inputsOf(context: ReadContext, read: UnifiedRead, model: SourceModel): Promise<JsonObject[]> {
  const { connector, credential, scope } = read;
  if (model.list === undefined)
    throw invalidRequest([
      {
        field: 'scope',
        rule: `${scope} has no list: ${connector.name} reports its records by webhooks only`,
      },
    ]);
  return listInputs(connector, model, {
    credential: openCredential(context, connector, credential),
    readAll: (call) => readAll(context, read, call),
  });
}

/** Returns a window of lists that are read one after the other. Lists before the window are counted. */
async function readAcross(
  context: ReadContext,
  read: UnifiedRead,
  { inputs, limit, offset }: { inputs: JsonObject[]; limit: number; offset: number },
): Promise<{ records: Json[]; hasMore: boolean }> {
  const model = sourceModelOf(read.connector, read.scope);
  const { list = '' } = model;
  const records: Json[] = [];
  let skip = offset;
  for (const [index, input] of inputs.entries()) {
    const isLast = index === inputs.length - 1;
    const window = { limit: limit - records.length, offset: skip };
    const page = await readWindow(context, read, { actionId: list, input: { ...input, ...window } });
    records.push(...withMember(model, input, page.records));
    if (records.length >= limit || page.hasMore) return { records, hasMore: page.hasMore || !isLast };
    if (page.records.length > 0) skip = 0;
    else if (!isLast && skip > 0) skip -= (await readAll(context, read, { actionId: list, input })).length;
  }
  return { records, hasMore: false };
}

async function readAll(
  context: ReadContext,
  read: UnifiedRead,
  { actionId, input }: ListCall,
): Promise<Json[]> {
  const all: Json[] = [];
  for (;;) {
    const window = { limit: MAX_LIMIT, offset: all.length };
    const run = { actionId, input: { ...input, ...window } };
    const { records, hasMore } = await readWindow(context, read, run);
    all.push(...records);
    if (!hasMore || records.length === 0) return all;
  }
}

async function readWindow(
  context: ReadContext,
  read: UnifiedRead,
  action: ListCall,
): Promise<{ records: Json[]; hasMore: boolean }> {
  const { data, pagination } = await run(context, read, action);
  return { records: Array.isArray(data) ? data : [], hasMore: pagination?.hasMore ?? false };
}

/**
 * Returns one record of a scope by its id.
 * @throws GatehouseError `record_not_found` (also where the app says that it has none), and those of executeAction.
 */
export async function getUnified(context: ReadContext, read: UnifiedRead, id: string): Promise<JsonObject> {
  const model = sourceModelOf(read.connector, read.scope);
  const remoteId = remoteIdOf(read.scope, read.credential.credentialId, id);
  if (remoteId === undefined) throw notAnId(id);
  try {
    const raw = await (model.get ? readOne : findInList)(context, read, { remoteId, id });
    return (await toDelivered(connectionOf(read), raw, await customOf(context, read))).body;
  } catch (error) {
    throw saysNotFound(error) ? recordNotFound(id) : error;
  }
}

interface WantedRecord {
  remoteId: string;
  /** Its id in Gatehouse, for messages. */
  id: string;
}

async function readOne(
  context: ReadContext,
  read: UnifiedRead,
  { remoteId, id }: WantedRecord,
): Promise<Json> {
  const model = sourceModelOf(read.connector, read.scope);
  if (!model.get) throw recordNotFound(id);
  const open = openCredential(context, read.connector, read.credential);
  const input = recordInput(read.connector, model.get, { credential: open, remoteId });
  const { data } = await run(context, read, { actionId: model.get.action, input });
  // Apps that look a record up by a filter return nothing.
  if (data === null || saysGone(data, model)) throw recordNotFound(id);
  return data;
}

/** Returns a record of an event source that the connector can only list. */
async function findInList(
  context: ReadContext,
  read: UnifiedRead,
  { remoteId, id }: WantedRecord,
): Promise<Json> {
  const model = sourceModelOf(read.connector, read.scope);
  const inputs = await inputsOf(context, read, model);
  for (let offset = 0; offset < MAX_SEARCHED;) {
    const { records, hasMore } = await readAcross(context, read, { inputs, limit: MAX_LIMIT, offset });
    const found = records.find((record) => remoteIdIn(record, model) === remoteId);
    if (found !== undefined) return found;
    if (!hasMore || records.length === 0) throw recordNotFound(id);
    offset += records.length;
  }
  throw new GatehouseError(
    'record_not_found',
    `The first ${MAX_SEARCHED} records of ${read.scope} do not have "${id.slice(0, 100)}", and ${read.connector.name} reads no single one.`,
  );
}

function run(context: ReadContext, read: UnifiedRead, { actionId, input }: ListCall) {
  const { credential, connector } = read;
  return executeAction(context, {
    environment: credential.environment,
    caller: read.caller,
    requestId: read.requestId,
    userId: credential.userId,
    connectorId: connector.connectorId,
    allowsInternal: true,
    actionId,
    input,
    credentialId: credential.credentialId,
    ...(read.signal ? { signal: read.signal } : {}),
  });
}

function customOf(context: ReadContext, { credential, scope }: UnifiedRead): Promise<CustomFields> {
  const { environment, connectorId, credentialId } = credential;
  return customFieldsOf(context, { environment, connectorId, credentialId, scope });
}

function connectionOf({ connector, scope, credential }: UnifiedRead) {
  return { connector, scope, connectionId: credential.credentialId };
}

/** Returns whether an app answered that it does not have a record. */
export function saysNotFound(error: unknown): boolean {
  if (!(error instanceof GatehouseError) || error.code !== 'upstream_rejected') return false;
  const status = error.details?.['status'];
  return status === 404 || status === 410;
}

/** Returns the error of an id that no record can have. */
export function notAnId(id: string): GatehouseError {
  return new GatehouseError(
    'record_not_found',
    `This connection has no record "${id.slice(0, 100)}". Give the id of a record of its list, not the remoteId.`,
  );
}

export function recordNotFound(id: string): GatehouseError {
  return new GatehouseError('record_not_found', `This connection has no record "${id.slice(0, 100)}".`);
}
