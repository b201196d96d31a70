import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { checkFile } from '../../src/cli/connectors-check.ts';

const FOLDER = join(import.meta.dirname, '../../data/connectors');

test.each(readdirSync(FOLDER))('%s: every recorded example replays, request and answer', async (id) => {
  const checked = await checkFile(join(FOLDER, id, 'connector.yaml'));
  expect(checked.faults).toEqual([]);
  expect(checked.examples).toBeGreaterThanOrEqual(8);
  expect(checked.untried).toEqual([]);
});
