import { existsSync, readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { expect, test } from 'vitest';

const ROOT = resolve(import.meta.dirname, '../..');
const SECTION = readFileSync(resolve(ROOT, 'docs/threat-model.md'), 'utf8')
  .split('\n## Doors\n')[1]
  ?.split('\n## ')[0];

test('docs/threat-model.md names an existing test for each door of a rule', () => {
  const rules = (SECTION ?? '').split('\n### ').slice(1);
  expect(rules.length).toBeGreaterThan(9);
  const faults = rules.flatMap((rule) => {
    const [title = ''] = rule.split('\n');
    const doors = [...rule.matchAll(/^\| ([^|]+) \| (test\/[\w/.-]+): “(.+)” \|$/gm)];
    const file = /^`(src\/[\w/.-]+)`$/m.exec(rule)?.[1] ?? '';
    const missing = doors.filter(([, , path = '', name = '']) => !hasTest(path, name));
    return [
      ...(existsSync(resolve(ROOT, file)) ? [] : [`${title}: no file ${file}`]),
      ...(doors.length > 1 ? [] : [`${title}: fewer than two doors`]),
      ...missing.map(([, door, path, name]) => `${title}, ${door}: ${path} has no test “${name}”`),
    ];
  });
  expect(faults).toEqual([]);
});

function hasTest(path: string, name: string): boolean {
  const file = resolve(ROOT, path);
  if (!existsSync(file)) return false;
  const text = readFileSync(file, 'utf8');
  return [`'${name}'`, `"${name}"`].some((title) => text.includes(title));
}
