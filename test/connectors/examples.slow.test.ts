import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { checkFile } from '../../src/author/check-file.ts';
import { examplesFile, type ActionExample } from '../../src/connectors/format/examples-format.ts';

const FOLDER = join(import.meta.dirname, '../../data/connectors');
const CONNECTORS = readdirSync(FOLDER);

test.each(CONNECTORS)('%s: every recorded example replays, request and answer', async (id) => {
  const checked = await checkFile(join(FOLDER, id, 'connector.yaml'));
  expect(checked.faults).toEqual([]);
  expect(checked.examples).toBeGreaterThanOrEqual(8);
  expect(checked.untried).toEqual([]);
  expect(checked.untriedActions).toEqual([]);
});

/**
 * Returns whether an example is a refusal for a missing right, by its status or its words, which differ between apps.
 */
const isMissingRight = ({ response, error }: ActionExample): boolean =>
  error?.code === 'upstream_rejected' &&
  (response.status === 401 ||
    response.status === 403 ||
    /scope|permission|access/i.test(JSON.stringify(response.body)));

test.each(CONNECTORS)('%s: examples show each kind of refusal', (id) => {
  const { examples } = examplesFile.parse(parse(readFileSync(join(FOLDER, id, 'examples.yaml'), 'utf8')));
  const codes = examples.map(({ error }) => error?.code);
  expect(codes).toContain('upstream_rate_limited');
  expect(codes).toContain('credential_invalid');
  expect(codes).toContain('upstream_failed');
  expect(examples.filter(isMissingRight)).not.toEqual([]);
});
