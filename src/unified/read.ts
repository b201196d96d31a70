import { executeAction, type ExecuteContext } from '../actions/execute.ts';
import type { Connector } from '../connectors/catalog.ts';
import type { EventScope } from '../connectors/events-format.ts';
import type { Credential } from '../credentials/credential.ts';
import { GatehouseError } from '../lib/errors.ts';
import type { JsonObject } from '../lib/json.ts';
import { customFieldsOf } from './field-mappings.ts';
import { remoteIdOf } from './ids.ts';
import { modelOf, toUnified } from './map.ts';

/** Who reads which model of which connection. */
export interface UnifiedRead {
  caller: string;
  requestId: string;
  credential: Credential;
  connector: Connector;
  scope: EventScope;
  signal?: AbortSignal;
}

/**
 * A page of unified records, in the order of the app.
 * @throws GatehouseError `invalid_request` when the connector has no such model, and those of executeAction.
 */
export async function listUnified(
  context: ExecuteContext,
  read: UnifiedRead,
  { limit, offset }: { limit: number; offset: number },
): Promise<{ data: JsonObject[]; hasMore: boolean }> {
  const model = modelOf(read.connector, read.scope);
  const { data, pagination } = await run(context, read, model.list, { ...model.input, limit, offset });
  const fields = await fieldsOf(context, read);
  const records = Array.isArray(data) ? data : [];
  const mapped: JsonObject[] = [];
  for (const record of records) mapped.push((await toUnified(connectionOf(read), record, fields)).body);
  return { data: mapped, hasMore: pagination?.hasMore ?? false };
}

/**
 * One unified record by its id.
 * @throws GatehouseError `record_not_found` (also where the app says that it has none), and those of executeAction.
 */
export async function getUnified(
  context: ExecuteContext,
  read: UnifiedRead,
  id: string,
): Promise<JsonObject> {
  const model = modelOf(read.connector, read.scope);
  const remoteId = remoteIdOf(read.scope, read.credential.credentialId, id);
  if (remoteId === undefined) throw recordNotFound(id);
  const { action, param, input } = model.get;
  try {
    const { data } = await run(context, read, action, {
      ...input,
      [param]: asParameter(read, action, param, remoteId),
    });
    return (await toUnified(connectionOf(read), data, await fieldsOf(context, read))).body;
  } catch (error) {
    const status = error instanceof GatehouseError ? error.details?.['status'] : undefined;
    if (
      error instanceof GatehouseError &&
      error.code === 'upstream_rejected' &&
      (status === 404 || status === 410)
    )
      throw recordNotFound(id);
    throw error;
  }
}

/** Ids are numbers at some apps, and their schemas insist on it. */
function asParameter(
  { connector }: UnifiedRead,
  actionId: string,
  param: string,
  remoteId: string,
): string | number {
  const definition = connector.actions.get(actionId)?.definition;
  const type =
    definition && (definition.path[param] ?? definition.query[param] ?? definition.body[param])?.['type'];
  return type === 'integer' || type === 'number' ? Number(remoteId) : remoteId;
}

function run(context: ExecuteContext, read: UnifiedRead, actionId: string, input: JsonObject) {
  const { credential, connector } = read;
  return executeAction(context, {
    environment: credential.environment,
    caller: read.caller,
    requestId: read.requestId,
    userId: credential.userId,
    connectorId: connector.connectorId,
    actionId,
    input,
    credentialId: credential.credentialId,
    ...(read.signal ? { signal: read.signal } : {}),
  });
}

function fieldsOf({ db }: ExecuteContext, { credential, scope }: UnifiedRead): Promise<Map<string, string>> {
  const { environment, connectorId, credentialId } = credential;
  return customFieldsOf(db, { environment, connectorId, credentialId, scope });
}

function connectionOf({ connector, scope, credential }: UnifiedRead) {
  return { connector, scope, connectionId: credential.credentialId };
}

function recordNotFound(id: string): GatehouseError {
  return new GatehouseError('record_not_found', `This connection has no record "${id.slice(0, 100)}".`);
}
