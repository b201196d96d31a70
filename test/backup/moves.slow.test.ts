import { randomUUID } from 'node:crypto';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { runCli } from '../support/cli.ts';
import { faultsOf, fill, load, newPlace, serveAt, usersOf } from '../support/backup.ts';
import { STORE_KINDS, type StoreKind } from '../support/stores.ts';
import { until } from '../support/until.ts';

/** `npm run proof:backup` runs 20 rounds. */
const ROUNDS = process.env['PROOF'] === 'full' ? 10 : 1;
const other = (kind: StoreKind): StoreKind => (kind === 'sqlite' ? 'postgres' : 'sqlite');

for (const from of STORE_KINDS) {
  test.each(Array.from({ length: ROUNDS }, (_, round) => round + 1))(
    `a backup of ${from} under load works on ${other(from)}, round %i`,
    async (round) => {
      await using place = await newPlace(from);
      await using service = await serveAt(place);
      const contents = await fill(service);
      const requests = load(service);
      await until(() => requests.acknowledged.length > 20 + Math.random() * 100);

      const file = join(place.home, '..', `${randomUUID()}.backup`);
      const before = [...requests.acknowledged];
      const backup = runCli(['backup', file, '--json'], place.env);
      // Every second kill is in the middle of the backup.
      if (round % 2 === 0) await service.stop('SIGKILL');
      const written = await backup;
      await service.stop('SIGKILL');
      await requests.stop();
      expect([written.code, written.err.trim().split('\n').length]).toEqual([0, 1]);
      expect(JSON.parse(written.out)).toMatchObject({ database: from, withKeys: true, encrypted: false });

      await using target = await newPlace(other(from));
      const restored = await runCli(['restore', file, '--json'], target.env);
      rmSync(file);
      expect([restored.code, restored.err]).toEqual([0, '']);
      expect(JSON.parse(restored.out)).toMatchObject({ from, database: other(from) });
      await using again = await serveAt(target);
      expect(await faultsOf(again, contents)).toEqual([]);
      const names = await usersOf(again);
      expect(before.filter((name) => !names.has(name))).toEqual([]);
    },
  );
}
