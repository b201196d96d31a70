import { z } from 'zod';
import type { Action } from '../connectors/catalog.ts';
import type { Effect } from '../connectors/effects.ts';
import { RAW_ACTION } from '../connectors/raw-action.ts';
import { invalidRequest, type Fault } from '../lib/errors.ts';
import { memoByObject } from '../lib/memo.ts';
import { compileActions } from './name-patterns.ts';

const MAX_STARS = 4;
const mode = z.enum(['allowlist', 'blocklist']).optional();
const ids = z.array(z.string().min(1).max(200)).max(1000).optional();
const actionNames = ids.meta({
  description:
    '`actionId`, of any connector, or `connectorId.actionId`. `*` stands for any text within one part, at most ' +
    `${MAX_STARS} times in an entry.`,
});
/** The effects of calls. */
export const EFFECTS = ['read', 'write', 'destructive'] as const satisfies readonly Effect[];
const effects = z.array(z.enum(EFFECTS)).max(EFFECTS.length).optional();

/** ServerRestrictions, extended by the effects that actions may have and that need confirmation. */
export const restrictionsSchema = z
  .strictObject({
    connectors: z.strictObject({ mode, allowedIds: ids, blockedIds: ids }).optional(),
    actions: z.strictObject({ mode, allowedActions: actionNames, blockedActions: actionNames }).optional(),
    users: z.strictObject({ mode, allowedIds: ids, blockedIds: ids }).optional(),
    effects: z
      .strictObject({
        allowed: effects.meta({
          description:
            'Effects that actions may have. Other actions are hidden and rejected; an empty list rejects all.',
        }),
      })
      .optional(),
    confirm: effects.meta({
      description: 'Effects whose calls need the user’s agreement before they run.',
    }),
  })
  .meta({ id: 'Restrictions', description: 'Rules of what may be used through a server.' });
export type Restrictions = z.infer<typeof restrictionsSchema>;

/**
 * The decision of a set of restrictions. Each method returns the rule that denies (`actions.blockedActions`), or
 * undefined when allowed. It is a pure function of its input.
 */
export interface Decision {
  /** Whether any rule can deny something. */
  readonly active: boolean;
  connector(connectorId: string): string | undefined;
  /** Decides by names alone, for actions that may not exist. Includes the connector's own rule. */
  named(connectorId: string, actionId: string): string | undefined;
  /** Decides by name for the raw call of a connector, which an allowlist must name exactly. */
  raw(connectorId: string): string | undefined;
  /** Decides by effect alone, for calls without an action and for calls with known input. */
  effect(effect: Effect): string | undefined;
  /** Decides by names and effects. An action is denied when all effects of its calls are denied. */
  action(action: Action): string | undefined;
  /** The rule that requires the user's agreement for a call of this effect. */
  confirms(effect: Effect): string | undefined;
  /** Decides for a user; undefined means that no user is known. */
  user(userId: string | undefined): string | undefined;
}

/** One dimension of a set. `check` returns the setting that denies. */
interface Rule<Asked extends unknown[]> {
  readonly denies: boolean;
  check(...asked: Asked): string | undefined;
}

/**
 * Prepares restrictions for repeated queries: those of a server, and those of its environment for user-made servers.
 * Both apply. The first that denies is named by its setting. A list is compiled at its first query.
 */
export function decide(own: Restrictions, ofEnvironment: Restrictions = {}): Decision {
  const sets = [rulesOf('', own), rulesOf('userServerRestrictions.', ofEnvironment)];
  const firstDenial = (check: (set: RuleSet) => string | undefined): string | undefined => {
    for (const set of sets) {
      const denied = check(set);
      if (denied) return denied;
    }
    return undefined;
  };
  const connector = (connectorId: string): string | undefined =>
    firstDenial((set) => set.connectors.check(connectorId));
  const named = (connectorId: string, actionId: string): string | undefined =>
    connector(connectorId) ?? firstDenial((set) => set.actions.check(connectorId, actionId));
  const rawDenial = rawRule(own, ofEnvironment);
  const raw = (connectorId: string): string | undefined =>
    named(connectorId, RAW_ACTION) ?? rawDenial(connectorId);
  const effect = (of: Effect): string | undefined => firstDenial((set) => set.effects.check(of));
  const everyEffect = (effects: readonly Effect[]): string | undefined => {
    let rule: string | undefined;
    for (const one of effects) {
      rule = effect(one);
      if (rule === undefined) return undefined;
    }
    return rule;
  };

  // Every listing, search and call of every user asks about the same actions.
  const ofAction = memoByObject((one: Action) => ({
    rule:
      (one.actionId === RAW_ACTION ? raw(one.connectorId) : named(one.connectorId, one.actionId)) ??
      everyEffect(one.effects),
  }));

  return {
    active: sets.some(denies),
    connector,
    named,
    raw,
    effect,
    action: (one) => ofAction(one).rule,
    confirms: (of) => firstDenial((set) => (set.confirm.includes(of) ? set.confirmSetting : undefined)),
    user: (userId) => firstDenial((set) => set.users.check(userId)),
  };
}

/**
 * Returns a function with the rule against the raw call of a connector: an allowlist must name it exactly, because a
 * pattern such as `app.*` allows the actions of the connector file. That of the environment must do so too where it
 * restricts actions.
 */
function rawRule(
  own: Restrictions,
  ofEnvironment: Restrictions,
): (connectorId: string) => string | undefined {
  const named = ({ actions: { mode: given, allowedActions = [], blockedActions = [] } = {} }: Restrictions) =>
    new Set(given !== 'blocklist' && blockedActions.length === 0 ? allowedActions : []);
  const ofOwn = named(own);
  const isFree = !rulesOf('', { actions: ofEnvironment.actions }).actions.denies;
  const ofOthers = named(ofEnvironment);
  return (connectorId) => {
    const entry = `${connectorId}.${RAW_ACTION}`;
    if (!ofOwn.has(entry)) return 'actions.allowedActions';
    return isFree || ofOthers.has(entry) ? undefined : 'userServerRestrictions.actions.allowedActions';
  };
}

/** Returns whether any rule of a server can deny something. */
export function isRestricting(restrictions: Restrictions): boolean {
  return denies(rulesOf('', restrictions));
}

/** Returns the number of entries of all lists. */
export function countEntries({ connectors, actions, users }: Restrictions): number {
  return [idLists(connectors), actionLists(actions), idLists(users)]
    .flatMap(({ allowed: [, allowed = []], blocked: [, blocked = []] }) => [allowed.length, blocked.length])
    .reduce((sum, length) => sum + length, 0);
}

function denies({ confirm, connectors, actions, users, effects }: RuleSet): boolean {
  return confirm.length > 0 || [connectors, actions, users, effects].some((rule) => rule.denies);
}

type RuleSet = ReturnType<typeof rulesOf>;

function rulesOf(
  within: string,
  { connectors, actions, users, effects: { allowed } = {}, confirm = [] }: Restrictions,
) {
  return {
    confirm,
    confirmSetting: `${within}confirm`,
    effects: effectRule(`${within}effects`, allowed),
    connectors: rule(`${within}connectors`, idLists(connectors), exactList),
    actions: rule(`${within}actions`, actionLists(actions), compileActions),
    users: rule(`${within}users`, idLists(users), exactList),
  };
}

/**
 * Checks the rules that the schema of restrictions cannot express.
 * @throws GatehouseError `invalid_request` when a list of the other mode is not empty, or an entry has too many `*`.
 */
export function assertCoherent(restrictions: Restrictions, where = 'restrictions'): void {
  const { connectors, actions, users } = restrictions;
  const faults = [
    ...contradiction(`${where}.connectors`, idLists(connectors)),
    ...contradiction(`${where}.actions`, actionLists(actions)),
    ...contradiction(`${where}.users`, idLists(users)),
    ...starFaults(`${where}.actions`, actionLists(actions)),
  ];
  if (faults.length > 0) throw invalidRequest(faults, 'The restrictions');
}

type Named = [name: string, list: readonly string[] | undefined];

/** The two lists of a dimension with their setting names. */
interface Lists {
  mode: 'allowlist' | 'blocklist' | undefined;
  allowed: Named;
  blocked: Named;
}

function idLists({ mode, allowedIds, blockedIds }: NonNullable<Restrictions['connectors']> = {}): Lists {
  return { mode, allowed: ['allowedIds', allowedIds], blocked: ['blockedIds', blockedIds] };
}

function actionLists({
  mode,
  allowedActions,
  blockedActions,
}: NonNullable<Restrictions['actions']> = {}): Lists {
  return { mode, allowed: ['allowedActions', allowedActions], blocked: ['blockedActions', blockedActions] };
}

function contradiction(
  where: string,
  { mode, allowed: [allowedName, allowed], blocked: [blockedName, blocked] }: Lists,
): Fault[] {
  if (mode === 'allowlist' && blocked?.length) {
    return [
      { field: `${where}.${blockedName}`, rule: `must be empty in mode allowlist; use ${allowedName}` },
    ];
  }
  if (mode === 'blocklist' && allowed?.length) {
    return [
      { field: `${where}.${allowedName}`, rule: `must be empty in mode blocklist; use ${blockedName}` },
    ];
  }
  if (!mode && allowed?.length && blocked?.length) {
    return [
      {
        field: `${where}.mode`,
        rule: `is required, because ${allowedName} and ${blockedName} are both given`,
      },
    ];
  }
  return [];
}

function starFaults(where: string, { allowed, blocked }: Lists): Fault[] {
  return [allowed, blocked].flatMap(([name, list = []]) =>
    list.flatMap((entry, position) =>
      entry.split('*').length - 1 <= MAX_STARS
        ? []
        : [{ field: `${where}.${name}.${position}`, rule: `must hold at most ${MAX_STARS} \`*\`` }],
    ),
  );
}

/** Returns a rule that compiles its list at the first query. */
function rule<Asked extends unknown[]>(
  dimension: string,
  { mode: given, allowed: [allowedName, allowed], blocked: [blockedName, blocked] }: Lists,
  compile: (list: readonly string[]) => (...asked: Asked) => boolean,
): Rule<Asked> {
  // Without a mode, the non-empty list decides; an empty list next to it has no effect.
  const mode = given ?? (blocked?.length ? 'blocklist' : allowed ? 'allowlist' : 'blocklist');
  const denyListed = mode === 'blocklist';
  const list = (denyListed ? blocked : allowed) ?? [];
  const name = `${dimension}.${denyListed ? blockedName : allowedName}`;
  let isListed: ((...asked: Asked) => boolean) | undefined;
  return {
    denies: !denyListed || list.length > 0,
    check(...asked) {
      isListed ??= compile(list);
      return isListed(...asked) === denyListed ? name : undefined;
    },
  };
}

/** Compiles a list of exact entries. */
function exactList(list: readonly string[]): (asked: string | undefined) => boolean {
  const entries = new Set<string | undefined>(list);
  return (asked) => entries.has(asked);
}

/** Returns the rule for effects. Allowing all three effects means no rule. */
function effectRule(dimension: string, allowed: Effect[] | undefined): Rule<[Effect]> {
  const given = allowed && EFFECTS.every((one) => allowed.includes(one)) ? undefined : allowed;
  const lists: Lists = {
    mode: given && 'allowlist',
    allowed: ['allowed', given],
    blocked: ['blocked', undefined],
  };
  return rule(dimension, lists, exactList);
}
