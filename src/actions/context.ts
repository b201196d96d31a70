import type { Context as Credentials } from '../credentials/context.ts';
import type { ExecutionLog } from './executions.ts';

/** What actions need. */
export interface Context extends Credentials {
  readonly executions: ExecutionLog;
}
