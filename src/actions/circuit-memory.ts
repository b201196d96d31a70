import type { Base } from '../base.ts';
import { STALE_MS } from '../identity/caller.ts';
import { findCircuit, newestCircuits, type CircuitKey, type CircuitState } from './circuit-rows.ts';

/** Circuits that a process keeps in memory. While more have failures, each call reads its own row. */
const MAX_KNOWN = 1000;

/** The circuits with failures, as this process last read them. */
export interface CircuitMemory {
  /** Returns the state of a circuit, at most STALE_MS old; undefined without failures. */
  stateOf(key: CircuitKey): Promise<CircuitState | undefined>;
  /** Returns the state that this process read last. It reads the store only when no circuits are in memory. */
  lastStateOf(key: CircuitKey): Promise<CircuitState | undefined>;
  /** Stores what this process has just written. */
  note(key: CircuitKey, state: CircuitState | undefined): Promise<void>;
}

/**
 * Creates the memory. It reads all circuits with failures at once, because most of the time there are none: a call of a
 * healthy app then costs no read of its own.
 */
export function createCircuitMemory({ db, clock }: Pick<Base, 'db' | 'clock'>): CircuitMemory {
  let read: { at: number; states: Promise<Map<string, CircuitState> | undefined> } | undefined;

  const states = (): Promise<Map<string, CircuitState> | undefined> => {
    const now = clock.now();
    // Math.abs, because a clock that was set back would otherwise keep old states.
    if (!read || Math.abs(now - read.at) >= STALE_MS) {
      const fresh = { at: now, states: readStates(db) };
      fresh.states.catch(() => {
        if (read === fresh) read = undefined;
      });
      read = fresh;
    }
    return read.states;
  };

  const stateIn = async (known: Map<string, CircuitState> | undefined, key: CircuitKey) =>
    known ? known.get(textOf(key)) : findCircuit(db, key);

  return {
    stateOf: async (key) => stateIn(await states(), key),
    lastStateOf: async (key) => stateIn(await (read?.states ?? states()), key),
    async note(key, state) {
      const known = await (read?.states ?? states());
      if (state) known?.set(textOf(key), state);
      else known?.delete(textOf(key));
    },
  };
}

/** Returns the states by key; undefined when there are too many to keep. */
async function readStates(db: Base['db']): Promise<Map<string, CircuitState> | undefined> {
  const rows = await newestCircuits(db, MAX_KNOWN + 1);
  return rows.length > MAX_KNOWN ? undefined : new Map(rows.map((one) => [textOf(one), one.state]));
}

function textOf({ account, connectorId, actionId }: CircuitKey): string {
  return `${account} ${connectorId} ${actionId}`;
}
