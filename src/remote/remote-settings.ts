import { z } from 'zod';
import { oauthServer } from '../upstream/remote/oauth-metadata.ts';

/** Name of a header that carries a credential. Headers of framing and of MCP are not allowed. */
const headerName = z
  .string()
  .regex(/^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,64}$/, 'must be the name of a header')
  .refine(
    (name) => !/^(mcp-|accept$|content-|host$|connection$|transfer-encoding$|cookie$|x-svc-)/i.test(name),
    'must not be a header that MCP or HTTP sets',
  );
const secretText = z.string().min(1).max(4096);

/** How users authenticate at a remote server. `token` and `values` belong to the operator, and serve only to read the tools. */
export const remoteAuthentication = z.discriminatedUnion('type', [
  z.strictObject({ type: z.literal('none') }),
  z.strictObject({ type: z.literal('bearer'), token: secretText.optional() }),
  z
    .strictObject({
      type: z.literal('headers'),
      names: z.array(headerName).min(1).max(10),
      values: z.record(headerName, secretText).optional(),
    })
    .refine(
      ({ names, values = {} }) => Object.keys(values).every((name) => names.includes(name)),
      'values must be of the headers in names',
    )
    .refine(
      ({ names }) => new Set(names.map((name) => name.toLowerCase())).size === names.length,
      'names must differ',
    ),
  z.strictObject({
    type: z.literal('oauth2'),
    scopes: z
      .array(z.string().regex(/^[\x21\x23-\x5b\x5d-\x7e]{1,300}$/, 'must be a scope'))
      .max(100)
      .optional(),
  }),
]);
export type RemoteAuthentication = z.infer<typeof remoteAuthentication>;

/** The client that Gatehouse has at an OAuth server; another OAuth app of the connector is one of the operator. */
const ownClient = z.object({
  clientId: z.string(),
  /** When its secret ends, epoch ms. */
  secretEndsAt: z.number().optional(),
});

/** The address of a remote server and the form of its credentials, without secrets. */
export const remoteSettings = z.object({
  connectorId: z.string(),
  name: z.string().optional(),
  url: z.string(),
  authentication: z.discriminatedUnion('type', [
    z.object({ type: z.literal('none') }),
    z.object({ type: z.literal('bearer') }),
    z.object({ type: z.literal('headers'), names: z.array(z.string()) }),
    // `scopes`: those that the operator named, which count at every OAuth server.
    z.object({
      type: z.literal('oauth2'),
      server: oauthServer,
      scopes: z.array(z.string()).optional(),
      client: ownClient.optional(),
    }),
  ]),
});
export type RemoteSettings = z.infer<typeof remoteSettings>;

/** Splits an authentication without a sign-in into its form and the operator's values, by the names of the connector file. */
export function split(given: Exclude<RemoteAuthentication, { type: 'oauth2' }>): {
  authentication: RemoteSettings['authentication'];
  values: Record<string, string> | undefined;
} {
  switch (given.type) {
    case 'none':
      return { authentication: { type: 'none' }, values: undefined };
    case 'bearer':
      return {
        authentication: { type: 'bearer' },
        values: given.token === undefined ? undefined : { token: given.token },
      };
    case 'headers': {
      const { names, values } = given;
      return {
        authentication: { type: 'headers', names },
        values:
          values &&
          Object.fromEntries(names.map((name, index) => [`header${index + 1}`, values[name] ?? ''])),
      };
    }
  }
}
