import type { LookupAddress } from 'node:dns';
import type { Dispatcher } from 'undici';
import type { AddressGuard } from '../lib/addresses.ts';
import { GatehouseError } from '../lib/errors.ts';
import type { Agents } from './outbound-agents.ts';
import { BlockedAddress } from './outbound-errors.ts';
import type { Lookup } from './outbound-names.ts';
import { SANDBOX_HOST } from '../lib/sandbox-names.ts';
import { readTarget, type RequestTarget } from './target.ts';

const MAX_JUDGED = 1000;

/** A target and the agent that calls it. */
export interface Route {
  agent: Dispatcher;
  target: RequestTarget;
}

export interface Routes {
  /**
   * Returns the agent and target of an address. Every request passes here.
   * @throws BlockedAddress, GatehouseError
   */
  to(url: string, allowSandbox?: boolean): Route | Promise<Route>;
  /** Checks an address without calling it. Returns whether its name resolves. @throws BlockedAddress, GatehouseError */
  check(target: RequestTarget): Promise<boolean>;
  /** Sets the origin of our own sandbox. */
  allowSandbox(origin: () => Promise<string>): void;
}

interface RouteOptions {
  guard: AddressGuard;
  agents: Agents;
  lookup: Lookup;
  /** Whether requests leave through a proxy. */
  isProxied: boolean;
}

export function createRoutes({ guard, agents, lookup, isProxied }: RouteOptions): Routes {
  /** Origins that passed the guard, whose verdict never changes. */
  const judged = new Set<string>();
  let sandboxOrigin: (() => Promise<string>) | undefined;

  async function toSandbox(path: string, origin: () => Promise<string>): Promise<Route> {
    const target = readTarget((await origin()) + path);
    return { agent: agents.existing('sandbox') ?? (await agents.get('sandbox')), target };
  }

  /** Returns the route of a target whose agent may not exist yet, and whose name a proxy may resolve. */
  async function resolved(target: RequestTarget): Promise<Route> {
    if (isProxied) await checkNames(target);
    return { agent: await agents.get('guarded'), target };
  }

  function assertGuarded({ origin, hostname, port, protocol, host }: RequestTarget): void {
    if (judged.has(origin)) return;
    if (!guard.allowsHost(hostname, port)) throw new BlockedAddress();
    if (protocol === 'http:' && !guard.allowsPlain(hostname, port)) {
      throw new GatehouseError('upstream_failed', `${host} was not called: only https addresses are.`, {
        details: { reason: 'blocked_address' },
      });
    }
    if (judged.size >= MAX_JUDGED) judged.clear();
    judged.add(origin);
  }

  /**
   * Returns the addresses of a name, checked by the guard. Behind an egress proxy, the proxy resolves names and
   * connects. Addresses that this machine can resolve are checked too; other names are left to the proxy's own rules.
   */
  async function checkNames(target: RequestTarget): Promise<LookupAddress[]> {
    const addresses = await new Promise<LookupAddress[]>((resolve) => {
      lookup(bareHost(target.hostname), { all: true }, (error, found) => resolve(error ? [] : found));
    });
    if (addresses.some(({ address }) => !guard.allowsPeer(address, target.hostname, target.port)))
      throw new BlockedAddress();
    return addresses;
  }

  return {
    to(url, allowSandbox = false) {
      const target = readTarget(url);
      const isSandbox = target.hostname === SANDBOX_HOST && target.path.startsWith('/sandbox/');
      if (allowSandbox && isSandbox && sandboxOrigin) return toSandbox(target.path, sandboxOrigin);
      assertGuarded(target);
      const agent = agents.existing('guarded');
      return agent && !isProxied ? { agent, target } : resolved(target);
    },
    async check(target) {
      assertGuarded(target);
      const found = await checkNames(target);
      return found.length > 0;
    },
    allowSandbox(origin) {
      sandboxOrigin = origin;
    },
  };
}

function bareHost(host: string): string {
  return host.replace(/^\[|\]$/g, '');
}
