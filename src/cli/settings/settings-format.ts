import { z } from 'zod';
import { settingsBody } from '../../http/routes/admin.ts';
import { mappedFields } from '../../http/routes/field-mapping-routes.ts';
import { remoteServer } from '../../http/routes/connectors/remote-servers.ts';
import { serverFields } from '../../http/routes/server-routes.ts';
import { address, kinds, ordered, rate } from '../../http/routes/webhooks.ts';
import { jsonObject } from '../../http/server/shapes.ts';
import { eventScope, sourceScope } from '../../connectors/event-scopes.ts';

/* The format of a settings file. It reuses the schemas of the routes that get the settings. */

const connectorId = z.string().regex(/^[a-z0-9-]{1,32}$/, 'must be 1 to 32 of a-z, 0-9 and -');
const username = z.string().trim().min(1).max(200);

/** How users authenticate at a remote server, without the operator's values. */
const authentication = remoteServer.shape.authentication.superRefine((given, issues) => {
  for (const name of ['token', 'values'])
    if (Object.hasOwn(given, name))
      issues.addIssue({
        code: 'custom',
        path: [name],
        message: 'is a secret and must not be in a file: set it over REST',
      });
});

const ownConnector = z
  .strictObject({
    connectorId,
    /** The connector file. */
    definition: jsonObject.optional(),
    /** A remote MCP server in place of a file. */
    mcp: z
      .strictObject({ name: remoteServer.shape.name, url: remoteServer.shape.url, authentication })
      .optional(),
    /** The operator's changes; null: none. */
    overlay: jsonObject.nullable().optional(),
    /** Secrets of the operator that the remote server must have here. */
    needs: z.array(z.enum(['token', 'values'])).optional(),
  })
  .refine(
    ({ definition, mcp }) => (definition === undefined) !== (mcp === undefined),
    'must have either definition or mcp',
  );

const subscription = z.strictObject({
  address,
  scope: sourceScope,
  connectorId,
  user: username,
  /** Name of the account, where the user has several of the connector. */
  account: z.string().min(1).optional(),
  events: kinds.optional(),
  ratePerSecond: rate.nullable().optional(),
  ordered: ordered.optional(),
  /** Names of headers, whose values are secrets. */
  headers: z.array(z.string().toLowerCase()).optional(),
});

/** The settings of an environment. A part that a file leaves out stays as it is. */
export const settingsFormat = z.strictObject({
  settings: settingsBody.optional(),
  oauthApps: z
    .array(
      z.strictObject({
        connectorId,
        scopes: z.array(z.string()).nullable().optional(),
        fields: z.record(z.string(), z.string()).optional(),
        needs: z.array(z.enum(['clientId', 'clientSecret'])).optional(),
      }),
    )
    .optional(),
  connectors: z.array(ownConnector).optional(),
  servers: z.array(serverFields.extend({ owner: username.nullable().optional() })).optional(),
  workflows: z.array(z.strictObject({ name: serverFields.shape.name, definition: jsonObject })).optional(),
  fieldMappings: z
    .array(
      z.strictObject({
        scope: eventScope,
        connectorId: connectorId.nullable().optional(),
        fields: mappedFields,
      }),
    )
    .optional(),
  subscriptions: z.array(subscription).optional(),
});

export type Settings = z.output<typeof settingsFormat>;
export type SubscriptionEntry = z.output<typeof subscription>;
