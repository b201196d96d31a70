import type { Base } from '../base.ts';
import type { AuditLog } from '../runtime/audit-log.ts';
import type { Limits } from '../runtime/limits.ts';
import type { Environment } from '../store/environments.ts';
import type { Callers } from './caller.ts';
import type { Oidc } from './oidc.ts';

/** The parts that REST and MCP use to admit a request. */
export interface Context extends Base {
  readonly callers: Callers;
  readonly limits: Limits;
  /** The OpenID Connect provider of the console; undefined without one. */
  readonly oidc: Oidc | undefined;
  /** The audit log of administration, as this process writes it. */
  readonly audit: AuditLog;
  /** Returns the browser origins that the operator listed for an environment. */
  originsOf(environment: Environment): Promise<readonly string[]>;
}
