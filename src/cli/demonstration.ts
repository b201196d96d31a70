import { randomBytes } from 'node:crypto';
import { SANDBOX_ID } from '../connectors/catalog.ts';
import type { OpenContext } from '../context.ts';
import { createCredential } from '../credentials/credential-records.ts';
import { createUser } from '../identity/users.ts';
import { createServer } from '../servers/server-records.ts';

/** Data that a new operator can try at once. */
export interface Demonstration {
  userId: string;
  serverName: string;
  /** Contains the access token. */
  accessUrl: string;
}

const SERVER_NAME = 'Sandbox';

/** Creates a user, its sandbox credential and an MCP server for it. The app must be listening. */
export async function createDemonstration(context: OpenContext): Promise<Demonstration> {
  const environment = 'development';
  const { userId } = await createUser(context, { environment, username: 'demo' });
  await createCredential(context, {
    environment,
    userId,
    connectorId: SANDBOX_ID,
    type: 'api_key',
    data: { apiKey: `sandbox_${randomBytes(12).toString('hex')}` },
  });
  const { server, accessToken } = await createServer(context, {
    environment,
    name: SERVER_NAME,
    description: 'A shop to try things with. Nothing leaves this machine.',
    ownerUserId: userId,
    bound: false,
    restrictions: { connectors: { mode: 'allowlist', allowedIds: [SANDBOX_ID] } },
  });
  return {
    userId,
    serverName: SERVER_NAME,
    accessUrl: `${context.publicUrl}/mcp/${server.serverId}/${accessToken}`,
  };
}
