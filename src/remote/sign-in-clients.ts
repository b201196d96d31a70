import type { SignInClients } from '../credentials/ports.ts';
import type { ConnectorKey } from '../custom/custom-rows.ts';
import { MINUTE, type Clock } from '../lib/clock.ts';
import { createExpiring } from '../lib/ttl-cache.ts';
import type { Context } from './context.ts';
import { findRemote } from './remote-rows.ts';

/** How long a client counts as known after its registration, its check or a sign-in. */
const KNOWN_MS = 5 * MINUTE;
const MAX_KNOWN = 2000;

/** The clients of Gatehouse at OAuth servers. `use` sets the parts that they work with. */
interface OwnClients extends SignInClients {
  use(context: Context): void;
}

/**
 * Creates the clients. One registration of a connector runs at a time in a process. Across processes the first one that
 * stores its client wins (sign-in.ts).
 */
export function createSignInClients(clock: Clock): OwnClients {
  let used: Context | undefined;
  const known = createExpiring<true>({ ttlMs: KNOWN_MS, max: MAX_KNOWN, clock });
  const running = new Map<string, Promise<boolean>>();
  const nameOf = ({ environment, connectorId }: ConnectorKey) => `${environment} ${connectorId}`;
  /** Registers the client again where that is needed. Returns whether it did. */
  const renewed = async (key: ConnectorKey, refused: string | undefined): Promise<boolean> => {
    if (!used || !isRemote(used, key)) return false;
    try {
      const remote = await findRemote(used, key);
      if (!remote) return false;
      const { renewClient } = await import('./sign-in.ts');
      return await renewClient(used, remote, { caller: 'service', refused });
    } catch (error) {
      used.log.warn({ err: error, ...key }, 'client of a remote server not registered again');
      return false;
    }
  };
  const once = (key: ConnectorKey, refused?: string): Promise<boolean> => {
    const name = nameOf(key);
    const other = running.get(name);
    if (other) return other;
    const work = renewed(key, refused).finally(() => running.delete(name));
    running.set(name, work);
    return work;
  };
  return {
    use: (context) => void (used = context),
    async beforeSignIn(key) {
      const name = nameOf(key);
      const isKnown = known.has(name);
      // A person who sees an error at the OAuth server does not come back, so the next sign-in checks the client again.
      known.delete(name);
      if (!isKnown) await once(key);
    },
    noteKnown: (key) => void known.set(nameOf(key), true),
    isKnown: (key) => known.has(nameOf(key)),
    refused: (key, clientId) => once(key, clientId),
  };
}

function isRemote({ catalog }: Context, { environment, connectorId }: ConnectorKey): boolean {
  return catalog.connector(environment, connectorId)?.definition.protocol === 'mcp';
}
