import type { Action } from '../connectors/catalog.ts';
import { SECOND } from '../lib/clock.ts';
import { UNKNOWN, type Metrics } from '../telemetry/metrics.ts';
import type { Execution } from './executions.ts';

/** Counts a call of an action. Names that the catalogue does not have are `unknown`, because callers choose them. */
export function countAction(
  { actions, actionDuration, actionErrors }: Metrics,
  known: Action | undefined,
  { outcome, errorCode, durationMs }: Pick<Execution, 'outcome' | 'errorCode' | 'durationMs'>,
): void {
  const connectorId = known?.connectorId ?? UNKNOWN;
  actions.count(connectorId, known?.actionId ?? UNKNOWN, outcome);
  actionDuration.observe(durationMs / SECOND, connectorId, outcome);
  if (errorCode !== undefined) actionErrors.count(connectorId, errorCode);
}
