import type { Changes } from '../../openapi/changes.ts';
import type { Report } from '../../openapi/reporter.ts';

/** Lines of one kind on a terminal; `--json` prints all. */
const MAX_LINES = 20;

export interface ImportResult {
  connectorId: string;
  /** Where it is written, for people. */
  place: string;
  /** Path of the connector file; absent for the store. */
  file?: string;
  /** Number of the newest version in the store. */
  version?: number | undefined;
  /** False where the connector stays as it was. */
  written: boolean;
  report: Report;
  /** The difference to the earlier import; absent for the first. */
  changes: Changes | undefined;
}

/** Prints the result of an import: as JSON whole, else a summary and the first lines of each list. */
export function printImport(
  result: ImportResult,
  { json, isBreaking, dryRun }: { json: boolean; isBreaking: boolean; dryRun: boolean },
): void {
  if (json) {
    const { place: _place, ...answer } = result;
    process.stdout.write(`${JSON.stringify(answer)}\n`);
    return;
  }
  const { connectorId, report, changes } = result;
  const lines = [
    `${connectorId}: ${report.imported} of ${report.operations} operations are actions` +
      (report.notChosen > 0 ? `, ${report.notChosen} were not chosen` : ''),
    ...listed(
      'left out',
      report.leftOut.map(({ operation, reason }) => `${operation}: ${reason}`),
    ),
    ...listed(
      'approximated',
      report.approximated.map(({ place, what }) => `${place}: ${what}`),
    ),
    ...(changes ? changeLines(changes) : []),
    ending(result, { isBreaking, dryRun }),
  ];
  process.stdout.write(`${lines.join('\n')}\n`);
}

function changeLines({ added, removed, changed, breaking }: Changes): string[] {
  return [
    ...listed('added', added),
    ...listed('removed', removed),
    ...listed(
      'changed',
      changed.map(({ actionId, differences }) => `${actionId}: ${differences.join(', ')}`),
    ),
    ...listed('breaks callers', breaking),
  ];
}

function ending(
  { written, changes, place }: ImportResult,
  { isBreaking, dryRun }: { isBreaking: boolean; dryRun: boolean },
): string {
  if (isBreaking)
    return `Nothing was written, because callers would break. Accept that with --accept-breaking.`;
  if (written) return changes ? `${place} is updated` : `${place} is written`;
  return dryRun ? 'Nothing was written, because of --dry-run' : `${place} is up to date`;
}

function listed(title: string, entries: string[]): string[] {
  const more = entries.length - MAX_LINES;
  return [
    ...entries.slice(0, MAX_LINES).map((entry) => `  ${title}: ${entry}`),
    ...(more > 0 ? [`  ${title}: ${more} more, which --json lists`] : []),
  ];
}
