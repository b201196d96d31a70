import { z } from 'zod';

/** The OAuth server of a remote MCP server, as its metadata describe it (RFC 9728, RFC 8414). */
export const oauthServer = z.object({
  /** The resource that tokens are for (RFC 8707). */
  resource: z.string(),
  issuer: z.string(),
  authorizeUrl: z.string(),
  tokenUrl: z.string(),
  revocationUrl: z.string().optional(),
  scopes: z.array(z.string()),
  /** How a client authenticates at the token endpoint. */
  clientAuthentication: z.enum(['none', 'body', 'basic']),
  /** Whether redirects back name the issuer (RFC 9207). */
  namesIssuer: z.boolean(),
});
export type OAuthServer = z.infer<typeof oauthServer>;
