import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import connectorSchema from '../../data/connector.schema.json' with { type: 'json' };

const ROOT = join(import.meta.dirname, '../..');
const run = promisify(execFile);

test('the schemas for editors and the field reference are current', async () => {
  const { stderr } = await run(process.execPath, ['test/connectors/print-schemas.ts', '--check'], {
    cwd: ROOT,
  });
  expect(stderr).toBe('');
});

test('a field of the schema has the doc comment of the format as description', () => {
  const { baseUrl } = connectorSchema.properties;
  expect(baseUrl.description).toContain('An https address without trailing slash');
});
