import type { Base } from '../base.ts';
import { effectOfCall } from '../connectors/effects.ts';
import { HOUR, DAY, isoTime, SECOND } from '../lib/clock.ts';
import { GatehouseError } from '../lib/errors.ts';
import { countInWindows, type StoredWindow } from '../runtime/stored-windows.ts';
import type { Budget, CallLimits } from '../servers/call-limits.ts';
import type { JsonObject } from '../lib/json.ts';
import type { UpstreamCall } from '../upstream/upstream-call.ts';

const WINDOWS_MS: Record<Budget['window'], number> = { '1h': HOUR, '1d': DAY };
const WINDOW_WORDS: Record<Budget['window'], string> = { '1h': 'an hour', '1d': 'a day' };

interface BudgetWindow extends StoredWindow {
  budget: Budget;
}

interface LimitedRequest {
  server?: { serverId: string; limits: CallLimits } | undefined;
  userId: string | undefined;
  input: JsonObject;
}

/**
 * Counts a call in the budgets of its server. It is the last check before the call, so that refused calls do not count.
 * @throws GatehouseError `budget_exceeded` (`details.limit`, `details.resetAt`) with Retry-After.
 */
export async function countInBudgets(
  context: Pick<Base, 'db' | 'clock'>,
  { server, userId, input }: LimitedRequest,
  { action }: Pick<UpstreamCall, 'action'>,
): Promise<void> {
  if (!server || server.limits.budgets.length === 0) return;
  const effect = effectOfCall(action, input);
  const { connectorId, actionId } = action;
  const subjects: Record<Budget['per'], string> = {
    server: '',
    user: userId ?? '',
    connector: connectorId,
    action: `${connectorId}.${actionId}`,
  };
  const windows = server.limits.budgets
    .filter((budget) => budget.effect === undefined || budget.effect === effect)
    .map((budget): BudgetWindow => ({
      budget,
      // The limit is not part of the key, so that the count stays when the limit changes.
      key: JSON.stringify([server.serverId, budget.per, budget.effect, budget.window, subjects[budget.per]]),
      limit: budget.limit,
      perSeconds: WINDOWS_MS[budget.window] / SECOND,
    }));
  if (windows.length === 0) return;
  const full = await countInWindows(context, windows);
  if (full) throw exceeded(full.window.budget, subjects, { resetAt: full.resetAt, now: context.clock.now() });
}

function exceeded(
  { per, effect, limit, window }: Budget,
  subjects: Record<Budget['per'], string>,
  { resetAt, now }: { resetAt: number; now: number },
): GatehouseError {
  const whose: Record<Budget['per'], string> = {
    server: '',
    user: ' of one user',
    connector: ` of ${subjects.connector}`,
    action: ` of ${subjects.action}`,
  };
  const seconds = Math.max(1, Math.ceil((resetAt - now) / SECOND));
  const calls = `${limit}${effect ? ` ${effect}` : ''} ${limit === 1 ? 'call' : 'calls'}${whose[per]}`;
  return new GatehouseError(
    'budget_exceeded',
    `This MCP server runs at most ${calls} within ${WINDOW_WORDS[window]}. The next one is possible at ${isoTime(resetAt)}, in ${waitWords(seconds)}.`,
    { details: { limit, resetAt: isoTime(resetAt) }, retryAfterSeconds: seconds },
  );
}

function waitWords(seconds: number): string {
  if (seconds < 120) return `${seconds} s`;
  return seconds < 7200 ? `${Math.ceil(seconds / 60)} minutes` : `${Math.ceil(seconds / 3600)} hours`;
}
