import { GatehouseError } from '../lib/errors.ts';
import type { LiveServer } from './live-servers.ts';

/** @throws GatehouseError `forbidden` when the server is switched off. */
export function assertEnabled({ server }: LiveServer): void {
  if (!server.enabled) throw new GatehouseError('forbidden', 'This MCP server is switched off.');
}

/**
 * Checks whether a server accepts a user.
 * @throws GatehouseError `forbidden` (bound to another), `restricted` (`details.rule`)
 */
export function assertServesUser({ server, decision }: LiveServer, userId: string | undefined): void {
  if (server.bound && userId !== server.ownerUserId) {
    throw new GatehouseError('forbidden', 'This MCP server belongs to one user, and serves no other.');
  }
  const rule = decision.user(userId);
  if (rule === undefined) return;
  throw new GatehouseError('restricted', 'The restrictions of this MCP server do not allow this user.', {
    details: { rule },
  });
}

/** Returns the refusal of a restriction. `what`: the thing that it does not allow. */
export function restricted(what: string, rule: string): GatehouseError {
  return new GatehouseError('restricted', `This MCP server does not allow ${what} (${rule}).`, {
    details: { rule },
  });
}
