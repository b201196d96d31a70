import type { Context as Credentials } from '../credentials/context.ts';
import type { ExecutionSummaries } from './execution-summary.ts';
import type { ExecutionLog } from './executions.ts';
import type { Circuits } from './circuits.ts';

/** The parts that actions use. */
export interface Context extends Credentials {
  readonly executions: ExecutionLog;
  readonly circuits: Circuits;
  readonly executionSummaries: ExecutionSummaries;
}
