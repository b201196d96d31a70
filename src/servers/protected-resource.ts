import type { Base } from '../base.ts';
import type { LiveServers } from './live-servers.ts';
import { ENVIRONMENTS } from '../store/environments.ts';

const SERVER_ID = /^srv_[0-9A-Za-z]{22}$/;
const WELL_KNOWN = '/.well-known/oauth-protected-resource';

/**
 * Returns an MCP server as an OAuth protected resource (RFC 9728); undefined for unknown servers, and when no issuer is
 * trusted.
 */
export async function protectedResourceOf(
  { config, servers, publicUrl }: Pick<Base, 'config' | 'publicUrl'> & { servers: LiveServers },
  serverId: string,
) {
  if (config.jwtIssuers.length === 0 || !SERVER_ID.test(serverId)) return undefined;
  for (const environment of ENVIRONMENTS) {
    const own = config.jwtIssuers.filter((one) => one.environment === environment);
    const live = own.length > 0 ? await servers.byId(environment, serverId) : undefined;
    if (!live) continue;
    /** The API-key URL of the server, which tokens may name as their audience (RFC 8707). */
    const resource = `${publicUrl}/mcp/${serverId}`;
    const { origin, pathname } = new URL(resource);
    return {
      environment,
      name: live.server.name,
      resource,
      /** The trusted issuers of its environment; never empty. */
      issuers: [...new Set(own.map(({ issuer }) => issuer))],
      /** The address of its metadata. */
      metadataUrl: `${origin}${WELL_KNOWN}${pathname}`,
    };
  }
  return undefined;
}
