import { sql } from 'kysely';
import { z } from 'zod';
import type { Base } from '../base.ts';
import { RAW_ACTION } from '../connectors/raw-action.ts';
import { readSettings } from '../servers/environment-settings.ts';
import { decide, restrictionsSchema, type Decision, type Restrictions } from '../servers/restrictions.ts';
import type { McpServer } from '../servers/server-records.ts';

/** The newest recorded calls of a server that are judged. */
const MAX_CALLS = 100_000;
/** Entries of `denied` and of `confirmed`. The entries with the most calls come first. */
const MAX_LISTED = 1000;
/** Entries that an allowlist may have: see servers/restrictions.ts. */
const MAX_ENTRIES = 1000;

const judged = z.object({
  connectorId: z.string(),
  actionId: z.string(),
  userId: z.string().optional(),
  rule: z.string(),
  count: z.int(),
});

/** The effect that restrictions would have had on the recorded calls of a server. */
export const pastSimulation = z.object({
  checked: z.int().meta({ description: `Calls that were judged: the newest ones, at most ${MAX_CALLS}.` }),
  denied: z.array(judged).meta({
    description: `Calls that ran and would be denied, by user and rule, at most ${MAX_LISTED} entries.`,
  }),
  confirmed: z.array(judged).meta({
    description: `Calls that ran and would need the user’s agreement, at most ${MAX_LISTED} entries.`,
  }),
  unused: z
    .array(z.object({ connectorId: z.string(), actionId: z.string() }))
    .meta({ description: 'Actions that the restrictions allow, and that no judged call used.' }),
  proposal: restrictionsSchema.meta({
    description:
      'These restrictions, narrowed to the actions in use (least privilege), in the form that PUT accepts. ' +
      `With more than ${MAX_ENTRIES} used actions it allows whole connectors.`,
  }),
});
type PastSimulation = z.infer<typeof pastSimulation>;

interface Call {
  connectorId: string;
  actionId: string;
  userId: string | undefined;
  count: number;
}

/** Judges the recorded calls of a server since a time by other restrictions. It leaves out calls that were denied. */
export async function simulatePast(
  context: Pick<Base, 'db' | 'catalog'>,
  server: McpServer,
  { restrictions, since }: { restrictions: Restrictions; since: number },
): Promise<PastSimulation> {
  const ofEnvironment = server.bound
    ? (await readSettings(context.db, server.environment)).userServerRestrictions
    : {};
  const decision = decide(restrictions, ofEnvironment);
  const calls = await recordedCalls(context, server, since);
  const denied: PastSimulation['denied'] = [];
  const confirmed: PastSimulation['confirmed'] = [];
  const used = new Set<string>();
  for (const { userId, ...call } of calls) {
    const { connectorId, actionId } = call;
    const entry = (rule: string) => ({ ...call, ...(userId === undefined ? {} : { userId }), rule });
    const action = context.catalog.action(server.environment, connectorId, actionId);
    const rule = decision.user(userId) ?? deniedBy(decision, action, call);
    if (rule !== undefined) {
      denied.push(entry(rule));
      continue;
    }
    if (action) used.add(`${connectorId}.${actionId}`);
    const confirms = action && decision.confirms(action.effect);
    if (confirms !== undefined) confirmed.push(entry(confirms));
  }
  return {
    checked: calls.reduce((sum, { count }) => sum + count, 0),
    denied: denied.slice(0, MAX_LISTED),
    confirmed: confirmed.slice(0, MAX_LISTED),
    unused: unusedActions(context, server, { decision, used }),
    proposal: narrowed(restrictions, used),
  };
}

/** Returns the calls that ran, by action and user, the most frequent first. */
async function recordedCalls(
  { db }: Pick<Base, 'db'>,
  { environment, serverId }: McpServer,
  since: number,
): Promise<Call[]> {
  const newest = db
    .selectFrom('executions')
    .select(['connector_id', 'action_id', 'user_id'])
    .where('environment', '=', environment)
    .where('server_id', '=', serverId)
    .where('at', '>=', since)
    .where('outcome', '!=', 'denied')
    .orderBy('at', 'desc')
    .limit(MAX_CALLS);
  const rows = await db
    .selectFrom(newest.as('newest'))
    .select(['connector_id', 'action_id', 'user_id', sql<number>`count(*)`.as('count')])
    .groupBy(['connector_id', 'action_id', 'user_id'])
    .orderBy('count', 'desc')
    .orderBy('connector_id')
    .orderBy('action_id')
    .orderBy('user_id')
    .execute();
  return rows.map((row) => ({
    connectorId: row.connector_id,
    actionId: row.action_id,
    userId: row.user_id ?? undefined,
    count: Number(row.count),
  }));
}

/** Returns the rule that denies a call. An action that no longer exists is judged by its name. */
function deniedBy(
  decision: Decision,
  action: Parameters<Decision['action']>[0] | undefined,
  { connectorId, actionId }: Call | Omit<Call, 'userId'>,
): string | undefined {
  return action ? decision.action(action) : decision.named(connectorId, actionId);
}

function unusedActions(
  { catalog }: Pick<Base, 'catalog'>,
  { environment }: McpServer,
  { decision, used }: { decision: Decision; used: ReadonlySet<string> },
): PastSimulation['unused'] {
  return catalog
    .connectors(environment)
    .filter(({ connectorId }) => decision.connector(connectorId) === undefined)
    .flatMap(({ actions }) => [...actions.values()])
    .filter((action) => decision.action(action) === undefined)
    .filter(({ connectorId, actionId }) => !used.has(`${connectorId}.${actionId}`))
    .map(({ connectorId, actionId }) => ({ connectorId, actionId }));
}

/** Returns the restrictions with an allowlist of the used actions. Without used actions they stay unchanged. */
function narrowed(restrictions: Restrictions, used: ReadonlySet<string>): Restrictions {
  if (used.size === 0) return restrictions;
  const names = [...used].sort();
  const connectorIds = [...new Set(names.map((name) => name.slice(0, name.indexOf('.'))))];
  // `connector.*` does not allow the raw call of a connector, so it is named too.
  const raw = names.filter((name) => name.endsWith(`.${RAW_ACTION}`));
  const allowedActions =
    names.length <= MAX_ENTRIES ? names : [...connectorIds.map((id) => `${id}.*`), ...raw];
  return {
    ...restrictions,
    connectors: { mode: 'allowlist', allowedIds: connectorIds },
    actions: { mode: 'allowlist', allowedActions },
  };
}
