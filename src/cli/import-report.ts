import type { Changes } from '../openapi/changes.ts';
import type { Report } from '../openapi/reporter.ts';

/** Lines of one kind on a terminal; `--json` prints all. */
const MAX_LINES = 20;

export interface ImportResult {
  connectorId: string;
  file: string;
  /** False where the file stays as it was. */
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
    process.stdout.write(`${JSON.stringify(result)}\n`);
    return;
  }
  const { connectorId, file, report, changes } = result;
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
    ending(result, { isBreaking, dryRun, file }),
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
  { written, changes }: ImportResult,
  { isBreaking, dryRun, file }: { isBreaking: boolean; dryRun: boolean; file: string },
): string {
  if (isBreaking)
    return `Nothing was written, because callers would break. Accept that with --accept-breaking.`;
  if (written) return changes ? `${file} is updated` : `${file} is written`;
  return dryRun ? 'Nothing was written, because of --dry-run' : `${file} is up to date`;
}

function listed(title: string, entries: string[]): string[] {
  const more = entries.length - MAX_LINES;
  return [
    ...entries.slice(0, MAX_LINES).map((entry) => `  ${title}: ${entry}`),
    ...(more > 0 ? [`  ${title}: ${more} more, which --json lists`] : []),
  ];
}
