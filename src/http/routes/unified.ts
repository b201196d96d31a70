import { z } from 'zod';
import {
  isSourceScope,
  isUnifiedScope,
  type EventScope,
  type SourceScope,
} from '../../connectors/event-scopes.ts';
import type { Connector } from '../../connectors/catalog.ts';
import type { Base } from '../../base.ts';
import type { Credential } from '../../credentials/credential.ts';
import { connectorOf, requireConnection } from '../../credentials/credential-records.ts';
import type { Environment } from '../../store/environments.ts';
import { GatehouseError } from '../../lib/errors.ts';
import { appRecord, unifiedRecord } from '../../unified/models.ts';
import { getUnified, listUnified } from '../../unified/read.ts';
import { defineRoute } from '../server/route.ts';
import { pageOf, pageQuery, toPage } from '../server/shapes.ts';

export const connectionId = z.string().meta({ description: 'Id of a credential.' });
const anyRecord = z.union([...unifiedRecord.options, appRecord]);
export const scopeParams = { category: z.string(), model: z.string() };
export const UPSTREAM = [
  'credential_not_found',
  'credential_invalid',
  'upstream_rejected',
  'upstream_rate_limited',
  'upstream_failed',
  'upstream_too_large',
  'upstream_timeout',
] as const;

export const listUnifiedRoute = defineRoute({
  method: 'GET',
  path: '/2023-03/one/{category}/{model}',
  operationId: 'listUnified',
  tag: 'Unified models',
  summary: 'List records of a connection in their unified form',
  description:
    'Records of shops (`commerce`), of sales (`crm`), of bookkeeping (`accounting`) and of support (`ticketing`), in one form for every app. ' +
    'A connector id and the name of its event source give the own records of that app: `slack/message.posted`.',
  auth: 'api_key',
  scope: 'unified:read',
  user: 'existing',
  params: z.strictObject(scopeParams),
  query: z.strictObject({ connectionId, ...pageQuery }),
  success: {
    status: 200,
    description: 'A page of records, in the order of the app.',
    schema: pageOf(anyRecord).extend({
      leftOut: z
        .array(z.object({ remoteId: z.string().nullable(), reason: z.string() }))
        .optional()
        .meta({ description: 'Records of the page that do not fit the model; absent when all fit.' }),
    }),
  },
  errors: [...UPSTREAM],
  async handler({ context, caller, requestId, params, query, userId, signal }) {
    const scope = scopeOf(params);
    const connection = await connectionOf(context, { ...query, environment: caller.environment, userId });
    const read = { ...connection, scope, caller: caller.label, requestId, signal };
    const { data, leftOut, hasMore } = await listUnified(context, read, query);
    // The next page begins after all records that the app returned.
    const { pagination } = toPage([...data, ...leftOut], hasMore, query.offset);
    return { body: { data, pagination, ...(leftOut.length > 0 ? { leftOut } : {}) } };
  },
});

export const getUnifiedRoute = defineRoute({
  method: 'GET',
  path: '/2023-03/one/{category}/{model}/{id}',
  operationId: 'getUnified',
  tag: 'Unified models',
  summary: 'Read a record of a connection in its unified form',
  description:
    'Where a connector can only list the records of an event source, the first 1,000 of its list are searched.',
  auth: 'api_key',
  scope: 'unified:read',
  user: 'existing',
  params: z.strictObject({ ...scopeParams, id: z.string() }),
  query: z.strictObject({ connectionId }),
  success: { status: 200, description: 'The record.', schema: anyRecord },
  errors: ['record_not_found', ...UPSTREAM],
  async handler({ context, caller, requestId, params, query, userId, signal }) {
    const scope = scopeOf(params);
    const connection = await connectionOf(context, { ...query, environment: caller.environment, userId });
    const read = { ...connection, scope, caller: caller.label, requestId, signal };
    return { body: await getUnified(context, read, params.id) };
  },
});

/** Returns the scope of a path. The connector decides whether it has that scope. @throws GatehouseError `not_found` */
function scopeOf({ category, model }: { category: string; model: string }): SourceScope {
  const scope = `${category}/${model}`;
  if (isSourceScope(scope)) return scope;
  throw new GatehouseError(
    'not_found',
    `"${scope.slice(0, 100)}" is no scope. Scopes are unified models such as commerce/orders, and <connectorId>/<event source>.`,
  );
}

/** Returns the unified model of a path. @throws GatehouseError `not_found` */
export function unifiedScopeOf(params: { category: string; model: string }): EventScope {
  const scope = scopeOf(params);
  if (isUnifiedScope(scope)) return scope;
  throw new GatehouseError(
    'not_found',
    `There is no unified model "${scope}". Records without a model are written by actions of their connector.`,
  );
}

/**
 * Returns the connection of a request with its connector. With `userId`, it must belong to that user. @throws
 * `credential_not_found`
 */
export async function connectionOf(
  context: Pick<Base, 'db' | 'catalog'>,
  asked: { environment: Environment; connectionId: string; userId?: string | undefined },
): Promise<{ credential: Credential; connector: Connector }> {
  const { environment, connectionId, userId } = asked;
  const credential = await requireConnection(context.db, { environment, credentialId: connectionId, userId });
  return { credential, connector: connectorOf(context, credential) };
}
