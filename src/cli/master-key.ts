import { setTimeout as delay } from 'node:timers/promises';
import { readConfig, type Config } from '../config.ts';
import { createKeyRing, newMasterKey } from '../crypto/key-ring.ts';
import { changeMasterKeys, masterKeyPath, REREAD_MS } from '../crypto/master-key-file.ts';
import { withVault } from '../crypto/vault.ts';
import { dropEarlierKeys, rewrapKeys } from '../crypto/wrapped-keys.ts';
import { keyUses, resealAll, rowsByKey, type LostRow } from '../crypto/rotation.ts';
import { openStarted } from './started.ts';
import { CommandError } from './faults.ts';

/** Passes over the store. Each pass finds the rows that requests changed during the previous pass. */
const MAX_PASSES = 20;

type Context = Awaited<ReturnType<typeof openStarted>>;
/** The store, and the name of the first key. */
interface RowsContext {
  readonly db: Context['db'];
  readonly keys: Pick<Context['keys'], 'keyId'>;
}

/**
 * Runs `gatehouse master-key rotate`. With keys in a file, it makes a new key. With Vault, it has Vault wrap the keys again.
 * Then it seals the rows of other keys with the first key. A repeated call continues after a stopped one. Returns 1 when
 * rows are left.
 * @throws CommandError before the first start, and when the operator has to change the configuration first.
 */
export async function rotateMasterKey(options: { oneMachine: boolean; json: boolean }): Promise<number> {
  const config = readConfig();
  const context = await openStarted(config);
  try {
    const { keyVault } = config;
    const rewrapped = keyVault
      ? await withVault(keyVault, { retries: false }, (vault) => rewrapKeys(context.db, vault))
      : 0;
    const added = keyVault ? false : await addKey(context, config, options.oneMachine);
    const { keys, db } = context;
    const lost = new Map<string, LostRow>();
    let resealed = 0;
    let left = await rowsLeft(context);
    for (let pass = 0; left > 0 && pass < MAX_PASSES; pass++) {
      const total = resealed + left;
      const done = await resealAll(db, keys, (rows) => report(options, resealed + rows, total));
      resealed += done.rows;
      for (const row of done.lost) lost.set(`${row.column} ${row.row}`, row);
      left = await rowsLeft(context);
      if (left <= lost.size) break;
      // A process may still seal with the key that it read before.
      await delay(REREAD_MS);
    }
    print(options, { keyId: keys.keyId, added, rewrapped, resealed, left, lost: [...lost.values()] });
    return left === 0 ? 0 : 1;
  } finally {
    await context.close();
  }
}

/**
 * Runs `gatehouse master-key retire`: removes the keys from the file that seal no row.
 * @throws CommandError while a key that is not the first one seals rows.
 */
export async function retireMasterKeys({ json }: { json: boolean }): Promise<number> {
  const config = readConfig();
  const context = await openStarted(config);
  try {
    if (config.masterKeys) {
      await requireNoRowsLeft(context);
      throw new CommandError(
        `No row needs a key but ${context.keys.keyId}, the first one. Leave the others out of GATEHOUSE_MASTER_KEY, and restart each process.`,
      );
    }
    const { where, keyId, removed } = await (config.keyVault
      ? retireWrapped(context)
      : retireInFile(context, config));
    if (json) process.stdout.write(`${JSON.stringify({ keyId, removed })}\n`);
    else
      process.stderr.write(
        `${where} holds only key ${keyId} now; ${removed} earlier keys were removed. ` +
          'Earlier backups need the keys that were valid then.\n',
      );
    return 0;
  } finally {
    await context.close();
  }
}

interface Retired {
  where: string;
  keyId: string;
  removed: number;
}

async function retireInFile(context: Context, config: Config): Promise<Retired> {
  const where = masterKeyPath(config);
  const retired = { where, keyId: '', removed: 0 };
  await changeMasterKeys(where, async (keys) => {
    const [first = '', ...earlier] = keys;
    // The file may have another first key than this process has read.
    retired.keyId = createKeyRing(keys).keyId;
    await requireNoRowsLeft({ ...context, keys: retired });
    retired.removed = earlier.length;
    return earlier.length > 0 ? [first] : undefined;
  });
  return retired;
}

async function retireWrapped(context: Context): Promise<Retired> {
  const { keyId } = context.keys;
  await requireNoRowsLeft(context);
  return { where: 'The store', keyId, removed: await dropEarlierKeys(context.db, keyId) };
}

/**
 * Adds a new key as the first line of the file. Adds none when an earlier call was stopped after it had added one, or when
 * another command has just added one. Returns whether it added a key.
 */
async function addKey(context: Context, config: Config, isOneMachine: boolean): Promise<boolean> {
  const { keyId, keyIds } = context.keys;
  if ((await rowsLeft({ ...context, keys: { keyId } })) > 0) return false;
  if (config.masterKeys) {
    if (keyIds.length > 1) return false;
    throw new CommandError(
      'GATEHOUSE_MASTER_KEY has one key, and all rows are sealed with it. Set it to "<old key>,<new key>" for each ' +
        'process and restart it, then to "<new key>,<old key>" and restart it, and run this command again. Make a key ' +
        'with: openssl rand -base64 32',
    );
  }
  if (config.database.kind === 'postgres' && !isOneMachine)
    throw new CommandError(
      'Processes on other machines could not read what a new key seals. Add the key to the file of each machine ' +
        'first, as its last line, then move it to the first line and run this command again. Without other machines, add --one-machine.',
    );
  let added = false;
  await changeMasterKeys(masterKeyPath(config), async (keys) => {
    added = createKeyRing(keys).keyId === keyId;
    return added ? [newMasterKey(), ...keys] : undefined;
  });
  // From here on, each process that runs reads the file again before it seals.
  await delay(2 * REREAD_MS);
  return added;
}

/** @throws CommandError while a key that is not the first one seals rows. */
async function requireNoRowsLeft(context: RowsContext): Promise<void> {
  const left = await rowsLeft(context);
  if (left > 0)
    throw new CommandError(
      `${left} rows are sealed with an earlier master key. Run: gatehouse master-key rotate`,
    );
}

async function rowsLeft({ db, keys }: RowsContext): Promise<number> {
  const { keyId } = keys;
  let left = 0;
  for (const [key, rows] of rowsByKey(await keyUses(db))) if (key !== keyId) left += rows;
  return left;
}

function report({ json }: { json: boolean }, done: number, total: number): void {
  if (!json && process.stderr.isTTY) process.stderr.write(`\r${done} of ${total} rows`);
}

interface Rotation {
  keyId: string;
  added: boolean;
  /** Count of the keys that Vault wrapped again. */
  rewrapped: number;
  resealed: number;
  left: number;
  lost: LostRow[];
}

function print({ json }: { json: boolean }, rotation: Rotation): void {
  if (json) {
    process.stdout.write(`${JSON.stringify(rotation)}\n`);
    return;
  }
  const { keyId, added, rewrapped, resealed, left, lost } = rotation;
  const lines = [
    ...(rewrapped > 0 ? ['Vault wrapped the master key again, with the newest version of its key.'] : []),
    `${added ? 'The new master key' : 'Master key'} ${keyId} seals all new data. ${resealed} rows were sealed again, ${left} are left.`,
    ...lost.map(({ column, row, reason }) => `${column}, row ${row}: ${reason}`),
    left === 0
      ? 'No row needs an earlier key. Make a backup, then run: gatehouse master-key retire'
      : 'Run the command again. A row that no key opens stays as it is; restore it from a backup, or delete it.',
  ];
  process.stderr.write(`${process.stderr.isTTY ? '\r' : ''}${lines.join('\n')}\n`);
}
