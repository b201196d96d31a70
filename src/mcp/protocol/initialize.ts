import { GatehouseError } from '../../lib/errors.ts';
import type { Json } from '../../lib/json.ts';

/** What we are, as `initialize` tells it. */
export const SERVER_INFO = { name: 'gatehouse', title: 'Gatehouse', version: '0.1.0' };
export const CAPABILITIES = {
  tools: { listChanged: true },
  resources: { subscribe: true, listChanged: true },
  prompts: { listChanged: true },
  completions: {},
  logging: {},
};

/** The versions of MCP that we speak, newest first: those of the official SDK, which is not loaded for a list. */
const NEWEST = '2025-11-25';
export const VERSIONS: readonly string[] = [NEWEST, '2025-06-18', '2025-03-26', '2024-11-05', '2024-10-07'];

/** The version that a session speaks: the client's where it is known, else the newest of ours. */
export function negotiate(asked: Json | undefined): string {
  if (typeof asked !== 'string') {
    throw new GatehouseError(
      'invalid_request',
      'initialize needs params.protocolVersion, a date such as 2025-11-25.',
    );
  }
  return VERSIONS.includes(asked) ? asked : NEWEST;
}

export function initializeResult(protocolVersion: string, instructions: string) {
  return { protocolVersion, capabilities: CAPABILITIES, serverInfo: SERVER_INFO, instructions };
}
