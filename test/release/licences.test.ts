import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { ROOT, shippedPackages } from './lock.ts';

/** Licences that allow redistribution within a program under Apache-2.0, with their text. */
const PERMISSIVE = new Set([
  '(MIT OR Apache-2.0)',
  '(MIT OR CC0-1.0)',
  '0BSD',
  'Apache-2.0',
  'BSD-2-Clause',
  'BSD-3-Clause',
  'BlueOak-1.0.0',
  'ISC',
  'MIT',
  'MIT AND ISC AND BSD-3-Clause',
]);

test('all packages that are shipped have permissive licences', () => {
  const packages = shippedPackages();
  expect(packages.length).toBeGreaterThan(50);
  const others = packages.filter(({ license }) => !PERMISSIVE.has(license));
  expect(others.map(({ name, license }) => `${name}: ${license}`)).toEqual([]);
  expect(packages.filter(({ folder }) => !existsSync(join(ROOT, folder)))).toEqual([]);
});
