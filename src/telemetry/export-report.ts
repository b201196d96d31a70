import { MINUTE } from '../lib/clock.ts';

/** The part of the log that the report uses. */
export interface ReportLog {
  info(facts: object, message: string): void;
  warn(facts: object, message: string): void;
}

/** Reports failed exports to the log, once in five minutes, and their end. */
export interface ExportReport {
  succeeded(): void;
  failed(error: Error | undefined): void;
}

const INTERVAL_MS = 5 * MINUTE;
const MAX_REASON = 200;

export function createExportReport(log: ReportLog, signal: 'traces' | 'metrics'): ExportReport {
  let failures = 0;
  let loggedAt = -Infinity;
  return {
    succeeded() {
      if (failures > 0) log.info({ signal, failures }, 'telemetry exported again');
      failures = 0;
      loggedAt = -Infinity;
    },
    failed(error) {
      failures++;
      const now = performance.now();
      if (now - loggedAt < INTERVAL_MS) return;
      loggedAt = now;
      log.warn({ signal, failures, reason: reasonOf(error) }, 'telemetry not exported, will go on');
    },
  };
}

/** Returns the cause without the answer of the collector. */
function reasonOf(error: Error | undefined): string {
  if (!error) return 'no answer';
  const code = 'code' in error && error.code !== undefined ? `${String(error.code)} ` : '';
  return `${code}${error.message}`.slice(0, MAX_REASON);
}
