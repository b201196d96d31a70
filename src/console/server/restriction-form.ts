import type { Effect, Restrictions } from '../api-types.ts';

/** One dimension of restrictions, as the form shows it. */
export interface ListRule {
  mode: 'off' | 'allowlist' | 'blocklist';
  entries: string[];
}

export interface RestrictionForm {
  connectors: ListRule;
  actions: ListRule;
  users: ListRule;
  effects: Effect[];
  confirm: Effect[];
}

export const EFFECTS: Effect[] = ['read', 'write', 'destructive'];

/** Returns the form of stored restrictions. */
export function formOf({ connectors, actions, users, effects, confirm }: Restrictions): RestrictionForm {
  return {
    connectors: ruleOf(connectors?.mode, connectors?.allowedIds, connectors?.blockedIds),
    actions: ruleOf(actions?.mode, actions?.allowedActions, actions?.blockedActions),
    users: ruleOf(users?.mode, users?.allowedIds, users?.blockedIds),
    effects: effects?.allowed ?? EFFECTS,
    confirm: confirm ?? [],
  };
}

/** Reads a rule as Gatehouse does: without a mode, the list that is not empty decides. */
function ruleOf(
  given: 'allowlist' | 'blocklist' | undefined,
  allowed: string[] | undefined,
  blocked: string[] | undefined,
): ListRule {
  const mode = given ?? (blocked?.length ? 'blocklist' : allowed ? 'allowlist' : 'off');
  const entries = (mode === 'blocklist' ? blocked : allowed) ?? [];
  return mode === 'blocklist' && entries.length === 0 ? { mode: 'off', entries } : { mode, entries };
}

/** Returns the restrictions in the form that the API takes. */
export function restrictionsOf({
  connectors,
  actions,
  users,
  effects,
  confirm,
}: RestrictionForm): Restrictions {
  const restrictions: Restrictions = {};
  if (connectors.mode !== 'off') restrictions.connectors = idRule(connectors);
  if (users.mode !== 'off') restrictions.users = idRule(users);
  if (actions.mode === 'allowlist')
    restrictions.actions = { mode: actions.mode, allowedActions: actions.entries };
  if (actions.mode === 'blocklist')
    restrictions.actions = { mode: actions.mode, blockedActions: actions.entries };
  if (effects.length < EFFECTS.length) restrictions.effects = { allowed: effects };
  if (confirm.length > 0) restrictions.confirm = confirm;
  return restrictions;
}

function idRule({ mode, entries }: ListRule): NonNullable<Restrictions['users']> {
  return mode === 'allowlist' ? { mode, allowedIds: entries } : { mode: 'blocklist', blockedIds: entries };
}
