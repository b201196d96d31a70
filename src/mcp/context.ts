import type { Context as Connect } from '../connect/context.ts';
import type { Limits } from '../runtime/limits.ts';
import type { Callers } from '../identity/caller.ts';
import type { Context as Workflows } from '../workflows/context.ts';

/** The parts that the MCP surface uses. */
export interface Context extends Connect, Workflows {
  readonly operator: Workflows['operator'];
  readonly callers: Callers;
  readonly limits: Limits;
}
