/** State of the repository that a release is made of. */
export interface Repository {
  version: string;
  /** Text of CHANGELOG.md. */
  changelog: string;
  /** Version that MCP clients see. */
  servedVersion: string | undefined;
  tags: readonly string[];
  /** Output of `git status --porcelain`. */
  status: string;
}

const VERSION = /^\d+\.\d+\.\d+(?:-[0-9A-Za-z.-]+)?$/;

/** Returns what must be done before a release, a sentence each. An empty list allows it. */
export function faultsOf({ version, changelog, servedVersion, tags, status }: Repository): string[] {
  const faults: string[] = [];
  if (status.trim() !== '') faults.push(`Commit or remove these files:\n${status.trimEnd()}`);
  if (!VERSION.test(version))
    faults.push(`package.json has the version "${version}", which is no semantic version.`);
  if (tags.includes(`v${version}`))
    faults.push(
      `The tag v${version} exists. Set the next version: npm version --no-git-tag-version <version>.`,
    );
  if (servedVersion !== version)
    faults.push(`SERVER_INFO has the version "${servedVersion}"; set it to "${version}".`);
  return [...faults, ...faultsOfChangelog(changelog, version)];
}

/** Returns the command that publishes a package. npm refuses a version such as 1.0.0-rc.1 without a tag of its own. */
export function publishCommand(version: string, tarball: string): string {
  return `npm publish --access public ${version.includes('-') ? '--tag next ' : ''}${tarball}`;
}

function faultsOfChangelog(changelog: string, version: string): string[] {
  const entries = sectionOf(changelog, version);
  if (entries === undefined) return [`CHANGELOG.md has no heading "## [${version}] - <date>".`];
  const faults: string[] = [];
  if (!/^- /m.test(entries)) faults.push(`The section of ${version} in CHANGELOG.md has no entry.`);
  const unreleased = sectionOf(changelog, 'Unreleased');
  if (unreleased !== undefined && /^- /m.test(unreleased))
    faults.push(
      `CHANGELOG.md has entries under "Unreleased". Move them to ${version}, or commit them later.`,
    );
  return faults;
}

/** Returns the text below the heading of a version, which has a date unless it is not released; undefined without it. */
function sectionOf(changelog: string, name: string): string | undefined {
  const sections = changelog.split(/^## /m);
  const heading = name === 'Unreleased' ? '[Unreleased]' : `[${name}] - `;
  const found = sections.find((section) => section.startsWith(heading));
  if (found === undefined) return undefined;
  const [first = '', ...lines] = found.split('\n');
  return name === 'Unreleased' || /\d{4}-\d{2}-\d{2}$/.test(first) ? lines.join('\n') : undefined;
}
