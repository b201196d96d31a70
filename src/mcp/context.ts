import type { Context as Connect } from '../connect/context.ts';
import type { Context as Identity } from '../identity/context.ts';
import type { Programs } from '../programs/program-pool.ts';
import type { Context as Workflows } from '../workflows/context.ts';

/** The parts that the MCP surface uses. */
export interface Context extends Connect, Workflows, Identity {
  readonly operator: Workflows['operator'];
  readonly programs: Programs;
}
