import {
  checkResourceAllowed,
  discoverAuthorizationServerMetadata,
  discoverOAuthProtectedResourceMetadata,
  extractWWWAuthenticateParams,
  registerClient,
  type AuthorizationServerMetadata,
  type FetchLike,
  type OAuthProtectedResourceMetadata,
} from '@modelcontextprotocol/client';
import { z } from 'zod';
import { SECOND } from '../../lib/clock.ts';
import { GatehouseError } from '../../lib/errors.ts';
import { MIB } from '../../lib/http/http-body.ts';
import type { Outbound } from '../../outbound/outbound.ts';
import type { OAuthServer } from './oauth-metadata.ts';
import { toResponse } from './remote-fetch.ts';

const TIMEOUT_MS = 15 * SECOND;
const CLIENT_NAME = 'Gatehouse';
const METHODS = { none: 'none', client_secret_post: 'body', client_secret_basic: 'basic' } as const;

/** The client of Gatehouse at an OAuth server. */
export interface RegisteredClient {
  clientId: string;
  clientSecret: string | undefined;
  /** When the secret ends, epoch ms; absent where it does not end. */
  secretEndsAt?: number;
}

/** Addresses of Gatehouse for a connector's sign-in. */
export interface OwnAddresses {
  publicUrl: string;
  redirectUri: string;
  /** Address of the client's metadata document. An OAuth server that reads it needs no registration. */
  clientMetadataUrl: string;
}

/** The OAuth server of a remote MCP server, as its metadata describe it now. */
export interface FoundServer {
  metadata: AuthorizationServerMetadata;
  server: Omit<OAuthServer, 'clientAuthentication'>;
  /** Whether the resource names it. Otherwise the resource has no metadata, as before MCP 2025-06-18. */
  isNamed: boolean;
}

/**
 * Finds the OAuth server of a remote MCP server.
 * @throws GatehouseError `upstream_failed` with `details.reason: "oauth_discovery"`
 */
export async function findOAuthServer(
  outbound: Pick<Outbound, 'stream'>,
  url: string,
  wanted: readonly string[] | undefined,
): Promise<FoundServer> {
  const fetchFn = plainFetch(outbound);
  return translated(async () => {
    const challenge = await challengeOf(fetchFn, url);
    const resource = await resourceOf(fetchFn, url, challenge.resourceMetadataUrl);
    if (!checkResourceAllowed({ requestedResource: url, configuredResource: resource.resource }))
      throw failed(`its metadata are for another resource, ${resource.resource.slice(0, 200)}`);
    const [address] = resource.authorization_servers ?? [];
    if (address === undefined) throw failed('its metadata name no authorization server');
    // assertUsable() compares the issuer.
    const options = { fetchFn, skipIssuerValidation: true };
    const published = await discoverAuthorizationServerMetadata(address, options);
    const metadata = published ?? (resource.isOlder ? usualEndpoints(address) : undefined);
    if (!metadata) throw failed('its authorization server has no metadata');
    assertUsable(metadata, address, resource.isOlder === true);
    const more = extras.parse(metadata);
    const scopes = wanted ?? challenge.scope?.split(' ') ?? resource.scopes_supported ?? [];
    const server = {
      resource: resource.resource,
      issuer: metadata.issuer,
      authorizeUrl: metadata.authorization_endpoint,
      tokenUrl: metadata.token_endpoint,
      ...(more.revocation_endpoint === undefined ? {} : { revocationUrl: more.revocation_endpoint }),
      scopes: [...scopes],
      namesIssuer: more.authorization_response_iss_parameter_supported,
    };
    return { metadata, server, isNamed: resource.isOlder !== true };
  });
}

/**
 * Returns the client of Gatehouse at an OAuth server: its metadata document where the server reads it, else a newly
 * registered one (RFC 7591). `client` is undefined when the server has neither; the operator then registers one.
 * @throws GatehouseError `upstream_failed` with `details.reason: "oauth_discovery"`
 */
export async function clientAt(
  outbound: Pick<Outbound, 'stream'>,
  found: FoundServer,
  own: OwnAddresses,
): Promise<{ server: OAuthServer; client: RegisteredClient | undefined }> {
  return translated(() => withClient(plainFetch(outbound), found, own));
}

async function translated<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof GatehouseError) throw error;
    throw failed('its metadata cannot be read', error);
  }
}

/** Metadata of a resource. `isOlder`: the server publishes none, as in MCP 2025-03-26. */
type Resource = OAuthProtectedResourceMetadata & { isOlder?: boolean };

/**
 * Returns the metadata of a server. A server without any is one of MCP 2025-03-26, which is its own authorization
 * server.
 */
async function resourceOf(fetchFn: FetchLike, url: string, address: URL | undefined): Promise<Resource> {
  let isMissing = true;
  const watched: FetchLike = async (at, init) => {
    const answer = await fetchFn(at, init);
    isMissing &&= answer.status === 404;
    return answer;
  };
  try {
    const options = address ? { resourceMetadataUrl: address } : {};
    return await discoverOAuthProtectedResourceMetadata(url, options, watched);
  } catch (error) {
    if (address || !isMissing) throw error;
    return { resource: url, authorization_servers: [new URL(url).origin], isOlder: true };
  }
}

/** Returns the endpoints of an authorization server without metadata (MCP 2025-03-26, which requires PKCE). */
function usualEndpoints(origin: string): AuthorizationServerMetadata {
  return {
    issuer: origin,
    authorization_endpoint: `${origin}/authorize`,
    token_endpoint: `${origin}/token`,
    registration_endpoint: `${origin}/register`,
    response_types_supported: ['code'],
    code_challenge_methods_supported: ['S256'],
    token_endpoint_auth_methods_supported: ['none'],
  };
}

/** Members of the metadata that not all of its forms in the SDK have. */
const extras = z.looseObject({
  revocation_endpoint: z.string().optional().catch(undefined),
  authorization_response_iss_parameter_supported: z.boolean().catch(false),
  client_id_metadata_document_supported: z.boolean().catch(false),
});

async function withClient(
  fetchFn: FetchLike,
  { metadata, server: found }: FoundServer,
  own: OwnAddresses,
): Promise<{ server: OAuthServer; client: RegisteredClient | undefined }> {
  const reads = extras.parse(metadata).client_id_metadata_document_supported;
  if (reads && own.clientMetadataUrl.startsWith('https:'))
    return {
      server: { ...found, clientAuthentication: 'none' },
      client: { clientId: own.clientMetadataUrl, clientSecret: undefined },
    };
  const supported = metadata.token_endpoint_auth_methods_supported ?? ['client_secret_basic'];
  const method = (['none', 'client_secret_post', 'client_secret_basic'] as const).find((one) =>
    supported.includes(one),
  );
  if (!method) throw failed('its authorization server supports no way to authenticate that Gatehouse has');
  if (metadata.registration_endpoint === undefined)
    return { server: { ...found, clientAuthentication: METHODS[method] }, client: undefined };
  const registered = await registerClient(metadata.issuer, {
    metadata,
    clientMetadata: { ...clientMetadata(own), token_endpoint_auth_method: method },
    fetchFn,
  });
  const {
    client_id: clientId,
    client_secret: clientSecret,
    client_secret_expires_at: endsAt = 0,
  } = registered;
  // A server may give a secret although none was wanted.
  const given = clientSecret !== undefined && method === 'none' ? 'client_secret_post' : method;
  // Zero stands for no end (RFC 7591 section 3.2.1).
  const secret = { clientSecret, ...(clientSecret && endsAt > 0 ? { secretEndsAt: endsAt * SECOND } : {}) };
  return { server: { ...found, clientAuthentication: METHODS[given] }, client: { clientId, ...secret } };
}

/** Returns the facts of Gatehouse as a client (RFC 7591). */
export function clientMetadata({ publicUrl, redirectUri }: Omit<OwnAddresses, 'clientMetadataUrl'>) {
  return {
    client_name: CLIENT_NAME,
    client_uri: publicUrl,
    // A client of the type `web` redirects to https: only (OpenID Connect Registration section 2).
    application_type: publicUrl.startsWith('https:') ? 'web' : 'native',
    redirect_uris: [redirectUri],
    grant_types: ['authorization_code', 'refresh_token'],
    response_types: ['code'],
    token_endpoint_auth_method: 'none',
  };
}

/** @throws GatehouseError for metadata of another issuer, and for a server without PKCE (S256) */
function assertUsable(metadata: AuthorizationServerMetadata, address: string, isOlder: boolean): void {
  const bare = (text: string) => text.replace(/\/$/, '');
  // An older server gives only its origin, at which the issuer may have a path.
  const issuer = isOlder && URL.canParse(metadata.issuer) ? new URL(metadata.issuer).origin : metadata.issuer;
  if (bare(issuer) !== bare(address))
    throw failed(
      `the metadata of its authorization server name another issuer, ${metadata.issuer.slice(0, 200)}`,
    );
  if (!metadata.code_challenge_methods_supported?.includes('S256'))
    throw failed('its authorization server does not support PKCE with S256');
}

/** Returns what the server asks for in its refusal of a request without a token. */
async function challengeOf(fetchFn: FetchLike, url: string) {
  const refused = await fetchFn(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream' },
    body: JSON.stringify({ jsonrpc: '2.0', id: 0, method: 'ping' }),
  });
  await refused.body?.cancel();
  return refused.status === 401 ? extractWWWAuthenticateParams(refused) : {};
}

function plainFetch(outbound: Pick<Outbound, 'stream'>): FetchLike {
  return async (url, init = {}) =>
    toResponse(
      await outbound.stream({
        method: init.method ?? 'GET',
        url: String(url),
        headers: Object.fromEntries(new Headers(init.headers)),
        ...(typeof init.body === 'string' ? { body: init.body } : {}),
        timeoutMs: TIMEOUT_MS,
        maxBytes: MIB,
      }),
    );
}

function failed(what: string, cause?: unknown): GatehouseError {
  return new GatehouseError('upstream_failed', `The OAuth server of the MCP server was not found: ${what}.`, {
    details: { reason: 'oauth_discovery' },
    cause,
  });
}
