import { createSecretKey, type KeyObject } from 'node:crypto';
import type { ExecuteContext } from '../../src/actions/execute.ts';
import { readConfig } from '../../src/config.ts';
import { createCircuits } from '../../src/actions/circuits.ts';
import { createExecutionLog } from '../../src/actions/executions.ts';
import { createKeyRing } from '../../src/crypto/key-ring.ts';
import type { AccountChanges } from '../../src/credentials/ports.ts';
import { createCredentialMemory } from '../../src/credentials/memory.ts';
import { createAccountChanges } from '../../src/sources/account-switch.ts';
import { createUser } from '../../src/identity/users.ts';
import { createOutbound } from '../../src/outbound/outbound.ts';
import { createLog } from '../../src/log.ts';
import { migrate } from '../../src/store/migrate.ts';
import { createTelemetry } from '../../src/telemetry/telemetry.ts';
import { openStore } from '../../src/store/open-database.ts';
import { createRemoteSessions } from '../../src/upstream/remote/remote-sessions.ts';
import { createThrottle } from '../../src/upstream/throttle.ts';
import { manualClock, type ManualClock } from './clock.ts';
import { silentOperator } from './operator.ts';
import { freshDatabase, type StoreKind } from './stores.ts';
import { catalogFor } from './third-party.ts';

/** Runs actions without the surfaces: a real store, the real outbound calls, and the connectors of the tests. */
export interface ActionBench extends ExecuteContext, AsyncDisposable {
  readonly accountChanges: AccountChanges;
  readonly hashKey: KeyObject;
  readonly clock: ManualClock;
  /** Lines of the log so far. */
  readonly logged: string[];
  /** A user of development. */
  readonly userId: string;
  /** Opens the same again over the same database, as another process does. */
  again(): Promise<ActionBench>;
}

export async function openActions(kind: StoreKind = 'sqlite'): Promise<ActionBench> {
  const fresh = await freshDatabase(kind);
  const clock = manualClock();
  const first = await open(fresh.database, clock, undefined);
  return {
    ...first,
    async [Symbol.asyncDispose]() {
      await first[Symbol.asyncDispose]();
      await fresh.remove();
    },
  };
}

async function open(
  database: Awaited<ReturnType<typeof freshDatabase>>['database'],
  clock: ManualClock,
  known: string | undefined,
): Promise<ActionBench> {
  const store = await openStore(database);
  await migrate(store, clock.now());
  const { db } = store;
  const logged: string[] = [];
  const log = createLog('debug', { write: (line) => void logged.push(line) });
  const userId =
    known ?? (await createUser({ db, clock }, { environment: 'development', username: 'ada' })).userId;
  const outbound = createOutbound({
    allowedNetworks: [],
    allowPrivateNetwork: true,
    egressProxy: undefined,
    caFile: undefined,
  });
  const telemetry = createTelemetry();
  const keys = createKeyRing([Buffer.alloc(32, 9).toString('base64')]);
  const hashKey = createSecretKey(Buffer.alloc(32, 7));
  const audit = { executionsGrew: () => {} };
  const executions = createExecutionLog({ db, clock, log, keys, hashKey, audit });
  return {
    config: readConfig({}),
    db,
    clock,
    log,
    telemetry,
    keys,
    hashKey,
    catalog: catalogFor(),
    outbound,
    throttle: createThrottle(clock),
    remoteSessions: createRemoteSessions(outbound),
    executions,
    circuits: createCircuits({ db, clock, log, telemetry }),
    accountChanges: createAccountChanges({ clock }),
    credentialMemory: createCredentialMemory({ clock }),
    operator: silentOperator({ db, store, clock, keys, log, telemetry, outbound }),
    logged,
    userId,
    again: () => open(database, clock, userId),
    async [Symbol.asyncDispose]() {
      await executions.close();
      await outbound.close();
      await store.close();
    },
  };
}
