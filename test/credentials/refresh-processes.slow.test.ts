import { createSecretKey } from 'node:crypto';
import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { expect, test } from 'vitest';
import { createKeyRing } from '../../src/crypto/key-ring.ts';
import { saveOAuthApp } from '../../src/credentials/oauth-apps.ts';
import { createCredential } from '../../src/credentials/credential-records.ts';
import { createUser } from '../../src/identity/users.ts';
import { HOUR, systemClock } from '../../src/lib/clock.ts';
import { createOutbound } from '../../src/outbound/outbound.ts';
import { createTelemetry } from '../../src/telemetry/telemetry.ts';
import { createLog } from '../../src/log.ts';
import { migrate } from '../../src/store/migrate.ts';
import { openStore } from '../../src/store/open-database.ts';
import { createCredentialMemory } from '../../src/credentials/memory.ts';
import { createAccountChanges } from '../../src/sources/account-switch.ts';
import { createRemoteSessions } from '../../src/upstream/remote/remote-sessions.ts';
import { createThrottle } from '../../src/upstream/throttle.ts';
import { builtProgram } from '../support/built.ts';
import { silentOperator } from '../support/operator.ts';
import { freshDatabase, STORE_KINDS, type StoreKind } from '../support/stores.ts';
import type { Order, Outcome } from '../support/token-process.ts';
import { CLIENT, oauthCatalog, startTokenServer } from '../support/token-server.ts';

const PROCESSES = 4;
const CALLS = 50;

/** Opens four processes over one database, with a credential whose tokens the test expires. */
async function openProcesses(kind: StoreKind) {
  const { database, remove } = await freshDatabase(kind);
  const party = await startTokenServer();
  const store = await openStore(database);
  const { db } = store;
  await migrate(store, Date.now());
  const outbound = createOutbound({ allowedNetworks: [], allowPrivateNetwork: true });
  const base = {
    store,
    db,
    clock: systemClock,
    log: createLog('silent'),
    telemetry: createTelemetry(),
    keys: createKeyRing([Buffer.alloc(32, 9).toString('base64')]),
    catalog: oauthCatalog(party.origin),
    outbound,
    throttle: createThrottle(systemClock),
    remoteSessions: createRemoteSessions(outbound),
    hashKey: createSecretKey(Buffer.alloc(32, 7)),
    accountChanges: createAccountChanges({ clock: systemClock }),
    credentialMemory: createCredentialMemory({ clock: systemClock }),
  };
  const context = { ...base, operator: silentOperator(base) };
  await saveOAuthApp(context, { environment: 'development', connectorId: 'oauthy' }, CLIENT);
  const { userId } = await createUser(context, { environment: 'development', username: 'ada' });
  const expiresAt = new Date(Date.now() + HOUR).toISOString();
  const { credentialId } = await createCredential(context, {
    environment: 'development',
    userId,
    connectorId: 'oauthy',
    type: 'oauth2',
    data: { ...party.issue(), expiresAt },
  });
  const program = await builtProgram('token-process');
  const settings = JSON.stringify({ database, origin: party.origin });
  const children = await Promise.all(
    Array.from({ length: PROCESSES }, async () => {
      const child = fork(program, [settings], { execArgv: [] });
      await once(child, 'message');
      return child;
    }),
  );
  const row = () =>
    db
      .selectFrom('credentials')
      .selectAll()
      .where('credential_id', '=', credentialId)
      .executeTakeFirstOrThrow();
  return {
    party,
    children,
    row,
    ask: (child: ChildProcess, calls = CALLS): Promise<string[]> => ask(child, { credentialId, calls }),
    /** Expires the tokens, as if an hour had passed. */
    async expire() {
      const past = Date.now() - 1000;
      await db
        .updateTable('credentials')
        .set({ expires_at: past, renew_at: past, refresh_after: null })
        .execute();
    },
    change: (set: { lease_until?: number }) => db.updateTable('credentials').set(set).execute(),
    async [Symbol.asyncDispose]() {
      for (const child of children) child.kill('SIGKILL');
      await Promise.all(children.filter(isRunning).map((child) => once(child, 'exit')));
      await outbound.close();
      await store.close();
      await party[Symbol.asyncDispose]();
      await remove();
    },
  };
}

function ask(child: ChildProcess, order: Order): Promise<string[]> {
  const { promise, resolve } = Promise.withResolvers<string[]>();
  const hear = ({ got }: Outcome) => {
    if (!got) return;
    child.off('message', hear);
    resolve(got);
  };
  child.on('message', hear).send(order);
  return promise;
}

/** Counts the reads of the credential by each process. */
function countLooks(children: readonly ChildProcess[]): number[] {
  const counts = children.map(() => 0);
  for (const [index, child] of children.entries())
    child.on('message', ({ looks }: Outcome) => {
      if (looks !== undefined) counts[index] = looks;
    });
  return counts;
}

test.each(STORE_KINDS)('two hundred calls of four processes make one grant per expiry (%s)', async (kind) => {
  await using all = await openProcesses(kind);
  const { party } = all;
  const everybody = async () => (await Promise.all(all.children.map((child) => all.ask(child)))).flat();
  let grants = 0;
  for (const delayMs of [0, 700, 5]) {
    await all.expire();
    party.delayMs = delayMs;
    const got = await everybody();
    expect(got).toHaveLength(PROCESSES * CALLS);
    expect(new Set(got).size).toBe(1);
    expect(got[0]).toMatch(/^at_/);
    expect(party.granted).toBe(++grants);
  }
  for (const mode of ['500', '429', 'html', 'drop', 'crash', 'lost'] as const) {
    await all.expire();
    party.mode = mode;
    if (mode === 'lost') grants++;
    const before = party.asked.length;
    const got = await everybody();
    expect([...new Set(got)].filter((code) => !code.startsWith('upstream_'))).toEqual([]);
    expect([mode, party.asked.length]).toEqual([mode, before + 1]);
    expect(await all.row()).toMatchObject({ state: 'active' });

    await all.expire();
    party.mode = 'ok';
    expect(new Set(await everybody()).size).toBe(1);
    expect(party.granted).toBe(++grants);
  }
  expect(party.reused).toBe(0);
  // One grant was lost on its way, so it is not in the version count.
  expect(await all.row()).toMatchObject({ state: 'active', refresh_failures: 0, version: grants });
});

test.each(STORE_KINDS)(
  'a process that dies during a renewal blocks others only for its lease (%s)',
  async (kind) => {
    await using all = await openProcesses(kind);
    const { party } = all;
    const [victim, ...others] = all.children;
    if (!victim) throw new Error('no process');
    await all.expire();
    const before = Date.now();
    party.mode = 'hang';
    void all.ask(victim, 1).catch(() => undefined);
    await expect.poll(() => party.asked.length).toBe(1);
    victim.kill('SIGKILL');
    party.mode = 'ok';

    const looks = countLooks(others);
    const waiting = Promise.all(others.map((child) => all.ask(child, 3)));
    // Each call reads the credential at first, and the lease once in a poll.
    await expect.poll(() => Math.min(...looks)).toBeGreaterThan(6);
    expect(party.asked).toHaveLength(1);
    const { lease_until: leaseUntil } = await all.row();
    // The lease is long enough for one attempt at a token endpoint, and ends half a minute after the death.
    expect(leaseUntil).toBeGreaterThan(before + 15_000);
    expect(leaseUntil).toBeLessThan(Date.now() + 30_000);
    await all.change({ lease_until: Date.now() });
    const got = (await waiting).flat();
    expect(new Set(got).size).toBe(1);
    expect(got[0]).toMatch(/^at_/);
    expect(party.asked).toHaveLength(2);
    expect(party.reused).toBe(0);
    expect(await all.row()).toMatchObject({ state: 'active', version: 2, lease_token: null });
  },
);

function isRunning({ exitCode, signalCode }: ChildProcess): boolean {
  return exitCode === null && signalCode === null;
}
