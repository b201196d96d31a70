import { createMetrics, type Metrics } from './metrics.ts';

/** The work of a process, as it is reported to operators. */
export interface Telemetry extends Metrics {}

export function createTelemetry(): Telemetry {
  return createMetrics();
}
