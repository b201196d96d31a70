import { z } from 'zod';
import type { Action, Effect } from '../connectors/catalog.ts';
import { invalidRequest, type Fault } from '../lib/errors.ts';

const mode = z.enum(['allowlist', 'blocklist']).optional();
const ids = z.array(z.string().min(1).max(200)).max(1000).optional();
const EFFECTS = ['read', 'write', 'destructive'] as const satisfies readonly Effect[];
const effects = z.array(z.enum(EFFECTS)).max(EFFECTS.length).optional();

/** ServerRestrictions (service.md section 2), and what actions may do and ask for. */
export const restrictionsSchema = z.strictObject({
  connectors: z.strictObject({ mode, allowedIds: ids, blockedIds: ids }).optional(),
  actions: z.strictObject({ mode, allowedActions: ids, blockedActions: ids }).optional(),
  users: z.strictObject({ mode, allowedIds: ids, blockedIds: ids }).optional(),
  effects: z
    .strictObject({
      allowed: effects.meta({
        description: 'Actions of other effects are hidden and refused. Empty: all are.',
      }),
    })
    .optional(),
  confirm: effects.meta({
    description: 'Calls of actions of these effects run once the user has agreed to them.',
  }),
});
export type Restrictions = z.infer<typeof restrictionsSchema>;

/**
 * What a set of restrictions says. Each question answers with the rule that denies (`actions.blockedActions`), or
 * undefined when allowed. A pure function of its input; semantics: contract.md section 4.
 */
export interface Decision {
  /** Whether some rule can deny something. */
  readonly active: boolean;
  connector(connectorId: string): string | undefined;
  /** By its names alone, for what may not exist. Includes the connector's own rule. */
  named(connectorId: string, actionId: string): string | undefined;
  /** By its effect alone, for calls that are no action of a connector. */
  effect(effect: Effect): string | undefined;
  /** By names and effect. */
  action(action: Action): string | undefined;
  /** The rule by which a call of this effect waits for the user's agreement. */
  confirms(effect: Effect): string | undefined;
  /** Undefined: no user is known. */
  user(userId: string | undefined): string | undefined;
}

interface Rule {
  denies: boolean;
  check(matches: (pattern: string) => boolean): string | undefined;
}

/**
 * Compiles restrictions for repeated questions: those of a server, and those of its environment for all servers that
 * users made. Both count; the first that denies is named, by the setting that it stands in.
 */
export function decide(own: Restrictions, ofEnvironment: Restrictions = {}): Decision {
  const sets = [
    { within: '', ...own },
    { within: 'userServerRestrictions.', ...ofEnvironment },
  ];
  const rules = sets.map(
    ({ within, connectors = {}, actions = {}, users = {}, effects: { allowed } = {} }) => ({
      effects: effectRule(`${within}effects`, allowed),
      connectors: rule(
        `${within}connectors`,
        connectors.mode,
        ['allowedIds', connectors.allowedIds],
        ['blockedIds', connectors.blockedIds],
      ),
      actions: rule(
        `${within}actions`,
        actions.mode,
        ['allowedActions', actions.allowedActions],
        ['blockedActions', actions.blockedActions],
      ),
      users: rule(
        `${within}users`,
        users.mode,
        ['allowedIds', users.allowedIds],
        ['blockedIds', users.blockedIds],
      ),
    }),
  );
  const first = (check: (set: (typeof rules)[number]) => string | undefined): string | undefined => {
    for (const set of rules) {
      const denied = check(set);
      if (denied) return denied;
    }
    return undefined;
  };
  const connector = (connectorId: string): string | undefined =>
    first((set) => set.connectors.check((id) => id === connectorId));
  const named = (connectorId: string, actionId: string): string | undefined =>
    connector(connectorId) ??
    first((set) => set.actions.check((pattern) => matchesAction(pattern, connectorId, actionId)));
  const effect = (of: Effect): string | undefined => first((set) => set.effects.check((one) => one === of));

  return {
    active:
      sets.some(({ confirm = [] }) => confirm.length > 0) ||
      rules.some((set) => Object.values(set).some(({ denies }) => denies)),
    connector,
    named,
    effect,
    action: (one) => named(one.connectorId, one.actionId) ?? effect(one.effect),
    confirms(of) {
      const found = sets.find(({ confirm = [] }) => confirm.includes(of));
      return found && `${found.within}confirm`;
    },
    user: (userId) => first((set) => set.users.check((id) => id === userId)),
  };
}

/** @throws GatehouseError `invalid_request` when a list of the other mode is not empty. */
export function assertCoherent(restrictions: Restrictions, where = 'restrictions'): void {
  const { connectors, actions, users } = restrictions;
  const faults = [
    ...contradiction(
      `${where}.connectors`,
      connectors?.mode,
      ['allowedIds', connectors?.allowedIds],
      ['blockedIds', connectors?.blockedIds],
    ),
    ...contradiction(
      `${where}.actions`,
      actions?.mode,
      ['allowedActions', actions?.allowedActions],
      ['blockedActions', actions?.blockedActions],
    ),
    ...contradiction(
      `${where}.users`,
      users?.mode,
      ['allowedIds', users?.allowedIds],
      ['blockedIds', users?.blockedIds],
    ),
  ];
  if (faults.length > 0) throw invalidRequest(faults, 'The restrictions');
}

type Named = [name: string, list: string[] | undefined];

function contradiction(
  where: string,
  given: 'allowlist' | 'blocklist' | undefined,
  [allowedName, allowed]: Named,
  [blockedName, blocked]: Named,
): Fault[] {
  if (given === 'allowlist' && blocked?.length) {
    return [
      { field: `${where}.${blockedName}`, rule: `must be empty in mode allowlist; use ${allowedName}` },
    ];
  }
  if (given === 'blocklist' && allowed?.length) {
    return [
      { field: `${where}.${allowedName}`, rule: `must be empty in mode blocklist; use ${blockedName}` },
    ];
  }
  if (!given && allowed?.length && blocked?.length) {
    return [
      {
        field: `${where}.mode`,
        rule: `must say which list counts: ${allowedName} and ${blockedName} are both given`,
      },
    ];
  }
  return [];
}

function rule(
  dimension: string,
  given: 'allowlist' | 'blocklist' | undefined,
  [allowedName, allowed]: Named,
  [blockedName, blocked]: Named,
): Rule {
  // Without a mode the list that has entries decides; an empty list beside it says nothing.
  const mode = given ?? (blocked?.length ? 'blocklist' : allowed ? 'allowlist' : 'blocklist');
  if (mode === 'allowlist') {
    const list = allowed ?? [];
    const name = `${dimension}.${allowedName}`;
    return { denies: true, check: (matches) => (list.some(matches) ? undefined : name) };
  }
  const list = blocked ?? [];
  const name = `${dimension}.${blockedName}`;
  return { denies: list.length > 0, check: (matches) => (list.some(matches) ? name : undefined) };
}

/** All three effects allowed is no rule. */
function effectRule(dimension: string, allowed: Effect[] | undefined): Rule {
  const given = allowed && EFFECTS.every((one) => allowed.includes(one)) ? undefined : allowed;
  return rule(dimension, given && 'allowlist', ['allowed', given], ['blocked', undefined]);
}

/** `actionId`, or `connectorId.actionId`; `*` matches within one part. */
function matchesAction(pattern: string, connectorId: string, actionId: string): boolean {
  const dot = pattern.indexOf('.');
  if (dot === -1) return matchesPart(pattern, actionId);
  return matchesPart(pattern.slice(0, dot), connectorId) && matchesPart(pattern.slice(dot + 1), actionId);
}

/** Linear in the text for each `*`; never a regular expression made of somebody's input. */
function matchesPart(pattern: string, text: string): boolean {
  const [head = '', ...rest] = pattern.split('*');
  if (rest.length === 0) return pattern === text;
  const tail = rest.pop() ?? '';
  if (!text.startsWith(head) || !text.endsWith(tail) || text.length < head.length + tail.length) return false;
  let at = head.length;
  const end = text.length - tail.length;
  for (const piece of rest) {
    const found = text.indexOf(piece, at);
    if (found === -1 || found + piece.length > end) return false;
    at = found + piece.length;
  }
  return true;
}
