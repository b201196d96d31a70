import { randomBytes } from 'node:crypto';
import { createServer } from 'node:http';
import { lastServedUrl } from '../connect/presence.ts';
import { readConfig } from '../config.ts';
import type { Caller, Callers } from '../identity/caller.ts';
import { GatehouseError } from '../lib/errors.ts';
import { sameText } from '../lib/same-text.ts';
import { createRest } from '../rest.ts';
import type { Environment } from '../store/environments.ts';
import { CommandError } from './faults.ts';
import { openStarted } from './started.ts';

/** An address with the bearer that it accepts. */
interface LocalService {
  url: string;
  key: string;
  close(): Promise<void>;
}

/**
 * Serves REST over the store of this machine for one command, on a free port of this machine. Only a random bearer that
 * this process knows is accepted, because other users of the machine can reach the port.
 * @throws CommandError where there is no store.
 */
export async function openLocal(environment: Environment): Promise<LocalService> {
  const context = await openStarted({ ...readConfig(), logLevel: 'error' });
  const key = randomBytes(32).toString('base64url');
  // Links lead to the running service, not to this process.
  if (context.config.publicUrl === undefined)
    context.publicUrl = (await lastServedUrl(context.db)) ?? context.publicUrl;
  const server = createServer(createRest({ ...context, callers: onlyOperator(key, environment), callTool }));
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(0, '127.0.0.1', resolve);
  });
  const address = server.address();
  if (address === null || typeof address === 'string')
    throw new CommandError('No port of this machine is free.');
  const url = `http://127.0.0.1:${address.port}`;
  if (context.config.sandbox || context.config.testConnectors) context.outbound.allowSandbox(async () => url);
  return {
    url,
    key,
    async close() {
      server.closeAllConnections();
      server.close();
      await context.close();
    },
  };
}

/** Refuses calls of tools, because a process that serves no MCP has none. */
async function callTool(): Promise<never> {
  throw new GatehouseError('unavailable', 'A command calls no tools. Call them over MCP: gatehouse stdio.');
}

/** Returns callers that accept one bearer, as the operator of the machine. */
function onlyOperator(key: string, environment: Environment): Callers {
  const operator: Caller = { kind: 'local', environment, label: 'cli', userId: undefined, scopes: 'all' };
  const refusal = () => new GatehouseError('unauthorized', 'This port belongs to a command of its machine.');
  return {
    async fromBearer(bearer) {
      if (sameText(bearer, key)) return operator;
      throw refusal();
    },
    async fromJwt() {
      throw refusal();
    },
    async fromSession() {
      throw refusal();
    },
    forget() {},
  };
}
