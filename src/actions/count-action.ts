import type { Action } from '../connectors/catalog.ts';
import { SECOND } from '../lib/clock.ts';
import { UNKNOWN } from '../telemetry/metrics.ts';
import type { Telemetry } from '../telemetry/telemetry.ts';
import type { Execution } from './executions.ts';

/** Counts a call of an action, and names its span. Names that the catalogue does not have are `unknown`, because callers choose them. */
export function countAction(
  { actions, actionDuration, actionErrors, traces, note }: Telemetry,
  known: Action | undefined,
  { outcome, errorCode, durationMs }: Pick<Execution, 'outcome' | 'errorCode' | 'durationMs'>,
): void {
  const connectorId = known?.connectorId ?? UNKNOWN;
  const actionId = known?.actionId ?? UNKNOWN;
  actions.count(connectorId, actionId, outcome);
  actionDuration.observe(durationMs / SECOND, connectorId, outcome);
  if (errorCode !== undefined) actionErrors.count(connectorId, errorCode);
  if (!traces) return;
  note({
    name: `action ${connectorId}.${actionId}`,
    attributes: {
      'gatehouse.connector': connectorId,
      'gatehouse.action': actionId,
      'gatehouse.outcome': outcome,
    },
  });
}
