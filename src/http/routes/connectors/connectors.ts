import { withLink } from '../../../connect/offer.ts';
import { z } from 'zod';
import { executeAction } from '../../../actions/execute.ts';
import { assertIdempotencyKey } from '../../../actions/idempotency.ts';
import {
  actionNotFound,
  callableAction,
  connectorNotFound,
  requireConnector,
  type Action,
  type Connector,
} from '../../../connectors/catalog.ts';
import { answerSchema } from '../../../connectors/schemas/answered-numbers.ts';
import { namespaceOf } from '../../../connectors/schemas/type-text.ts';
import { drawIcon, iconOf, iconPath } from '../../../connectors/icon.ts';
import type { Context } from '../../context.ts';
import { authenticationMetadata } from '../../../credentials/metadata.ts';
import { holdsScope } from '../../../identity/caller.ts';
import { invalidRequest } from '../../../lib/errors.ts';
import { withPauses } from '../../../lib/pauses.ts';
import { defineRoute } from '../../server/route.ts';
import { recordViews, recordViewsOf } from '../event-views.ts';
import { callCorrection } from '../corrected-calls.ts';
import { EXECUTION_ERRORS, executed, fields } from '../executed.ts';
import { jsonObject, pageOf, pageQuery, toPage } from '../../server/shapes.ts';

/** Number of actions in the answer for one connector. */
const ACTIONS_SHOWN = 50;

const connectorParams = z.strictObject({ connectorId: z.string() });
const actionParams = z.strictObject({ connectorId: z.string(), actionId: z.string() });

/** Properties of the routes that read the catalogue. */
const catalogue = { auth: 'api_key', scope: 'connectors:read', apiVersion: true } as const;

const effect = z.enum(['read', 'write', 'destructive']);
const jsonSchema = z.record(z.string(), z.unknown()).meta({ description: 'JSON Schema 2020-12' });
const connector = z
  .object({
    connectorId: z.string(),
    name: z.string(),
    description: z.string(),
    categories: z.array(z.string()),
    iconUrl: z.url(),
    website: z.url(),
    authentication: z.array(z.string()).meta({ description: 'Types of credentials that it accepts.' }),
    actionCount: z.int(),
    scopes: z.array(z.string()).meta({ description: 'OAuth scopes; empty where there is no OAuth.' }),
  })
  .meta({ id: 'Connector', description: 'A supported app.' });
const actionLine = z
  .object({
    actionId: z.string(),
    name: z.string(),
    description: z.string(),
    effect,
    list: z.boolean(),
    raw: z.boolean().optional(),
  })
  .meta({ id: 'ActionSummary', description: 'Summary of an action.' });
const action = actionLine
  .extend({
    connectorId: z.string(),
    inputSchema: jsonSchema,
    outputSchema: jsonSchema,
    pagination: z.object({ style: z.string() }).nullable(),
    effectWhen: z
      .array(z.object({ parameter: z.string(), in: z.array(z.json()).optional(), effect }))
      .optional()
      .meta({
        description: 'Parameter values that change the effect. `effect` is the most severe one.',
      }),
    authentication: z
      .array(z.string())
      .optional()
      .meta({ description: 'Credential types that can run it; absent when all can.' }),
    scopes: z
      .array(z.array(z.string()))
      .optional()
      .meta({ description: 'OAuth scopes that it needs: one scope of each entry.' }),
    hash: z.string().meta({ description: 'SHA-256 of the definition, as in `_meta` of tools/list.' }),
  })
  .meta({ id: 'Action', description: 'An action of a connector.' });

export const listConnectorsRoute = defineRoute({
  ...catalogue,
  method: 'GET',
  path: '/connectors',
  operationId: 'listConnectors',
  tag: 'Connectors',
  summary: 'List the supported apps',
  query: z.strictObject({
    ...pageQuery,
    category: z.string().max(32).optional().meta({ description: 'Only connectors of this category.' }),
    search: z
      .string()
      .max(100)
      .optional()
      .meta({ description: 'Words to find in the id, name or description.' }),
  }),
  success: { status: 200, description: 'A page of connectors, by id.', schema: pageOf(connector) },
  async handler({ context, caller, query: { limit, offset, category, search } }) {
    const words = (search ?? '').toLowerCase().split(/\s+/).filter(Boolean);
    const found = context.catalog
      .connectors(caller.environment)
      .filter((one) => category === undefined || one.categories.includes(category.toLowerCase()))
      .filter((one) => {
        const text = `${one.connectorId} ${one.name} ${one.description}`.toLowerCase();
        return words.every((word) => text.includes(word));
      });
    const page = found.slice(offset, offset + limit);
    const body = toPage(
      page.map((one) => connectorView(context, one)),
      found.length > offset + limit,
      offset,
    );
    return { body };
  },
});

export const getConnectorRoute = defineRoute({
  ...catalogue,
  method: 'GET',
  path: '/connectors/{connectorId}',
  operationId: 'getConnector',
  tag: 'Connectors',
  summary: 'Read a connector',
  description: `Includes its first ${ACTIONS_SHOWN} actions, its unified models and the scopes of its events.`,
  params: connectorParams,
  success: {
    status: 200,
    description: 'The connector.',
    schema: connector.extend({ actions: z.array(actionLine), ...recordViews }).meta({
      id: 'ConnectorDetails',
      description: 'A supported app with its first actions, its unified models and the scopes of its events.',
    }),
  },
  errors: ['connector_not_found'],
  async handler({ context, caller, params: { connectorId } }) {
    const found = requireConnector(context, caller.environment, connectorId);
    const actions = [...found.actions.values()].slice(0, ACTIONS_SHOWN).map(lineView);
    return { body: { ...connectorView(context, found), actions, ...recordViewsOf(found) } };
  },
});

export const getConnectorTypesRoute = defineRoute({
  ...catalogue,
  method: 'GET',
  path: '/connectors/{connectorId}/types',
  operationId: 'getConnectorTypes',
  tag: 'Connectors',
  summary: 'TypeScript declarations of a connector',
  description: 'A namespace with a function for each action: its parameters, and what it answers.',
  params: connectorParams,
  success: {
    status: 200,
    description: 'The declarations.',
    schema: z.string(),
    contentType: 'text/typescript',
  },
  errors: ['connector_not_found'],
  async handler({ context, caller, params: { connectorId } }) {
    const { actions } = requireConnector(context, caller.environment, connectorId);
    // Computed one by one first, because the schemas of a whole public API take a second.
    for await (const { modelInput, modelOutput } of withPauses(actions.values()))
      void [modelInput, modelOutput];
    return {
      body: namespaceOf(connectorId, [...actions.values()]),
      headers: { 'Content-Type': 'text/typescript; charset=utf-8' },
    };
  },
});

export const getConnectorIconRoute = defineRoute({
  method: 'GET',
  path: '/connectors/{connectorId}/icon.svg',
  operationId: 'getConnectorIcon',
  tag: 'Connectors',
  summary: 'The icon of a connector',
  auth: 'none',
  params: connectorParams,
  query: z.strictObject({
    letter: z
      .string()
      .regex(/^[\p{L}\p{N}?]{1,3}$/u, 'must be a letter or digit')
      .optional()
      .meta({ description: 'Character that the icon of a custom connector shows.' }),
    color: z
      .string()
      .regex(/^[0-9a-fA-F]{6}$/, 'must be rrggbb')
      .optional()
      .meta({ description: 'Colour of the icon of a custom connector, rrggbb.' }),
  }),
  success: { status: 200, description: 'An SVG tile.', schema: z.string(), contentType: 'image/svg+xml' },
  errors: ['connector_not_found'],
  async handler({ context, params: { connectorId }, query: { letter, color } }) {
    // A request without a caller has no environment. Development shows every shipped connector.
    const found = context.catalog.connector('development', connectorId);
    const headers = {
      'Content-Type': 'image/svg+xml; charset=utf-8',
      'Cache-Control': 'public, max-age=86400',
      'Cross-Origin-Resource-Policy': 'cross-origin',
    };
    if (found && !found.custom) return { body: drawIcon(iconOf(found)), headers };
    if (letter === undefined || color === undefined) throw connectorNotFound(connectorId, []);
    return { body: drawIcon({ title: letter, letter, color: `#${color}` }), headers };
  },
});

export const getCredentialMetadataRoute = defineRoute({
  ...catalogue,
  method: 'GET',
  path: '/connectors/{connectorId}/credentials/metadata',
  operationId: 'getCredentialMetadata',
  tag: 'Connectors',
  summary: 'Read the credential forms of a connector',
  params: connectorParams,
  success: {
    status: 200,
    description: 'Each way to authenticate, with the schema of `data` and a filled-in example.',
    schema: z.object({
      connectorId: z.string(),
      authentication: z.array(
        z.object({
          type: z.string(),
          title: z.string(),
          inputSchema: jsonSchema,
          sampleInput: z.record(z.string(), z.string()),
          docsUrl: z.url().nullable(),
        }),
      ),
    }),
  },
  errors: ['connector_not_found'],
  async handler({ context, caller, params: { connectorId } }) {
    const found = requireConnector(context, caller.environment, connectorId);
    return { body: { connectorId: found.connectorId, authentication: authenticationMetadata(found) } };
  },
});

export const listActionsRoute = defineRoute({
  ...catalogue,
  method: 'GET',
  path: '/connectors/{connectorId}/actions',
  operationId: 'listActions',
  tag: 'Actions',
  summary: 'List the actions of a connector',
  params: connectorParams,
  query: z.strictObject(pageQuery),
  success: {
    status: 200,
    description:
      'A page of actions, in the order of the connector. The raw call is the last one, where the key may run actions.',
    schema: pageOf(action),
  },
  errors: ['connector_not_found'],
  async handler({ context, caller, params: { connectorId }, query: { limit, offset } }) {
    const { actions, raw } = requireConnector(context, caller.environment, connectorId);
    const all = [...actions.values(), ...(raw && holdsScope(caller, 'actions:execute') ? [raw] : [])];
    const page = all.slice(offset, offset + limit).map(actionView);
    return { body: toPage(page, all.length > offset + limit, offset) };
  },
});

export const getActionRoute = defineRoute({
  ...catalogue,
  method: 'GET',
  path: '/connectors/{connectorId}/actions/{actionId}',
  operationId: 'getAction',
  tag: 'Actions',
  summary: 'Read an action with its schemas',
  params: actionParams,
  success: { status: 200, description: 'The action.', schema: action },
  errors: ['connector_not_found', 'action_not_found'],
  async handler({ context, caller, params: { connectorId, actionId } }) {
    const found = requireConnector(context, caller.environment, connectorId);
    const one = callableAction(found, actionId);
    if (one) return { body: actionView(one) };
    throw actionNotFound(found, actionId, found.actions.values());
  },
});

const executeBody = z.strictObject({
  credentialId: z
    .string()
    .min(1)
    .optional()
    .meta({ description: "Default: the user's only active credential." }),
  actionId: z.string().optional().meta({ description: 'Must equal the id in the path.' }),
  input: jsonObject
    .default({})
    .meta({ description: "Checked against the action's inputSchema before anything is sent." }),
  fields: fields.optional(),
});

export const executeActionRoute = defineRoute({
  method: 'POST',
  path: '/connectors/{connectorId}/actions/{actionId}/execute',
  operationId: 'executeAction',
  tag: 'Actions',
  summary: 'Run an action on behalf of a user',
  description:
    'A list action takes `limit` (1 to 50) and `offset` in `input`. It answers with `data` and `pagination`, ' +
    'whatever paging the app uses. Repeat with `nextOffset` until `hasMore` is false. Names and values that break the ' +
    'schema and have one meaning are corrected; `corrections` lists them.',
  auth: 'api_key',
  scope: 'actions:execute',
  apiVersion: true,
  user: 'required',
  headers: {
    'Idempotency-Key': 'A repeated key with the same body gets the first answer again, for 24 hours.',
    'x-credential-id': 'The credential to use, instead of `credentialId`.',
  },
  params: actionParams,
  body: executeBody,
  correct: callCorrection(executeBody),
  success: {
    status: 200,
    description:
      'The value, or a page of records. `Idempotency-Replayed: true` marks a repeated first answer.',
    schema: executed,
  },
  errors: EXECUTION_ERRORS,
  async handler({ context, caller, requestId, params, body, corrections, userId, header, signal }) {
    if (body.actionId !== undefined && body.actionId !== params.actionId) {
      throw invalidRequest([{ field: 'actionId', rule: `must equal that of the path, ${params.actionId}` }]);
    }
    const idempotencyKey = header('idempotency-key');
    if (idempotencyKey !== undefined) assertIdempotencyKey(idempotencyKey);
    const { environment } = caller;
    const { connectorId } = params;
    const { replayed, ...answer } = await executeAction(context, {
      environment,
      caller: caller.label,
      requestId,
      userId,
      connectorId,
      actionId: params.actionId,
      input: body.input,
      fields: body.fields,
      credentialHeader: header('x-credential-id'),
      credentialId: body.credentialId,
      idempotencyKey,
      signal,
    }).catch(async (error: unknown) => {
      throw await withLink(context, error, { environment, userId, connectorId });
    });
    const corrected = corrections.length === 0 ? {} : { corrections };
    return {
      body: { ...answer, ...corrected },
      ...(replayed ? { headers: { 'Idempotency-Replayed': 'true' } } : {}),
    };
  },
});

function connectorView({ publicUrl }: Context, one: Connector): z.input<typeof connector> {
  return {
    connectorId: one.connectorId,
    name: one.name,
    description: one.description,
    categories: [...one.categories],
    iconUrl: publicUrl + iconPath(one),
    website: one.definition.website,
    authentication: one.definition.authentication.map(({ type }) => type),
    actionCount: one.actions.size,
    scopes: scopesOf(one),
  };
}

/** Returns the OAuth scopes of a connector's schemes, without duplicates. */
function scopesOf({ definition }: Connector): string[] {
  const scopes = definition.authentication.flatMap((scheme) => ('scopes' in scheme ? scheme.scopes : []));
  return [...new Set(scopes)];
}

function lineView(one: Action): z.input<typeof actionLine> {
  const { actionId, name, description, effect, list, raw } = one;
  return { actionId, name, description, effect, list, ...(raw ? { raw } : {}) };
}

/** Returns the optional members that an action has. */
function optionalView({ effectWhen, authentication, scopes }: Action['definition']) {
  return {
    ...(effectWhen.length > 0 ? { effectWhen } : {}),
    ...(authentication ? { authentication } : {}),
    ...(scopes.length > 0 ? { scopes: scopes.map((scope) => [scope].flat()) } : {}),
  };
}

function actionView(one: Action): z.input<typeof action> {
  return {
    connectorId: one.connectorId,
    ...lineView(one),
    inputSchema: one.inputSchema,
    outputSchema: answerSchema(one.outputSchema),
    pagination: one.paging ? { style: one.paging.style } : null,
    ...optionalView(one.definition),
    hash: one.hash,
  };
}
