import type { Context } from '../context.ts';
import type { Grant } from './grant.ts';
import type { ResultSource } from './large-results.ts';

/**
 * Returns why the caller may not read a result: the rule that denies the action that produced it, or `gone` for an
 * action that does not exist any more. Undefined when the caller may.
 */
export function sourceRule(
  { catalog }: Pick<Context, 'catalog'>,
  { environment, live }: Pick<Grant, 'environment' | 'live'>,
  source: ResultSource | undefined,
): string | undefined {
  if (!source) return undefined;
  const action = catalog.action(environment, source.connectorId, source.actionId);
  return action ? live.decision.action(action) : 'gone';
}
