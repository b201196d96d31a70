/* The report of an import: what was left out and why, and what was approximated. */

/** Longest list in a report; further entries are counted. */
const MAX_LISTED = 1000;

export interface Report {
  /** Operations in the document. */
  operations: number;
  /** Operations that became actions. */
  imported: number;
  /** Operations that `include` did not choose. */
  notChosen: number;
  /** Operations that were chosen and could not be imported. */
  leftOut: { operation: string; reason: string }[];
  /** Parts whose action differs from the document, by their place in it. */
  approximated: { place: string; what: string }[];
  /** Number of entries that the two lists do not hold. */
  moreEntries: number;
}

export interface Reporter {
  readonly report: Report;
  leaveOut(operation: string, reason: string): void;
  approximate(place: string, what: string): void;
}

/** Returns a collector of report entries; equal ones are listed once. */
export function createReporter(): Reporter {
  const report: Report = {
    operations: 0,
    imported: 0,
    notChosen: 0,
    leftOut: [],
    approximated: [],
    moreEntries: 0,
  };
  const seen = new Set<string>();
  const add = <T>(list: T[], entry: T, key: string) => {
    if (seen.has(key)) return;
    if (seen.size < MAX_LISTED * 10) seen.add(key);
    if (list.length < MAX_LISTED) list.push(entry);
    else report.moreEntries++;
  };
  return {
    report,
    leaveOut: (operation, reason) =>
      add(report.leftOut, { operation, reason: cut(reason) }, `o ${operation}`),
    approximate: (place, what) =>
      add(report.approximated, { place: cut(place), what: cut(what) }, `a ${place} ${what}`),
  };
}

function cut(text: string): string {
  return text.length > 300 ? `${text.slice(0, 299)}…` : text;
}
