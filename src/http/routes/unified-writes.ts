import { z } from 'zod';
import { assertIdempotencyKey } from '../../actions/idempotency.ts';
import type { ErrorCode } from '../../lib/errors.ts';
import { unifiedRecord } from '../../unified/models.ts';
import { createUnified, updateUnified, type Written } from '../../unified/write-record.ts';
import { defineRoute } from '../server/route.ts';
import { jsonObject } from '../server/shapes.ts';
import { connectionId, connectionOf, scopeParams, unifiedScopeOf, UPSTREAM } from './unified.ts';

const given = jsonObject.meta({
  description:
    'Members of the model, as a read returns them. A connector sets some of them; another one is refused, and the ' +
    'answer names those that it sets.',
});
const WRITE_HEADERS = {
  'Idempotency-Key': 'A repeated key with the same body does not write again, for 24 hours.',
};
const WRITE_ERRORS: ErrorCode[] = [...UPSTREAM, 'idempotency_conflict', 'idempotency_in_progress'];

export const createUnifiedRoute = defineRoute({
  method: 'POST',
  path: '/2023-03/one/{category}/{model}',
  operationId: 'createUnified',
  tag: 'Unified models',
  summary: 'Create a record of a connection from its unified form',
  description:
    'The answer is the record as the app stored it. `incomplete` says that the record was written but could not be ' +
    'read.',
  auth: 'api_key',
  scope: 'unified:write',
  user: 'existing',
  headers: WRITE_HEADERS,
  params: z.strictObject(scopeParams),
  query: z.strictObject({ connectionId }),
  body: given,
  success: { status: 201, description: 'The new record.', schema: unifiedRecord },
  errors: WRITE_ERRORS,
  async handler({ context, caller, requestId, params, query, body, userId, signal, header }) {
    const scope = unifiedScopeOf(params);
    const connection = await connectionOf(context, { ...query, environment: caller.environment, userId });
    return answerOf(
      await createUnified(context, {
        ...connection,
        scope,
        caller: caller.label,
        requestId,
        signal,
        given: body,
        idempotencyKey: idempotencyKeyOf(header),
      }),
    );
  },
});

export const updateUnifiedRoute = defineRoute({
  method: 'PATCH',
  path: '/2023-03/one/{category}/{model}/{id}',
  operationId: 'updateUnified',
  tag: 'Unified models',
  summary: 'Change a record of a connection in its unified form',
  description:
    'Members that are not given stay as they are, and null empties one. The answer is the record as the app stored ' +
    'it. `incomplete` says that the record was written but could not be read.',
  auth: 'api_key',
  scope: 'unified:write',
  user: 'existing',
  headers: WRITE_HEADERS,
  params: z.strictObject({ ...scopeParams, id: z.string() }),
  query: z.strictObject({ connectionId }),
  body: given,
  success: { status: 200, description: 'The changed record.', schema: unifiedRecord },
  errors: ['record_not_found', ...WRITE_ERRORS],
  async handler({ context, caller, requestId, params, query, body, userId, signal, header }) {
    const scope = unifiedScopeOf(params);
    const connection = await connectionOf(context, { ...query, environment: caller.environment, userId });
    const write = {
      ...connection,
      scope,
      caller: caller.label,
      requestId,
      signal,
      given: body,
      idempotencyKey: idempotencyKeyOf(header),
    };
    return answerOf(await updateUnified(context, write, params.id));
  },
});

function idempotencyKeyOf(header: (name: string) => string | undefined): string | undefined {
  const key = header('idempotency-key');
  if (key !== undefined) assertIdempotencyKey(key);
  return key;
}

function answerOf({ record, replayed }: Written) {
  return { body: record, ...(replayed ? { headers: { 'Idempotency-Replayed': 'true' } } : {}) };
}
