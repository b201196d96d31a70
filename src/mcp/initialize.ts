import { LATEST_PROTOCOL_VERSION, SUPPORTED_PROTOCOL_VERSIONS } from '@modelcontextprotocol/sdk/types.js';
import { GatehouseError } from '../lib/errors.ts';
import type { Json } from '../lib/json.ts';
import { CAPABILITIES, SERVER_INFO } from './server.ts';

/** The version that a session speaks: the client's where it is known, else the newest of ours. */
export function negotiate(asked: Json | undefined): string {
  if (typeof asked !== 'string') {
    throw new GatehouseError(
      'invalid_request',
      'initialize needs params.protocolVersion, a date such as 2025-11-25.',
    );
  }
  return SUPPORTED_PROTOCOL_VERSIONS.includes(asked) ? asked : LATEST_PROTOCOL_VERSION;
}

export function initializeResult(protocolVersion: string, instructions: string) {
  return { protocolVersion, capabilities: CAPABILITIES, serverInfo: SERVER_INFO, instructions };
}
