import { createMetrics, type Metrics } from './metrics.ts';
import { NO_TRACING, type Tracing } from './tracing.ts';

/** The work of a process, as it is reported to operators: counts and traces. */
export interface Telemetry extends Metrics, Tracing {}

export function createTelemetry(tracing: Tracing = NO_TRACING): Telemetry {
  return { ...createMetrics(), ...tracing };
}
