import { z } from 'zod';
import { MAX_CALLS } from '../../actions/batch.ts';
import {
  idsFor,
  movedInside,
  correctedCall,
  correctedParameters,
  type CallForm,
  type Ids,
  type Naming,
} from '../../actions/call-corrections.ts';
import { forgiven } from '../../connectors/schemas/forgive.ts';
import type { JsonSchema } from '../../connectors/format/format.ts';
import { asSchema } from '../../connectors/schemas/model-schema.ts';
import { isJsonObject, type Json, type JsonObject } from '../../lib/json.ts';
import type { Context } from '../context.ts';
import type { Uncorrected } from '../server/route.ts';

/* Corrects calls of actions over REST as those over MCP. The answer lists the corrections. */

/** Corrections of the input, in answers of calls. */
export const corrections = z
  .array(
    z.object({
      path: z
        .string()
        .meta({ description: 'Place in the request, dotted; `path.` begins an id of the path.' }),
      from: z.json().meta({ description: 'The value that was sent; shortened when it is long.' }),
      to: z
        .json()
        .meta({ description: 'The value or the name that was read; `(left out)` for an ignored null.' }),
    }),
  )
  .meta({ description: 'Parts of the request that had one meaning and were corrected; absent without any.' });

const HOLDER = 'input';

/** Returns a function that corrects a call whose ids are in the path. */
export function callCorrection(body: z.ZodObject) {
  const read = reader(body);
  const form = formOf(body);
  return (context: Context, given: Uncorrected) => {
    const naming = namingOf(context, given);
    const ids = idsFor(naming, idsIn(given.params), 'path.');
    const params = { ...given.params, ...ids };
    const call = read(naming, given.body);
    if (!isJsonObject(call)) return { params, body: call };
    const named = withSameId(naming, call, ids);
    const action = context.catalog.action(given.environment, ids.connectorId, ids.actionId);
    if (!action) return { params, body: named };
    const moved = movedInside(naming, named, { action, form, at: '' });
    return { params, body: withInput(naming, moved, { ids, at: '' }) };
  };
}

/** Returns a function that corrects the calls of a batch. */
export function batchCorrection(body: z.ZodObject, call: z.ZodObject) {
  const read = reader(body);
  const form = formOf(call);
  return (context: Context, given: Uncorrected) => {
    const naming = namingOf(context, given);
    const shaped = read(naming, given.body);
    // The schema refuses a longer list.
    if (!isJsonObject(shaped) || !Array.isArray(shaped['calls']) || shaped['calls'].length > MAX_CALLS)
      return { params: given.params, body: shaped };
    const calls = shaped['calls'].map((one, index): Json => {
      const at = `calls.${index}.`;
      const named = correctedCall(naming, one, { form, at });
      if (!isJsonObject(named)) return named;
      const { connectorId, actionId } = named;
      if (typeof connectorId !== 'string' || typeof actionId !== 'string') return named;
      const ids = idsFor(naming, { connectorId, actionId }, at);
      return withInput(naming, { ...named, ...ids }, { ids, at });
    });
    return { params: given.params, body: { ...shaped, calls } };
  };
}

function namingOf({ catalog }: Context, { environment, corrections }: Uncorrected): Naming {
  return {
    catalog,
    environment,
    shown: () =>
      catalog
        .connectors(environment)
        .map((connector) => ({ connector, actions: [...connector.actions.values()] })),
    corrections,
    aliases: false,
  };
}

/** Returns a function that corrects a body towards its schema when it breaks it. */
function reader(body: z.ZodObject): (naming: Naming, given: Json) => Json {
  let schema: JsonSchema | undefined;
  return ({ corrections }, given) => {
    if (!isJsonObject(given) || body.safeParse(given).success) return given;
    // Made at the first body that breaks it, because most processes see none.
    schema ??= asSchema(z.toJSONSchema(body, { io: 'input', unrepresentable: 'any' }));
    const read = forgiven(schema, given);
    corrections.push(...read.corrections);
    return read.input;
  };
}

function formOf(call: z.ZodObject): CallForm {
  return { holder: HOLDER, members: new Set(Object.keys(call.shape)) };
}

function idsIn({ connectorId, actionId }: Record<string, unknown>): Ids {
  return { connectorId: String(connectorId), actionId: String(actionId) };
}

/** Corrects `actionId` of a body that names the action of the path. */
function withSameId(naming: Naming, call: JsonObject, ids: Ids): JsonObject {
  const { actionId } = call;
  if (typeof actionId !== 'string' || actionId === ids.actionId) return call;
  const corrections: Naming['corrections'] = [];
  const named = idsFor({ ...naming, corrections }, { ...ids, actionId });
  if (named.connectorId !== ids.connectorId || named.actionId !== ids.actionId) return call;
  naming.corrections.push(...corrections);
  return { ...call, actionId: ids.actionId };
}

function withInput(naming: Naming, call: JsonObject, { ids, at }: { ids: Ids; at: string }): JsonObject {
  const { [HOLDER]: input = {} } = call;
  const action = naming.catalog.action(naming.environment, ids.connectorId, ids.actionId);
  if (!action || !isJsonObject(input)) return call;
  return { ...call, [HOLDER]: correctedParameters(naming, action, { input, path: `${at}${HOLDER}` }) };
}
