import type { Context } from '../context.ts';
import { STALE_MS } from '../identity/caller.ts';
import { createTtlCache } from '../lib/ttl-cache.ts';
import type { JsonSchema } from '../connectors/format.ts';
import { effectOf } from '../connectors/compile.ts';
import type { Effect } from '../connectors/catalog.ts';
import type { Decision } from '../servers/restrictions.ts';
import type { Environment } from '../store/schema.ts';
import type { Definition } from './definition.ts';

/** A workflow that a user has installed and runs by hand. */
export interface Runnable {
  workflowId: string;
  name: string;
  inputSchema: JsonSchema;
  /** The calls that it may make. */
  definition: Definition;
}

const MAX_KEPT = 10_000;
/** More tools than this help no agent. */
const MOST = 100;

export interface Runnables {
  /** Those of a user, oldest first, at most STALE_MS old. */
  of(environment: Environment, userId: string): Promise<readonly Runnable[]>;
}

export function createRunnables({ db, clock }: Pick<Context, 'db' | 'clock'>): Runnables {
  const kept = createTtlCache<readonly Runnable[]>({ ttlMs: STALE_MS, max: MAX_KEPT, clock });
  return {
    of: (environment, userId) =>
      kept.get(`${environment} ${userId}`, async () => {
        const rows = await db
          .selectFrom('workflow_installations as installed')
          .innerJoin('workflows', 'workflows.workflow_id', 'installed.workflow_id')
          .innerJoin('workflow_versions as of_it', (join) =>
            join
              .onRef('of_it.workflow_id', '=', 'installed.workflow_id')
              .onRef('of_it.version', '=', 'installed.version'),
          )
          .select(['workflows.workflow_id', 'workflows.name', 'of_it.definition'])
          .where('installed.user_id', '=', userId)
          .where('installed.environment', '=', environment)
          .where('installed.trigger_type', '=', 'manual')
          .where('installed.enabled', '=', 1)
          .orderBy('installed.created_at')
          .orderBy('installed.installation_id')
          .limit(MOST)
          .execute();
        return rows.length === 0 ? [] : toRunnables(rows);
      }),
  };
}

/** What reads definitions is loaded for those who have some: most lists of tools have none. */
async function toRunnables(
  rows: { workflow_id: string; name: string; definition: string }[],
): Promise<Runnable[]> {
  const { storedDefinition } = await import('./definition.ts');
  const { objectSchema } = await import('./fields.ts');
  return rows.map(({ workflow_id: workflowId, name, definition: text }) => {
    const definition = storedDefinition(text);
    const { trigger } = definition;
    const asked = trigger.type === 'manual' ? trigger.inputSchema : undefined;
    const inputSchema = asked === undefined ? { type: 'object' } : objectSchema(asked);
    return { workflowId, name, inputSchema, definition };
  });
}

/** What the calls of a workflow do, the gravest first of all. */
export function effectsOf(
  { catalog }: Pick<Context, 'catalog'>,
  environment: Environment,
  { steps }: Definition,
): Effect[] {
  return steps.flatMap((step): Effect[] => {
    if ('http' in step) return [effectOf(step.http.method)];
    if (!('connectorId' in step)) return [];
    // What is not there any more may have done anything.
    return [catalog.action(environment, step.connectorId, step.actionId)?.effect ?? 'destructive'];
  });
}

/** The rule of an MCP server that denies one of a workflow's calls, or waits for a person at it. */
export function deniedBy(
  { catalog }: Pick<Context, 'catalog'>,
  environment: Environment,
  definition: Definition,
  decision: Decision,
): string | undefined {
  for (const step of definition.steps) {
    const rule =
      'http' in step
        ? (decision.named('http', 'request') ?? decision.effect(effectOf(step.http.method)))
        : 'connectorId' in step
          ? ruleOf(step.connectorId, step.actionId)
          : undefined;
    if (rule !== undefined) return rule;
  }
  return effectsOf({ catalog }, environment, definition)
    .map((effect) => decision.confirms(effect))
    .find((rule) => rule !== undefined);

  function ruleOf(connectorId: string, actionId: string): string | undefined {
    const action = catalog.action(environment, connectorId, actionId);
    return action ? decision.action(action) : decision.named(connectorId, actionId);
  }
}
