import type { Base } from '../base.ts';
import type { Limits } from '../runtime/limits.ts';
import type { Environment } from '../store/environments.ts';
import type { Callers } from './caller.ts';

/** The parts that REST and MCP use to admit a request. */
export interface Context extends Base {
  readonly callers: Callers;
  readonly limits: Limits;
  /** Returns the browser origins that the operator listed for an environment. */
  originsOf(environment: Environment): Promise<readonly string[]>;
}
