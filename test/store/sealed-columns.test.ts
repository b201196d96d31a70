import { expect, test } from 'vitest';
import { boundText, boundTo, SEALED_COLUMNS } from '../../src/store/sealed-columns.ts';

const VALUES = ['', '|', 'a', 'a|b', 'a|["b"]', '\\', '\\|', 'a\\'];

/** Returns all rows with these columns whose values are of VALUES. */
function rowsOf(names: string[]): Record<string, string>[] {
  const [name, ...others] = names;
  if (name === undefined) return [{}];
  return rowsOf(others).flatMap((row) => VALUES.map((value) => ({ ...row, [name]: value })));
}

test('two different rows never bind their boxes to one text', () => {
  const seen = new Map<string, string>();
  for (const [column, { bound }] of Object.entries(SEALED_COLUMNS)) {
    // The other columns of these texts are ids, which Gatehouse makes.
    const names = [...bound.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => name).slice(-3);
    for (const row of rowsOf(names)) {
      const place = `${column} ${JSON.stringify(row)}`;
      const address = boundText(bound, { environment: 'e', user_id: 'u', credential_id: 'c', ...row });
      expect(seen.get(address) ?? place).toBe(place);
      seen.set(address, place);
    }
  }
});

test('an OAuth app does not open without its origins under a client id that holds them', () => {
  const row = { environment: 'development', connector_id: 'notes' };
  const bound = boundTo('oauth_apps.sealed', {
    ...row,
    client_id: 'abc',
    origins: '["https://good.example"]',
  });
  const forged = { ...row, client_id: 'abc|["https://good.example"]', origins: '' };
  expect(boundTo('oauth_apps.sealed', forged)).not.toBe(bound);
});
