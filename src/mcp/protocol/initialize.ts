import { GatehouseError } from '../../lib/errors.ts';
import type { Json, JsonObject } from '../../lib/json.ts';
import { abilitiesOf, type Abilities } from './abilities.ts';

/** The server's name and version in the result of `initialize`. */
export const SERVER_INFO = { name: 'gatehouse', title: 'Gatehouse', version: '0.2.0' };
export const CAPABILITIES = {
  tools: { listChanged: true },
  resources: { subscribe: true, listChanged: true },
  prompts: { listChanged: true },
  completions: {},
  logging: {},
};

/** The supported MCP versions that begin with `initialize`, newest first. */
const NEWEST = '2025-11-25';
export const VERSIONS: readonly string[] = [NEWEST, '2025-06-18', '2025-03-26', '2024-11-05', '2024-10-07'];

/** A client as `initialize` declares it. */
export interface Client {
  protocolVersion: string;
  abilities: Abilities;
}

/** Reads the params of `initialize`. @throws GatehouseError `invalid_request` without a version. */
export function clientOf({ params = {} }: { params?: JsonObject }): Client {
  const protocolVersion = negotiate(params['protocolVersion']);
  return { protocolVersion, abilities: abilitiesOf(protocolVersion, params['capabilities']) };
}

/** Returns the protocol version of a session: the client's version when we support it, else our newest. */
function negotiate(requested: Json | undefined): string {
  if (typeof requested !== 'string') {
    throw new GatehouseError(
      'invalid_request',
      'initialize needs params.protocolVersion, a date such as 2025-11-25.',
    );
  }
  return VERSIONS.includes(requested) ? requested : NEWEST;
}

export function initializeResult(protocolVersion: string, instructions: string) {
  return { protocolVersion, capabilities: CAPABILITIES, serverInfo: SERVER_INFO, instructions };
}
