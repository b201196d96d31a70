import { readFileSync } from 'node:fs';
import type { SecureContext } from 'node:tls';
import type { buildConnector, Dispatcher } from 'undici';
import type { AddressGuard } from '../lib/addresses.ts';
import { BlockedAddress } from './outbound-errors.ts';
import type { Lookup } from './outbound-names.ts';

const CONNECT_TIMEOUT_MS = 10_000;
/** The longest wait for headers or the next bytes. */
export const HEADERS_TIMEOUT_MS = 30_000;
const CONNECTIONS_PER_ORIGIN = 64;
/**
 * A deadline ends a stream of HTTP/2, not its connection. A connection that died silently would be used again and
 * again; HTTP/1.1 loses one request to it.
 */
const ALLOW_H2 = false;

type Kind = 'guarded' | 'sandbox';

interface AgentOptions {
  guard: AddressGuard;
  lookup: Lookup;
  egressProxy: string | undefined;
  caFile: string | undefined;
  connections: number | undefined;
}

/** The agents of undici, which hold the connections. Each is created at its first use. */
export interface Agents {
  /** Returns an agent that exists. */
  existing(kind: Kind): Dispatcher | undefined;
  get(kind: Kind): Promise<Dispatcher>;
  close(): Promise<void>;
}

export function createAgents(options: AgentOptions): Agents {
  const { guard, lookup, egressProxy } = options;
  const ownCa = options.caFile ? readFileSync(options.caFile, 'utf8') : undefined;
  let secureContext: SecureContext | undefined;
  /** One context for all connections, because making it reads every root certificate. */
  const tls = () => ({ secureContext: (secureContext ??= createContext(ownCa)) });
  const agents = new Map<Kind, Dispatcher>();
  return {
    existing: (kind) => agents.get(kind),
    async get(kind) {
      const undici = await import('undici');
      const known = agents.get(kind);
      if (known) return known;
      const common = {
        headersTimeout: HEADERS_TIMEOUT_MS,
        bodyTimeout: HEADERS_TIMEOUT_MS,
        keepAliveTimeout: 10_000,
        connections: options.connections ?? CONNECTIONS_PER_ORIGIN,
        allowH2: ALLOW_H2,
      };
      const agent =
        kind === 'guarded' && egressProxy
          ? new undici.ProxyAgent({
              ...common,
              uri: egressProxy,
              proxyTls: { allowH2: ALLOW_H2 },
              requestTls: { ...tls(), allowH2: ALLOW_H2 },
            })
          : new undici.Agent({
              ...common,
              connect:
                kind === 'guarded'
                  ? guardedConnect(undici.buildConnector, { guard, lookup, tls })
                  : { timeout: CONNECT_TIMEOUT_MS },
            });
      agents.set(kind, agent);
      return agent;
    },
    async close() {
      await Promise.all([...agents.values()].map((agent) => agent.destroy()));
    },
  };
}

function createContext(ownCa: string | undefined): SecureContext {
  // It is loaded here, because a start does not need it.
  const { createSecureContext, rootCertificates } = process.getBuiltinModule('node:tls');
  return createSecureContext(ownCa === undefined ? {} : { ca: [...rootCertificates, ownCa] });
}

/**
 * Connects and checks the address of the peer, because a name may resolve to another address between check and use.
 */
function guardedConnect(
  build: typeof buildConnector,
  {
    guard,
    lookup,
    tls,
  }: Pick<AgentOptions, 'guard' | 'lookup'> & { tls: () => { secureContext: SecureContext } },
): buildConnector.connector {
  const connectTo = (port: number) =>
    build({
      timeout: CONNECT_TIMEOUT_MS,
      allowH2: ALLOW_H2,
      ...tls(),
      lookup: (hostname, lookupOptions, callback) => {
        lookup(hostname, { ...lookupOptions, all: true }, (error, addresses) => {
          if (error) return callback(error, [], 4);
          const bad = addresses.some(({ address }) => !guard.allowsPeer(address, hostname, port));
          if (bad || addresses.length === 0) return callback(new BlockedAddress(), [], 4);
          if (lookupOptions.all) return callback(null, addresses, 4);
          return callback(null, addresses[0]?.address ?? '', addresses[0]?.family ?? 4);
        });
      },
    });
  // One connector for each port, because a look-up does not know its port. Each has its own TLS sessions.
  const connectors = new Map<number, buildConnector.connector>();
  return (target, callback) => {
    const port = portOf(target);
    const connect = connectors.get(port) ?? connectTo(port);
    if (connectors.size < 1000) connectors.set(port, connect);
    connect(target, (...result) => {
      const socket = result[1];
      if (socket && !guard.allowsPeer(socket.remoteAddress ?? '', target.hostname, port)) {
        socket.destroy();
        callback(new BlockedAddress(), null);
        return;
      }
      callback(...result);
    });
  };
}

function portOf(target: { port: string; protocol: string }): number {
  return Number(target.port) || (target.protocol === 'https:' ? 443 : 80);
}
