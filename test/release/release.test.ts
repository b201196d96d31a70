import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { SERVER_INFO } from '../../src/mcp/protocol/initialize.ts';
import { ROOT } from './lock.ts';
import { faultsOf, publishCommand, type Repository } from './release-checks.ts';

const READY: Repository = {
  version: '0.3.0',
  changelog:
    '# Changelog\n\n## [Unreleased]\n\n## [0.3.0] - 2026-12-01\n\n### Added\n\n- A thing.\n\n## [0.2.0] - 2026-11-01\n',
  servedVersion: '0.3.0',
  tags: ['v0.2.0'],
  status: '',
};

test('a clean repository with a version, a date and entries may be released', () => {
  expect(faultsOf(READY)).toEqual([]);
});

test.each<[string, Partial<Repository>, string]>([
  ['a changed file', { status: ' M README.md\n' }, 'Commit or remove these files:\n M README.md'],
  [
    'a version that is no semantic one',
    { version: 'next', servedVersion: 'next' },
    '"next", which is no semantic version',
  ],
  ['a tag of that version', { tags: ['v0.3.0'] }, 'The tag v0.3.0 exists.'],
  ['another version for MCP clients', { servedVersion: '0.2.0' }, 'SERVER_INFO has the version "0.2.0"'],
  ['no section of the version', { changelog: '## [Unreleased]\n' }, 'no heading "## [0.3.0] - <date>"'],
  [
    'a section without a date',
    { changelog: '## [0.3.0] - soon\n- A thing.\n' },
    'no heading "## [0.3.0] - <date>"',
  ],
  [
    'a section without an entry',
    { changelog: '## [0.3.0] - 2026-12-01\n\n## [0.2.0] - 2026-11-01\n- Old.\n' },
    'has no entry',
  ],
  [
    'entries that are not released',
    { changelog: '## [Unreleased]\n- New.\n## [0.3.0] - 2026-12-01\n- A thing.\n' },
    'entries under "Unreleased"',
  ],
])('%s stops a release', (_, change, fault) => {
  expect(faultsOf({ ...READY, ...change })).toContainEqual(expect.stringContaining(fault));
});

test.each([
  ['1.0.0', 'npm publish --access public a.tgz'],
  ['1.0.0-rc.1', 'npm publish --access public --tag next a.tgz'],
])('the release %s is published by a command that npm accepts', (version, command) => {
  expect(publishCommand(version, 'a.tgz')).toBe(command);
});

test('MCP clients see the version of the package', () => {
  const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));
  expect(SERVER_INFO.version).toBe(version);
});
