import { flushCompileCache } from 'node:module';
import { createKeyRing } from '../../src/crypto/key-ring.ts';
import { toCredential } from '../../src/credentials/credential.ts';
import { openValues } from '../../src/credentials/sealed-values.ts';
import { createCredentialMemory } from '../../src/credentials/memory.ts';
import { freshCredential } from '../../src/credentials/refresh.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { GatehouseError } from '../../src/lib/errors.ts';
import { createOutbound } from '../../src/outbound/outbound.ts';
import { createTelemetry } from '../../src/telemetry/telemetry.ts';
import { createLog } from '../../src/log.ts';
import { openStore } from '../../src/store/open-database.ts';
import type { Config } from '../../src/config.ts';
import { silentOperator } from './operator.ts';
import { oauthCatalog } from './token-server.ts';

/*
 * One of several processes over the same database. It gets a number of concurrent calls, and answers with their
 * results.
 */

export interface Order {
  credentialId: string;
  calls: number;
}
export interface Outcome {
  /** Access tokens of calls, or the codes of their errors. */
  got?: string[];
  /** Number of reads of credentials so far. */
  looks?: number;
}

const [settings = '{}'] = process.argv.slice(2);
const { database, origin }: { database: Config['database']; origin: string } = JSON.parse(settings);
const keys = createKeyRing([Buffer.alloc(32, 9).toString('base64')]);
const store = await openStore(database);
const selectFrom = store.db.selectFrom.bind(store.db);
let looks = 0;
Object.defineProperty(store.db, 'selectFrom', {
  value: (...args: Parameters<typeof selectFrom>) => {
    if (args[0] === 'credentials') process.send?.({ looks: ++looks } satisfies Outcome);
    return selectFrom(...args);
  },
});
const base = {
  store,
  db: store.db,
  clock: systemClock,
  log: createLog('silent'),
  telemetry: createTelemetry(),
  keys,
  catalog: oauthCatalog(origin),
  credentialMemory: createCredentialMemory({ clock: systemClock }),
  outbound: createOutbound({ allowedNetworks: [], allowPrivateNetwork: true }),
};
const context = { ...base, operator: silentOperator(base) };
const connector = context.catalog.connector('development', 'oauthy');
if (!connector) throw new Error('no connector');
const known = connector;

process.on('message', (order: Order) => void answer(order));
flushCompileCache();
process.send?.({ got: ['ready'] } satisfies Outcome);

async function answer({ credentialId, calls }: Order): Promise<void> {
  const row = await store.db
    .selectFrom('credentials')
    .selectAll()
    .where('credential_id', '=', credentialId)
    .executeTakeFirstOrThrow();
  const credential = toCredential(row);
  const got = await Promise.all(
    Array.from({ length: calls }, async () => {
      try {
        const fresh = await freshCredential(context, known, { credential });
        return openValues(context, fresh)['accessToken'] ?? '';
      } catch (error) {
        return error instanceof GatehouseError ? error.code : String(error);
      }
    }),
  );
  process.send?.({ got } satisfies Outcome);
}
